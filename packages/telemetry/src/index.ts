export { escapeControls } from './escape-controls.js';
export { addCorrelation, correlate, correlation, type Correlation, logReady, programLogger } from './logging.js';
export { countProviderCalls, processMetrics, showFileMistakes } from './metrics.js';
