export { alsoConcerns, correlate, correlation, type Correlation } from './correlation.js';
export { escapeControls } from './escape-controls.js';
export { logReady, programLogger } from './logger.js';
export { processMetrics } from './process-metrics.js';
export { countProviderCalls } from './provider-metrics.js';
