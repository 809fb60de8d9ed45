export { startTemporalServer, type TemporalServer, type TemporalServerOptions } from './temporal-server.js';
export { GuardedChild, type GuardedChildOptions } from './guarded-child.js';
export { freePorts } from './ports.js';
export { MortalTemporal } from './mortal-temporal.js';
