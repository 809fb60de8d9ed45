/**
 * Temporal's library records a stack trace for each promise of a workflow, and looks up each frame in the source map. In
 * such a trace, the first two frames belong to the library and need no lookup. In the trace of an error, they say where it
 * was thrown. A worker evaluates this module once, within the sandbox of its workflows.
 */
Error.stackTraceLimit = 2;
