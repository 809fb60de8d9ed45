import { isCurrency, parseInstant, type Currency, type Instant } from '@tillflow/domain';
import { ApiError } from './api-error.js';
import type { FormMap, FormValue } from './form.js';

/**
 * Typed readers of form fields. A missing field and the empty string are null (assumption: "null is the empty string").
 * A field of the wrong type is a 400.
 */

const INTEGER = /^(?:0|-?[1-9]\d{0,15})$/;
const DECIMAL = /^\d{1,9}(?:\.\d{1,9})?$/;

function field(form: FormMap, name: string): FormValue | null {
  const value = Object.hasOwn(form, name) ? form[name] : undefined;
  return value === undefined || value === '' ? null : value;
}

function wrong(name: string, expected: string): ApiError {
  return new ApiError('bad_request', `${name} must be ${expected}.`);
}

export function required<T>(value: T | null, name: string): T {
  if (value === null) throw new ApiError('bad_request', `${name} is required.`);
  return value;
}

export function textOf(form: FormMap, name: string): string | null {
  const value = field(form, name);
  if (value !== null && typeof value !== 'string') throw wrong(name, 'a string');
  return value;
}

export function integerOf(form: FormMap, name: string): number | null {
  const value = field(form, name);
  if (value === null) return null;
  if (typeof value !== 'string' || !INTEGER.test(value) || !Number.isSafeInteger(Number(value))) {
    throw wrong(name, 'a whole number');
  }
  return Number(value);
}

/** A decimal number without sign or exponent. */
export function numberOf(form: FormMap, name: string): number | null {
  const value = field(form, name);
  if (value === null) return null;
  if (typeof value !== 'string' || !DECIMAL.test(value)) throw wrong(name, 'a number');
  return Number(value);
}

export function booleanOf(form: FormMap, name: string): boolean | null {
  const value = field(form, name);
  if (value === null) return null;
  if (value !== 'true' && value !== 'false') throw wrong(name, 'true or false');
  return value === 'true';
}

export function instantOf(form: FormMap, name: string): Instant | null {
  const value = field(form, name);
  if (value === null) return null;
  try {
    if (typeof value === 'string') return parseInstant(value);
  } catch {
    // Refused below with the name of the field.
  }
  throw wrong(name, 'an ISO 8601 date-time with a zone');
}

export function currencyOf(form: FormMap, name: string): Currency | null {
  const value = textOf(form, name);
  if (value !== null && !isCurrency(value)) throw wrong(name, 'THB, SGD or MYR');
  return value;
}

export function uriOf(form: FormMap, name: string): string | null {
  const value = textOf(form, name);
  if (value !== null && !isHttpUri(value)) throw wrong(name, 'an http or https address');
  return value;
}

export function isHttpUri(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}

export function mapOf(form: FormMap, name: string): FormMap | null {
  const value = field(form, name);
  if (value !== null && (typeof value === 'string' || Array.isArray(value))) throw wrong(name, 'an object');
  return value as FormMap | null;
}

export function listOf(form: FormMap, name: string): readonly FormValue[] | null {
  const value = field(form, name);
  if (value !== null && !Array.isArray(value)) throw wrong(name, 'an array');
  return value as readonly FormValue[] | null;
}

export function choiceOf<T extends string>(form: FormMap, name: string, choices: readonly T[]): T | null {
  const value = textOf(form, name);
  if (value !== null && !(choices as readonly string[]).includes(value))
    throw wrong(name, `one of ${choices.join(', ')}`);
  return value as T | null;
}
