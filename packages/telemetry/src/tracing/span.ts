import { addCorrelation } from '../logging.js';
import { pieceOfWork } from '../piece-of-work.js';

/**
 * What a span says: ids of checkouts, charges, requests and workflows, fixed words, route templates and numbers. Never a
 * key, a text of a customer or a shop, or an address as it was called.
 */
export type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;

/** The checkout that a span is about: `chk_…`. */
export const CHECKOUT_ID = 'tillflow.checkout.id';
/** The charge that a span is about: `chrg_…`. */
export const CHARGE_ID = 'tillflow.charge.id';
/** A span passes these attributes on to the spans within it. */
export const INHERITED: ReadonlySet<string> = new Set([CHECKOUT_ID, CHARGE_ID]);

/** How a span begins. */
export type SpanStart = {
  readonly name: string;
  /** `server`: answers a request; `client`: makes one; `internal`: neither. */
  readonly kind: 'server' | 'client' | 'internal';
  readonly attributes?: Attributes;
  /** When it began, in epoch milliseconds. Absent: now. */
  readonly startedAt?: number;
};

/** How the first span of a program begins. */
export type EntryStart = SpanStart & {
  /** The `traceparent` of the program that caused it. Absent, or not one: a new trace begins. */
  readonly parent?: string | undefined;
  /** 16 hexadecimal digits that its children already name. Absent: random. */
  readonly spanId?: string;
  /** The `traceparent` of another span that has to do with it. */
  readonly link?: string | undefined;
};

/** One span of a trace. */
export interface Span {
  readonly traceId: string;
  readonly spanId: string;
  /** Names it to another program. Source: W3C Trace Context, `traceparent`. */
  readonly traceparent: string;
  /** Whether it will be exported. */
  readonly isSampled: boolean;
  /** Begins a span within it. */
  begin(start: SpanStart): Span;
  /** Adds attributes; undefined values are left out. */
  set(attributes: Attributes): void;
  /** @param type of the failure, such as an error's code. Never its message: that may be a text of anyone */
  fail(type: string): void;
  /** @param at epoch milliseconds. Absent: now */
  end(at?: number): void;
}

/** The name of a class, an HTTP status, or a code such as `failed_refund`, `http_503`, `ECONNREFUSED`. */
const ERROR_TYPE =
  /^(?:(?:[A-Z][A-Za-z]{0,56})?(?:Error|Failure)|[A-Z][A-Z0-9_]{0,63}|\d{3}|(?=.{1,64}$)[a-z]+(?:_(?:[a-z]+|\d{3}))*)$/;

/**
 * What a span may say of a failure. The provider chooses its codes: one that does not look like a code is left out. Source of
 * `_OTHER`: OpenTelemetry's semantic conventions.
 */
export const errorType = (type: string): string => (ERROR_TYPE.test(type) ? type : '_OTHER');

/** Makes the spans of one program, and exports them. */
export interface Tracer {
  begin(start: EntryStart): Span;
  /** Exports what is left, for a second at most, and stops. */
  end(): Promise<void>;
}

/** The span of the current piece of work; undefined when traces are off. */
export function currentSpan(): Span | undefined {
  return pieceOfWork.getStore()?.span;
}

/** Adds attributes to the {@link currentSpan}, if there is one. */
export function annotate(attributes: Attributes): void {
  currentSpan()?.set(attributes);
}

/** Makes this span the current one while `work` runs, also in what it starts, and adds its ids to its log lines. */
export function enterSpan<T>(span: Span, work: () => T): T {
  addCorrelation({ trace_id: span.traceId, ...(span.isSampled ? { span_id: span.spanId } : {}) });
  return within(span, work);
}

/** Runs `work` in a span within the current one. Without a current one, it only runs it. */
export function inSpan<T>(start: SpanStart, work: (span: Span | undefined) => Promise<T>): Promise<T> {
  const current = currentSpan();
  const span = current?.begin(start);
  return span === undefined || span === current ? work(span) : ending(span, () => within(span, () => work(span)));
}

function within<T>(span: Span, work: () => T): T {
  return pieceOfWork.run({ ...pieceOfWork.getStore(), span }, work);
}

/** A call of this program in a span within the current one, as {@link inSpan}. @param call gets its `traceparent` */
export function traceCall<T>(
  name: string,
  attributes: Attributes,
  call: (traceparent: string | undefined) => Promise<T>,
): Promise<T> {
  return inSpan({ name, kind: 'client', attributes }, (span) => call(span?.traceparent));
}

/** Ends the span with `work`, and marks it as failed when `work` fails. */
export async function ending<T>(span: Span, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    span.fail(typeOf(error));
    throw error;
  } finally {
    span.end();
  }
}

/** A Temporal failure has a type of its own, and an error of the client a code. */
function typeOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  const { type, code }: { type?: unknown; code?: unknown } = error as object;
  return [type, code].find((text) => typeof text === 'string') ?? error.name;
}
