export { paymentActivities } from './checkout/activities.js';
export { BUNDLE_PATH, bundleWorkflows } from './bundle.js';
export { WORKER_SETTINGS, workerSettings, type WorkerSettings } from './settings.js';
export { serveHealth } from './health.js';
export { Workers } from './workers.js';
export { startWorker, type RunningWorker, type StartOptions } from './worker.js';
export { checkoutSinks } from './checkout/metrics.js';
export { workflowSpans } from './traces/workflow-spans.js';
