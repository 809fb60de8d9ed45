import { elementsOf } from './metadata.js';
import { isPlainObject } from './params.js';

/** Found in the text of a reply that may need work: most need none. */
const OTHER_CURRENCY = /currenc(?:y"\s*:\s*"(?![A-Z]{3}")|ies"\s*:\s*[[{][^\]}]*[a-z])/;
const INDEX_MAP = /"0"\s*:/;

const CURRENCY_FIELD = /(?:^|_)currenc(?:y|ies)$/;
const CURRENCY = /^\s*[a-z]{3}\s*$/i;

/** Not the provider's words: metadata are the merchant's, a payload is what was sent once. */
const NOT_THE_PROVIDERS: ReadonlySet<string> = new Set(['metadata', 'payload']);

/** Records of records: a list of charges with their refunds is six deep. */
const MAX_DEPTH = 12;

/**
 * The reply in the form that the API reference shows: a currency in upper case and without space around it, a list as an
 * array where it came as the map of its indices. Metadata stay as they came.
 * @param json parsed from `text`; it is changed in place
 */
export function toReferenceForm(json: unknown, text: string): unknown {
  return OTHER_CURRENCY.test(text) || INDEX_MAP.test(text) ? formOf(json, '', 0) : json;
}

function formOf(value: unknown, field: string, depth: number): unknown {
  if (typeof value === 'string')
    return CURRENCY_FIELD.test(field) && CURRENCY.test(value) ? value.trim().toUpperCase() : value;
  if (depth > MAX_DEPTH || typeof value !== 'object' || value === null) return value;
  const elements = elementsOf(value);
  if (elements !== undefined) return elements.map((element) => formOf(element, field, depth + 1));
  if (!isPlainObject(value)) return value;
  for (const [name, inner] of Object.entries(value)) {
    if (!NOT_THE_PROVIDERS.has(name)) value[name] = formOf(inner, name, depth + 1);
  }
  return value;
}
