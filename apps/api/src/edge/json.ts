import { Problem } from '../problems/problem.js';

/** Twice the depth of any request of the API and any event of the provider. */
const MAX_DEPTH = 32;

/** Code that copies objects can misread or drop these names. */
const UNFIT_NAMES = ['__proto__', 'constructor', 'prototype'] as const;

/** Refuses bytes that are not UTF-8: they would be stored as other characters. */
const UTF8 = new TextDecoder('utf-8', { fatal: true });

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/**
 * Parses JSON from any sender.
 * @throws {Problem} `invalid_request` when the text is not JSON, or nests deeper than 32 levels.
 */
export function parseJson(bytes: Buffer): unknown {
  if (bytes.length === 0) throw new Problem('invalid_request', 'The body is empty');
  if (nestsDeep(bytes)) throw new Problem('invalid_request', `The body nests deeper than ${MAX_DEPTH} levels`);
  try {
    return JSON.parse(UTF8.decode(bytes));
  } catch {
    throw new Problem('invalid_request', 'The body is not JSON in UTF-8');
  }
}

/**
 * Refuses unsafe names.
 * @param value parsed JSON, at most 32 levels deep
 * @throws {Problem} `invalid_request`
 */
export function refuseUnfitNames(value: unknown, path: readonly string[] = []): void {
  if (typeof value !== 'object' || value === null) return;
  const unfit = UNFIT_NAMES.find((name) => Object.hasOwn(value, name));
  if (unfit !== undefined) {
    const errors = [{ path: [...path, unfit].join('.'), message: 'is not allowed as a name' }];
    throw new Problem('invalid_request', 'See errors', { errors });
  }
  for (const [name, part] of Object.entries(value)) refuseUnfitNames(part, [...path, name]);
}

/** Checks the depth before parsing: a parser can spend seconds on brackets. */
function nestsDeep(bytes: Buffer): boolean {
  let depth = 0;
  let isInText = false;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (isInText) {
      if (byte === BACKSLASH) at += 1;
      else if (byte === QUOTE) isInText = false;
    } else if (byte === QUOTE) isInText = true;
    // [ and {, then ] and }
    else if (byte === 0x5b || byte === 0x7b) {
      depth += 1;
      if (depth > MAX_DEPTH) return true;
    } else if (byte === 0x5d || byte === 0x7d) depth -= 1;
  }
  return false;
}
