export { kustomize, OVERLAYS, render, withBacklog } from './kustomize.js';
export { CutLine } from './cut-line.js';
export { startTemporalServer, type TemporalServer, type TemporalServerOptions } from './temporal-server.js';
export { SupervisedChild, type SupervisedChildOptions } from './supervised-child.js';
export { freePorts } from './ports.js';
export { RestartableTemporal } from './restartable-temporal.js';
export { fastForward } from './time-skipping.js';
export { findPrometheus, PrometheusServer, PROMTOOL, type Series } from './prometheus.js';
export { cacheFolder, hashOf } from './temporal-download.js';
