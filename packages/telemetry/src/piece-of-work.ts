import { AsyncLocalStorage } from 'node:async_hooks';
import type { Correlation } from './logging.js';
import type { Span } from './tracing/span.js';

/** A request, or an activity, and what it starts. */
type PieceOfWork = {
  readonly correlation?: Correlation;
  /** Undefined when traces are off. */
  readonly span?: Span;
};

/** The current piece of work. It is one storage, because Node copies each storage into each promise. */
export const pieceOfWork = new AsyncLocalStorage<PieceOfWork>();
