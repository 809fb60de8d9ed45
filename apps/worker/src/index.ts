export { paymentActivities } from './activities/payments.js';
export { BUNDLE_PATH } from './bundle.js';
export { workerSettings, type WorkerSettings } from './settings.js';
export { startWorker, type RunningWorker } from './worker.js';
