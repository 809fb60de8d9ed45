/** Any JSON value of an answer. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export type JsonObject = { readonly [name: string]: Json };

export type Fields = Readonly<Record<string, Kind>>;

/** The rule for a value on the wire. */
export type Kind = {
  /** Completes "it is …". */
  readonly says: string;
  readonly admits: (value: Json) => boolean;
  /** Null is also allowed. */
  readonly nullable: boolean;
  /** No operation of this payment method fills it: the rows check only its presence and its null. */
  readonly unfilled: boolean;
  /** The field may be missing. */
  readonly optional?: true;
  /** A record with its own table, checked as a whole within another record. */
  readonly whole?: true;
  readonly fields?: Fields;
  readonly elements?: Kind;
};

const kind = (says: string, admits: Kind['admits']): Kind => ({ says, admits, nullable: false, unfilled: false });
const isText = (value: Json): value is string => typeof value === 'string';

const DATE_TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2})$/;
const DATE = /^\d{4}-\d{2}-\d{2}$/;
const DECIMAL = /^-?\d+(?:\.\d+)?$/;

export const text = kind('a string', isText);
export const filledText = kind('a string that is not empty', (value) => isText(value) && value !== '');
export const matching = (pattern: RegExp): Kind =>
  kind(`a string like ${pattern.source}`, (value) => isText(value) && pattern.test(value));
export const oneOf = (...choices: readonly string[]): Kind =>
  kind(`one of ${choices.join(', ')}`, (value) => isText(value) && choices.includes(value));
export const always = (constant: string | boolean): Kind =>
  kind(typeof constant === 'string' ? `"${constant}"` : String(constant), (value) => value === constant);
export const integer = kind('an integer', Number.isInteger);
export const boolean = kind('true or false', (value) => typeof value === 'boolean');
export const dateTime = kind('a date-time', (value) => isText(value) && DATE_TIME.test(value) && isReal(value));
export const date = kind('a date', (value) => isText(value) && DATE.test(value) && isReal(value));
export const decimal = kind('a string that holds a decimal number', (value) => isText(value) && DECIMAL.test(value));
export const number = kind('a number', (value) => typeof value === 'number');
export const uri = kind('a URI', (value) => isText(value) && URL.canParse(value));
export const path = kind('a path', (value) => isText(value) && value.startsWith('/'));
export const currency = matching(/^[A-Z]{3}$/);
export const nullOrLeftOut: Kind = {
  ...kind('null, or left out', (value) => value === null),
  unfilled: true,
  optional: true,
};
/** The reference does not state a type. */
export const anything = kind('there', () => true);
export const anyObject = kind('an object', isObject);
/** An identifier: fixed prefix, in test mode a marker after it. Source: API reference, "Conventions". */
export const idOf = (prefix: string): Kind => matching(new RegExp(`^${prefix}_(?:test_)?[0-9a-z]+$`));

export const object = (fields: Fields): Kind => ({ ...kind('an object', isObject), fields });
/** @param article with the name, as in "an event". */
export const resource = (article: string, fields: Fields): Kind => ({ ...object(fields), says: article, whole: true });
export const arrayOf = (elements: Kind): Kind => ({ ...kind('an array', Array.isArray), elements });
export const anyArray = kind('an array', Array.isArray);

export const orNull = (inner: Kind): Kind => ({ ...inner, nullable: true });
/** Null, or the kind. No operation of this payment method fills it. */
export const unfilled = (inner: Kind): Kind => ({ ...inner, nullable: true, unfilled: true });

/** The list envelope. Source: API reference, "List envelope". */
export const listOf = (elements: Kind): Kind =>
  resource(`a list, each ${elements.says}`, {
    object: always('list'),
    data: arrayOf(elements),
    limit: integer,
    offset: integer,
    total: integer,
    location: path,
    order: oneOf('chronological', 'reverse_chronological'),
    from: dateTime,
    to: dateTime,
  });

/** The search envelope. Source: assumption, "Search result". */
export const searchOf = (elements: Kind): Kind =>
  object({
    object: always('search'),
    scope: filledText,
    query: orNull(text),
    filters: anyObject,
    order: oneOf('chronological', 'reverse_chronological'),
    page: integer,
    per_page: integer,
    total: integer,
    total_pages: integer,
    location: path,
    data: arrayOf(elements),
  });

/** The error envelope. Source: assumption, "Error body". */
export const ERROR = object({ object: always('error'), location: filledText, code: filledText, message: filledText });

function isReal(instant: string): boolean {
  return !Number.isNaN(Date.parse(instant));
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The mistakes of a value, one line each, with the path of the field. */
export function mistakesIn(value: Json | undefined, kind: Kind, at: string): string[] {
  if (value === undefined) return kind.optional === true ? [] : [`${at} is missing`];
  if (value === null && kind.nullable) return [];
  if (!kind.admits(value)) return [`${at} must be ${kind.says}, is ${JSON.stringify(value)}`];
  const { fields, elements } = kind;
  if (fields !== undefined && isObject(value)) {
    return Object.entries(fields).flatMap(([name, inner]) => mistakesIn(value[name], inner, `${at}.${name}`));
  }
  if (elements !== undefined && Array.isArray(value)) {
    return (value as readonly Json[]).flatMap((element, i) => mistakesIn(element, elements, `${at}[${i}]`));
  }
  return [];
}

/** One field of a resource, at any depth; `[]` stands for every element of an array. */
export type FieldAt = { readonly path: readonly string[]; readonly kind: Kind };

/** Every field with its own row: without those of records that are checked as a whole, or that are never filled. */
export function fieldsOf(kind: Kind, above: readonly string[] = []): FieldAt[] {
  const { fields, elements } = kind;
  if (above.length > 0 && isShownWhole(kind)) return [];
  if (elements !== undefined) return fieldsOf(elements, [...above, '[]']);
  return Object.entries(fields ?? {}).flatMap(([name, inner]) => {
    const path = [...above, name];
    const field: FieldAt = { path, kind: inner };
    return [field].concat(fieldsOf(inner, path));
  });
}

export function isShownWhole({ whole, unfilled }: Kind): boolean {
  return whole === true || unfilled;
}

/** Every value at a path; `undefined` when the object lacks the field. */
export function valuesAt(value: Json | undefined, [name, ...rest]: readonly string[]): (Json | undefined)[] {
  if (name === undefined) return [value];
  if (name === '[]') return Array.isArray(value) ? value.flatMap((element: Json) => valuesAt(element, rest)) : [];
  return isObject(value) ? valuesAt(value[name], rest) : [];
}

/** The paths of fields that are not in the table. */
export function unknownFields(value: Json | undefined, kind: Kind, at: string): string[] {
  const { fields, elements } = kind;
  if (elements !== undefined && Array.isArray(value)) {
    return (value as readonly Json[]).flatMap((element) => unknownFields(element, elements, `${at}[]`));
  }
  if (fields === undefined || !isObject(value)) return [];
  return Object.entries(value).flatMap(([name, inner]) => {
    const known = Object.hasOwn(fields, name) ? fields[name] : undefined;
    return known === undefined ? [`${at}.${name}`] : unknownFields(inner, known, `${at}.${name}`);
  });
}
