export { alsoConcerns, correlate, correlation, type Correlation } from './correlation.js';
export { logReady, programLogger } from './logger.js';
export { processMetrics } from './process-metrics.js';
export { countProviderCalls } from './provider-metrics.js';
