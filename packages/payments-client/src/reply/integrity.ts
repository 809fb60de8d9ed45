import type { Subject } from '../request/path.js';
import { differentMetadata, hasNoneOf } from './metadata.js';

/** Settings of the comparison that hold for every reply of a client. */
export interface ComparisonRules {
  /** The mode of the key; undefined when the key does not show its mode. */
  readonly livemode: boolean | undefined;
  /** Names of metadata that must come back as they were sent; undefined for all of them. */
  readonly searchedMetadata: ReadonlySet<string> | undefined;
}

/**
 * Finds the request fields that a reply contradicts, e.g. `['amount', 'metadata[order]']`; none when it is as asked.
 */
export type ReplyComparison<P, T> = (requested: P, replied: T, rules: ComparisonRules) => readonly string[];

interface Requested {
  readonly amount?: number | null | undefined;
  readonly currency?: string | null | undefined;
  readonly metadata?: object | null | undefined;
}

interface Replied extends Requested {
  readonly livemode?: boolean | null | undefined;
}

/**
 * Compares amount, currency, metadata and mode; `more` compares the fields of one resource. A parameter that was left
 * out or null contradicts nothing. Neither does a field that the reply leaves out.
 */
export function compareWithRequest<P extends Requested, T extends Replied>(
  more?: (requested: P, replied: T) => readonly string[],
): ReplyComparison<P, T> {
  return (requested, replied, rules) => [
    ...differentMoney(requested, replied),
    ...differentMetadata(requested.metadata, replied.metadata, rules.searchedMetadata),
    ...(isDifferent(rules.livemode, replied.livemode) ? ['livemode'] : []),
    ...(more?.(requested, replied) ?? []),
  ];
}

/**
 * As {@link compareWithRequest}, for a record that a provider may store without any metadata. A reply that has some of
 * the metadata must have all of it.
 */
export function compareMetadataIfStored<P extends Requested, T extends Replied>(): ReplyComparison<P, T> {
  const compare = compareWithRequest<Requested, Replied>();
  return (requested, replied, rules) => {
    const isStored = !hasNoneOf(requested.metadata, replied.metadata);
    return compare(isStored ? requested : { ...requested, metadata: null }, replied, rules);
  };
}

/** Which of amount and currency differ. Null is no amount, on either side. */
export function differentMoney(requested: Requested, replied: Replied): string[] {
  return [
    ...(isDifferent(requested.amount, replied.amount) ? ['amount'] : []),
    ...(isDifferent(normalizedWord(requested.currency), normalizedWord(replied.currency)) ? ['currency'] : []),
  ];
}

/**
 * Compares a reply with the record that the path names. The result is `id` for another record of the same kind, or the
 * kind, such as `charge` for a refund, where the record in the reply belongs to another one.
 */
export function differentRecord(subject: Subject | undefined, reply: unknown): string[] {
  if (subject === undefined || typeof reply !== 'object' || reply === null) return [];
  const { kind, id } = subject;
  // Any object has these: a field that it lacks is undefined.
  const fields = reply as Readonly<Record<string, unknown>>;
  if (fields['object'] === kind) return fields['id'] === id ? [] : ['id'];
  const owner = fields[kind];
  return typeof owner === 'string' && owner !== id ? [kind] : [];
}

/**
 * A currency, type or period without the case and white space that the provider may change. Other values stay as they
 * are.
 */
export function normalizedWord<V>(value: V): V | string {
  return typeof value === 'string' ? value.trim().toLowerCase() : value;
}

/** True when both are known and not the same. */
export function isDifferent<V>(requested: V | null | undefined, replied: V | null | undefined): boolean {
  return isDifferentOrMissing(requested, replied) && replied !== null;
}

/** As {@link isDifferent}, for a field that the provider shows as null when there is none: then null is an answer. */
export function isDifferentOrMissing<V>(requested: V | null | undefined, replied: V | null | undefined): boolean {
  return requested !== undefined && requested !== null && replied !== undefined && requested !== replied;
}
