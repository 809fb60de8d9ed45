export { paymentActivities } from './checkout/activities.js';
export { BUNDLE_PATH, bundleWorkflows } from './bundle.js';
export { workerSettings, type WorkerSettings } from './settings.js';
export { Workers } from './workers.js';
export { startWorker, type RunningWorker, type StartOptions } from './worker.js';
