import { ApiError } from './api-error.js';

/** A decoded form value: text, a list (`a[]`) or a map (`a[b]`). */
export type FormValue = string | readonly FormValue[] | FormMap;
export interface FormMap {
  readonly [name: string]: FormValue;
}

type Building = string | Building[] | BuildingMap;
type BuildingMap = { [name: string]: Building };

/** Bounds against hostile forms. Source: assumption. */
export const MAXIMUM_FIELDS = 1_000;
const MAXIMUM_DEPTH = 6;

const KEY = /^([^[\]]+)((?:\[[^[\]]*\])*)$/;
const UTF_8 = new TextDecoder('utf-8', { fatal: true });

/** The bytes of a body as text. @throws {ApiError} when they are not UTF-8. */
export function decodeUtf8(body: Uint8Array): string {
  try {
    return UTF_8.decode(body);
  } catch {
    throw new ApiError('bad_request', 'The body is not UTF-8.');
  }
}

/**
 * Decodes `application/x-www-form-urlencoded` text in bracket form, as bodies and query strings use it:
 * `a=1`, `a[b]=1`, `a[]=1`, `a[][b]=1` (the same name again begins the next element).
 * @throws {ApiError} on malformed percent-encoding or brackets, and on a name with two meanings.
 */
export function decodeForm(text: string): FormMap {
  if (text === '') return {};
  const fields = text.split('&').filter((field) => field !== '');
  if (fields.length > MAXIMUM_FIELDS) throw new ApiError('bad_request', `A form has at most ${MAXIMUM_FIELDS} fields.`);
  return formOf(fields.map(decodeField));
}

/** The form of these fields, whose names are in bracket form. @throws {ApiError} as {@link decodeForm} does. */
export function formOf(fields: readonly (readonly [key: string, value: string])[]): FormMap {
  const form: BuildingMap = {};
  for (const [key, value] of fields) put(form, pathOf(key), value, key);
  return form;
}

function decodeField(field: string): readonly [key: string, value: string] {
  const equals = field.indexOf('=');
  if (equals === -1) return [decodeText(field), ''];
  return [decodeText(field.slice(0, equals)), decodeText(field.slice(equals + 1))];
}

function decodeText(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    throw new ApiError('bad_request', 'The form has malformed percent-encoding.');
  }
}

/** `a[b][]` becomes `['a', 'b', '']`. */
function pathOf(key: string): string[] {
  const [, name, brackets] = KEY.exec(key) ?? [];
  if (name === undefined || brackets === undefined)
    throw new ApiError('bad_request', 'A form field has a malformed name.');
  const path = brackets === '' ? [name] : [name, ...brackets.slice(1, -1).split('][')];
  // It would set the prototype of the decoded object.
  if (path.includes('__proto__')) throw new ApiError('bad_request', 'A form field may not be named __proto__.');
  if (path.length > MAXIMUM_DEPTH) throw new ApiError('bad_request', `A form is at most ${MAXIMUM_DEPTH} levels deep.`);
  return path;
}

function put(form: BuildingMap, path: readonly string[], value: string, key: string): void {
  let map = form;
  for (let i = 0; ; i += 1) {
    const name = path[i] ?? '';
    const next = path[i + 1];
    if (name === '')
      throw new ApiError('bad_request', `The form field ${key} contains a list as an element of a list.`);
    if (next === undefined) {
      if (Object.hasOwn(map, name)) throw twice(key);
      map[name] = value;
      return;
    }
    if (next !== '') {
      map = inMap(map, name, key);
      continue;
    }
    const list = inList(map, name, key);
    const member = path[i + 2];
    if (member === undefined) {
      if (list.length > 0 && typeof list[0] !== 'string') throw twice(key);
      list.push(value);
      return;
    }
    map = lastElement(list, member, i + 3 === path.length, key);
    i += 1;
  }
}

function inMap(map: BuildingMap, name: string, key: string): BuildingMap {
  const inner = Object.hasOwn(map, name) ? map[name] : (map[name] = {});
  if (typeof inner !== 'object' || Array.isArray(inner)) throw twice(key);
  return inner;
}

function inList(map: BuildingMap, name: string, key: string): Building[] {
  const inner = Object.hasOwn(map, name) ? map[name] : (map[name] = []);
  if (!Array.isArray(inner)) throw twice(key);
  return inner;
}

/** The list element for a member: the last one, or a new one when the last one already has this text member. */
function lastElement(list: Building[], member: string, isText: boolean, key: string): BuildingMap {
  const last = list.at(-1);
  if (last !== undefined && (typeof last === 'string' || Array.isArray(last))) throw twice(key);
  if (last !== undefined && !(isText && Object.hasOwn(last, member))) return last;
  const element: BuildingMap = {};
  list.push(element);
  return element;
}

function twice(key: string): ApiError {
  return new ApiError('bad_request', `The form field ${key} is given twice, or as two different types.`);
}
