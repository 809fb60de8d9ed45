/**
 * Temporal's library records a stack trace for each promise of a workflow, and looks up each frame of the bundle in the
 * source map. The first frames of such a trace belong to the library and to Node, so two frames need hardly any lookup.
 * In the trace of an error, they say where it was thrown. A worker evaluates this module once, in the sandbox of its
 * workflows.
 */
Error.stackTraceLimit = 2;
