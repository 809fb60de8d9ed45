export { escapeControls } from './escape-controls.js';
export { addCorrelation, correlate, correlation, type Correlation, logReady, programLogger } from './logging.js';
export { countProviderCalls, processMetrics, showFileMistakes } from './metrics.js';
export {
  annotate,
  CHARGE_ID,
  CHECKOUT_ID,
  ending,
  enterSpan,
  traceCall,
  type Span,
  type Tracer,
} from './tracing/span.js';
export { openTracer, type TraceSettings } from './tracing/tracing.js';
