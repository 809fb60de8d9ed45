import { type InvalidRequestError, notSent } from '../errors.js';

/** Deeper than any parameter of this API. It stops a cycle. */
export const MAX_DEPTH = 16;

/** The parameters that are an amount of money. Elsewhere, as in metadata, the name belongs to the caller. */
const AMOUNTS: ReadonlySet<string> = new Set([
  'amount',
  'source[amount]',
  'charge[amount]',
  'transfer[amount]',
  'filters[amount]',
]);

/**
 * Copies the parameters, because the caller may change its object while the request is under way. Leaves out fields
 * that are undefined.
 * @throws {InvalidRequestError} `invalid_parameter`, `not_sent`, for an amount that is not a whole number of smallest
 * currency units, for a value that is nested too deep, and for parameters that are not an object
 */
export function copyParams<P extends object>(params: P): P {
  if (!isObject(params)) throw invalidParameter('params', 'not an object');
  // The copy has the same fields with the same values.
  return copyOfFields('', params, 0) as P;
}

/** As {@link copyParams}, for a call that is made later: only that call throws. */
export function copyParamsForLater<P extends object>(params: P): () => P {
  try {
    const copy = copyParams(params);
    return () => copy;
  } catch (error) {
    return () => {
      throw error;
    };
  }
}

function copyOfFields(name: string, object: object, depth: number): object {
  if (depth > MAX_DEPTH) throw invalidParameter(name, 'nested too deep, or a cycle');
  // A spread defines each field, so metadata may have one named `__proto__`, and an assignment to it is like any other.
  const copy: Record<string, unknown> = { ...object };
  for (const field of Object.keys(copy)) {
    const value = copy[field];
    if (value === undefined) delete copy[field];
    else copy[field] = copyOf(name === '' ? field : `${name}[${field}]`, value, depth + 1);
  }
  return copy;
}

function copyOf(name: string, value: unknown, depth: number): unknown {
  if (AMOUNTS.has(name) && !isAmount(value)) {
    throw invalidParameter(name, 'an amount is a whole number of smallest currency units, from 0 to 2^53 - 1');
  }
  if (!isObject(value)) return value;
  if (value instanceof Date) return new Date(value);
  if (Array.isArray(value)) {
    if (depth > MAX_DEPTH) throw invalidParameter(name, 'nested too deep, or a cycle');
    return value.map((element: unknown) => copyOf(`${name}[]`, element, depth + 1));
  }
  // The form encoder refuses any other object.
  return isPlainObject(value) ? copyOfFields(name, value, depth) : value;
}

/** Null is sent as the empty string, and the provider decides on it. */
function isAmount(value: unknown): boolean {
  return value === null || (Number.isSafeInteger(value) && Number(value) >= 0);
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (!isObject(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}

/** @param name as it is in the form, not encoded: `metadata[order]` */
export function invalidParameter(name: string, reason: string): InvalidRequestError {
  return notSent('invalid_parameter', `Parameter "${name}": ${reason}`);
}
