import { scalar } from './form.js';
import { isPlainObject } from './params.js';

/** A reply that is nested deeper is compared no further. */
const MAX_DEPTH = 16;

/**
 * The fields of metadata, as `metadata[order]`, that a reply lacks or changed. Not a change: white space around a text,
 * other line endings, another Unicode form, a number in place of its digits, a list as a map of its indices or in
 * another order. What was sent empty is not missed, and what the provider adds does not matter.
 * @param searched names to compare; all of them when undefined
 */
export function otherMetadata(
  asked: object | null | undefined,
  reported: object | null | undefined,
  searched: ReadonlySet<string> | undefined,
): string[] {
  if (asked === null || asked === undefined || reported === undefined || isAsSent(asked, reported)) return [];
  return Object.entries(asked)
    .filter(([name]) => searched?.has(name) ?? true)
    .flatMap(([name, value]) => differences(value, field(reported, name), name, `metadata[${name}]`));
}

/** Whether a record keeps none of the metadata that was sent, under none of its names. */
export function keepsNone(asked: object | null | undefined, reported: object | null | undefined): boolean {
  return Object.keys(asked ?? {}).every((name) => (field(reported, name) ?? '') === '');
}

/** The usual case, at no cost: every value is a text, and came back as it was. */
function isAsSent(asked: object, reported: object | null): boolean {
  const kept: Readonly<Record<string, unknown>> = { ...reported };
  return Object.entries(asked).every(([name, value]) => typeof value === 'string' && kept[name] === value);
}

/** @param key the last part of `name` */
function differences(asked: unknown, reported: unknown, key: string, name: string): string[] {
  if (Array.isArray(asked)) return isSameList(asked, reported, key) ? [] : [`${name}[]`];
  if (isPlainObject(asked)) {
    return Object.entries(asked).flatMap(([inner, value]) =>
      differences(value, field(reported, inner), inner, `${name}[${inner}]`),
    );
  }
  const sent = sentText(asked, key);
  return sent === '' || sent === textOf(reported) || isItsNumber(sent, reported) ? [] : [name];
}

/** By its name, or by the same name in another Unicode form. */
function field(reported: unknown, name: string): unknown {
  if (typeof reported !== 'object' || reported === null) return undefined;
  const fields: [string, unknown][] = Object.entries(reported);
  const found = fields.find(([key]) => key === name) ?? fields.find(([key]) => normal(key) === normal(name));
  return found?.[1];
}

function isSameList(asked: readonly unknown[], reported: unknown, key: string): boolean {
  const sent = asked.filter((element) => element !== undefined).map((element) => canonical(element, key));
  const kept = elementsOf(reported)?.map((element) => canonical(element, key)) ?? [];
  return sent.toSorted().join() === kept.toSorted().join();
}

/** One text for all forms of a value. */
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

/** The text of a scalar, as a form would carry it; undefined for what is none. */
function textOf(value: unknown): string | undefined {
  if (value === null) return '';
  if (typeof value === 'string') return normal(value);
  return typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint'
    ? String(value)
    : undefined;
}

/** Digits that a provider reads as a number may lose zeros or precision. */
function isItsNumber(sent: string, reported: unknown): boolean {
  return typeof reported === 'number' && Number(sent) === reported;
}

function normal(text: string): string {
  return text.replaceAll(/\r\n?/g, '\n').normalize('NFC').trim();
}
