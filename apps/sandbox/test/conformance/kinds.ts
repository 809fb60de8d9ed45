/** Any JSON value, as it came over the wire. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export type JsonObject = { readonly [name: string]: Json };

export type Fields = Readonly<Record<string, Kind>>;

/** What a value on the wire may be. */
export type Kind = {
  /** Completes "it is …". */
  readonly says: string;
  readonly admits: (value: Json) => boolean;
  /** Null is allowed as well. */
  readonly nullable: boolean;
  /** Nothing that this method does fills it: only its presence and its null can be shown. */
  readonly unfilled: boolean;
  /** May be left out as well. */
  readonly optional?: true;
  /** A record with a table of its own: shown as a whole where it stands in another. */
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
/** The reference shows no type. */
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
/** Null, or the kind: nothing that is done to a charge of this method fills it. */
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

/** The search envelope. Source: gap decision, "Search result". */
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

/** The error envelope. Source: gap decision, "Error body". */
export const ERROR = object({ object: always('error'), location: filledText, code: filledText, message: filledText });

function isReal(instant: string): boolean {
  return !Number.isNaN(Date.parse(instant));
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** What is wrong with a value, one line for each mistake, each with the path of the field. */
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

/** Every field that has a row of its own: not those of records that are shown whole, or that nothing fills. */
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

/** Every value at a path; `undefined` where the object is there and the field is not. */
export function valuesAt(value: Json | undefined, [name, ...rest]: readonly string[]): (Json | undefined)[] {
  if (name === undefined) return [value];
  if (name === '[]') return Array.isArray(value) ? value.flatMap((element: Json) => valuesAt(element, rest)) : [];
  return isObject(value) ? valuesAt(value[name], rest) : [];
}

/** Paths of fields that the table does not name. */
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
