export { paymentActivities } from './checkout/activities.js';
export { BUNDLE_PATH, bundleWorkflows, ENCRYPTING_BUNDLE_PATH, type BundleOptions } from './bundle.js';
export { workerSettings, type WorkerSettings } from './settings.js';
export { startWorker, type RunningWorker, type StartOptions } from './worker.js';
