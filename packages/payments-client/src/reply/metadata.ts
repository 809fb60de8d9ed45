import { scalar } from '../request/form.js';
import { isPlainObject } from '../request/params.js';

/** Values nested deeper are not compared. */
const MAX_DEPTH = 16;

/**
 * The fields of metadata, as `metadata[order]`, that a reply lacks or changed. These are no change: white space around
 * a text, other line endings, another Unicode form, a number in place of its digits, a list as a map of its indices or
 * in another order. An empty value may be missing, and the provider may add fields.
 * @param searched names to compare; all of them when undefined
 */
export function differentMetadata(
  sent: object | null | undefined,
  returned: object | null | undefined,
  searched: ReadonlySet<string> | undefined,
): string[] {
  if (sent === null || sent === undefined || returned === undefined || isIdentical(sent, returned)) return [];
  return Object.entries(sent)
    .filter(([name]) => searched?.has(name) ?? true)
    .flatMap(([name, value]) => differences(value, fieldOf(returned, name), name, `metadata[${name}]`));
}

/** Whether a record has none of the metadata that was sent. */
export function hasNoneOf(sent: object | null | undefined, returned: object | null | undefined): boolean {
  return Object.keys(sent ?? {}).every((name) => (fieldOf(returned, name) ?? '') === '');
}

/** A cheap test for the usual case: every value is a text, and came back unchanged. */
function isIdentical(sent: object, returned: object | null): boolean {
  const fields: Readonly<Record<string, unknown>> = { ...returned };
  return Object.entries(sent).every(([name, value]) => typeof value === 'string' && fields[name] === value);
}

/** @param key the last part of `name` */
function differences(sent: unknown, returned: unknown, key: string, name: string): string[] {
  if (Array.isArray(sent)) return isSameList(sent, returned, key) ? [] : [`${name}[]`];
  if (isPlainObject(sent)) {
    return Object.entries(sent).flatMap(([inner, value]) =>
      differences(value, fieldOf(returned, inner), inner, `${name}[${inner}]`),
    );
  }
  const text = sentText(sent, key);
  return text === '' || text === textOf(returned) || isItsNumber(text, returned) ? [] : [name];
}

/** Finds a field by its name, or by the same name in another Unicode form. */
function fieldOf(record: unknown, name: string): unknown {
  if (typeof record !== 'object' || record === null) return undefined;
  const fields: [string, unknown][] = Object.entries(record);
  const found = fields.find(([key]) => key === name) ?? fields.find(([key]) => normal(key) === normal(name));
  return found?.[1];
}

function isSameList(sent: readonly unknown[], returned: unknown, key: string): boolean {
  const before = sent.filter((element) => element !== undefined).map((element) => canonical(element, key));
  const after = elementsOf(returned)?.map((element) => canonical(element, key)) ?? [];
  return before.toSorted().join() === after.toSorted().join();
}

/** The same text for every form of a value. */
function canonical(value: unknown, key: string, depth = 0): string {
  if (depth > MAX_DEPTH) return '';
  const elements = elementsOf(value);
  if (elements !== undefined) {
    return `[${elements
      .map((element) => canonical(element, key, depth + 1))
      .toSorted()
      .join()}]`;
  }
  if (!isPlainObject(value)) return JSON.stringify(sentText(value, key));
  const fields = Object.entries(value).filter(([, inner]) => inner !== undefined);
  return `{${fields
    .map(([inner, one]) => JSON.stringify(normal(inner)) + canonical(one, inner, depth + 1))
    .toSorted()
    .join()}}`;
}

/** The elements of a list, or of an object that is the map of one: `{ "0": …, "1": … }`. */
export function elementsOf(value: unknown): readonly unknown[] | undefined {
  if (Array.isArray(value)) return value;
  if (!isPlainObject(value)) return undefined;
  const keys = Object.keys(value);
  return keys.length > 0 && keys.every((key, index) => key === String(index)) ? Object.values(value) : undefined;
}

function sentText(value: unknown, key: string): string {
  return value instanceof Date ? scalar('', value, key) : (textOf(value) ?? '');
}

/** The text of a scalar, as a form would carry it; undefined for any other value. */
function textOf(value: unknown): string | undefined {
  if (value === null) return '';
  if (typeof value === 'string') return normal(value);
  return typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint'
    ? String(value)
    : undefined;
}

/** A provider that reads digits as a number may drop zeros or precision. */
function isItsNumber(sent: string, reported: unknown): boolean {
  return typeof reported === 'number' && Number(sent) === reported;
}

function normal(text: string): string {
  return text.replaceAll(/\r\n?/g, '\n').normalize('NFC').trim();
}
