import { DATE_ONLY_FIELD } from '../assumptions.js';
import type { InvalidRequestError } from '../errors.js';
import { invalidParameter, isPlainObject, MAX_DEPTH } from './params.js';

/**
 * Encodes parameters as `application/x-www-form-urlencoded`, for a body or a query string.
 * Nested objects become `source[type]=…`, arrays `on[weekdays][]=…`, arrays of objects `items[][name]=…`. Booleans
 * become `true` and `false`, null the empty string, a `Date` its ISO 8601 instant, or its UTC day in a date field.
 * Undefined and empty arrays or objects are left out. Source: assumption "Nested objects in forms".
 * @throws {InvalidRequestError} `invalid_parameter`, `not_sent`, for a value that a form cannot carry
 */
export function encodeForm(params: object): string {
  const pairs: string[] = [];
  appendObject(pairs, '', params, 0);
  return pairs.join('&');
}

function appendObject(pairs: string[], name: string, object: object, depth: number): void {
  const fields = object as Readonly<Record<string, unknown>>;
  for (const key of Object.keys(fields)) {
    append(pairs, name === '' ? encode(key, name) : `${name}%5B${encode(key, name)}%5D`, fields[key], depth, key);
  }
}

function append(pairs: string[], name: string, value: unknown, depth: number, field: string): void {
  if (value === undefined) return;
  if (depth > MAX_DEPTH) throw invalid(name, 'nested too deep, or a cycle');
  if (Array.isArray(value)) {
    appendArray(pairs, `${name}%5B%5D`, value, depth, field);
  } else if (isPlainObject(value)) {
    appendObject(pairs, name, value, depth + 1);
  } else {
    pairs.push(`${name}=${encode(scalar(name, value, field), name)}`);
  }
}

function appendArray(pairs: string[], name: string, values: readonly unknown[], depth: number, field: string): void {
  let previous: Record<string, unknown> | undefined;
  for (const value of values) {
    if (isPlainObject(value)) {
      const element = present(value);
      append(pairs, name, previous ? beginningWithKeyOf(previous, element, name) : element, depth + 1, field);
      if (Object.keys(element).length > 0) previous = element;
    } else {
      append(pairs, name, value, depth + 1, field);
    }
  }
}

/**
 * A reader of `items[][name]=a&items[][price]=1&items[][name]=b` starts a new element where a key repeats. So each
 * element must begin with a key of the element before it. Otherwise the two would be read as one.
 */
function beginningWithKeyOf(previous: object, element: Record<string, unknown>, name: string): object {
  const keys = Object.keys(element);
  const shared = keys.find((key) => key in previous);
  if (keys.length === 0 || shared === keys[0]) return element;
  if (shared === undefined) throw invalid(name, 'neighbouring objects in an array must share a field');
  return { [shared]: element[shared], ...element };
}

function present(object: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => !isLeftOut(value)));
}

function isLeftOut(value: unknown): boolean {
  if (Array.isArray(value)) return value.every(isLeftOut);
  return value === undefined || (isPlainObject(value) && Object.values(value).every(isLeftOut));
}

/**
 * The text that a form carries for a value.
 * @param name encoded, for the error
 * @param field the name of the field: some fields are a date without time
 */
export function scalar(name: string, value: unknown, field: string): string {
  switch (typeof value) {
    case 'string':
      return value;
    case 'boolean':
    case 'bigint':
      return String(value);
    case 'number':
      if (!Number.isFinite(value)) throw invalid(name, 'not a finite number');
      if (Math.abs(value) > Number.MAX_SAFE_INTEGER) throw invalid(name, 'not a safe integer');
      // A reader may take 1e-7 for 1.
      if (String(value).includes('e')) throw invalid(name, 'too small to be written without an exponent');
      return String(value);
    default:
      if (value === null) return '';
      if (value instanceof Date) return date(name, value, field);
      throw invalid(name, 'not a value that a form can carry');
  }
}

function date(name: string, value: Date, field: string): string {
  if (Number.isNaN(value.getTime())) throw invalid(name, 'not a valid date');
  return DATE_ONLY_FIELD.test(field) ? dayOf(value) : value.toISOString();
}

/** The UTC day of a valid date, as `YYYY-MM-DD`. */
export function dayOf(date: Date): string {
  return date.toISOString().slice(0, 'YYYY-MM-DD'.length);
}

/** Needs no encoding: most names, and many values. */
const PLAIN = /^[\w.~-]*$/;

function encode(text: string, name: string): string {
  if (PLAIN.test(text)) return text;
  try {
    return encodeURIComponent(text);
  } catch {
    throw invalid(name, 'contains half of a surrogate pair, which UTF-8 cannot carry');
  }
}

function invalid(encodedName: string, reason: string): InvalidRequestError {
  return invalidParameter(decodeURIComponent(encodedName), reason);
}
