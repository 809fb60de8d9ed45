import { isPlainObject } from '../request/params.js';
import type { Body } from './body.js';
import { elementsOf } from './metadata.js';

/** Matched against the text first, because most replies need no change. */
const OTHER_CURRENCY = /currenc(?:y"\s*:\s*"(?![A-Z]{3}")|ies"\s*:\s*[[{][^\]}]*[a-z])/;
/**
 * assumption: a text without white space after its first brace has none after any other. A literal is found six times as
 * fast.
 */
const COMPACT_START = '{"';
const COMPACT_INDEX_MAP = '{"0":';
const INDEX_MAP = /"0"\s*:/;

const CURRENCY_FIELD = /(?:^|_)currenc(?:y|ies)$/;
const CURRENCY = /^\s*[a-z]{3}\s*$/i;

/** Metadata belong to the merchant, and a payload is a copy of what was sent once: both stay as they came. */
const LEFT_AS_IS: ReadonlySet<string> = new Set(['metadata', 'payload']);

/** Limits the recursion. A list of charges with their refunds is six deep. */
const MAX_DEPTH = 12;

/**
 * The reply in the form that the API reference shows: currencies in upper case without space around them, and a list as
 * an array where it came as the map of its indices.
 * @param json parsed from `body`; changed in place
 */
export function normalizeReply(json: unknown, body: Body): unknown {
  return body.some((text) => OTHER_CURRENCY.test(text) || hasIndexMap(text)) ? normalizeValue(json, '', 0) : json;
}

function hasIndexMap(text: string): boolean {
  return text.startsWith(COMPACT_START) ? text.includes(COMPACT_INDEX_MAP) : INDEX_MAP.test(text);
}

function normalizeValue(value: unknown, field: string, depth: number): unknown {
  if (typeof value === 'string') {
    return CURRENCY_FIELD.test(field) && CURRENCY.test(value) ? value.trim().toUpperCase() : value;
  }
  if (depth > MAX_DEPTH || typeof value !== 'object' || value === null) return value;
  const elements = elementsOf(value);
  if (elements !== undefined) return elements.map((element) => normalizeValue(element, field, depth + 1));
  if (!isPlainObject(value)) return value;
  for (const [name, inner] of Object.entries(value)) {
    if (!LEFT_AS_IS.has(name)) value[name] = normalizeValue(inner, name, depth + 1);
  }
  return value;
}
