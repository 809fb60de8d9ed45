import { keepsNone, otherMetadata } from './metadata.js';
import type { Subject } from './path.js';

/** What every call of a client is compared by. */
export interface Terms {
  /** The key's mode: undefined when the key does not tell. */
  readonly livemode: boolean | undefined;
  /** Names of metadata that must come back as they were sent: undefined for all of them. */
  readonly searchedMetadata: ReadonlySet<string> | undefined;
}

/** The request fields that a reply contradicts, e.g. `['amount', 'metadata[order]']`; none when it is as it was asked. */
export type Intent<P, T> = (asked: P, reply: T, terms: Terms) => readonly string[];

interface Asked {
  readonly amount?: number | null | undefined;
  readonly currency?: string | null | undefined;
  readonly metadata?: object | null | undefined;
}

interface Reported {
  readonly amount?: number | null | undefined;
  readonly currency?: string | null | undefined;
  readonly livemode?: boolean | null | undefined;
  readonly metadata?: object | null | undefined;
}

/**
 * The intent that amount, currency, metadata and mode be as asked; `more` adds the fields of one resource. What was not
 * asked, or asked as null, contradicts nothing; nor does what the reply leaves out.
 */
export function asAsked<P extends Asked, T extends Reported>(
  more?: (asked: P, reply: T) => readonly string[],
): Intent<P, T> {
  return (asked, reply, terms) => [
    ...otherMoney(asked, reply),
    ...otherMetadata(asked.metadata, reply.metadata, terms.searchedMetadata),
    ...otherMode(reply, terms),
    ...(more?.(asked, reply) ?? []),
  ];
}

/**
 * The same for a record that a provider may keep without any metadata: what answers the request that made it needs none
 * to be known by. One that comes back with some of it must have all.
 */
export function asAskedWithOrWithoutMetadata<P extends Asked, T extends Reported>(): Intent<P, T> {
  const asIs = asAsked<Asked, Reported>();
  return (asked, reply, terms) =>
    asIs(keepsNone(asked.metadata, reply.metadata) ? { ...asked, metadata: null } : asked, reply, terms);
}

/** Which of amount and currency differ. Null is no amount: neither side says one by it. */
export function otherMoney(asked: Asked, reported: Reported): string[] {
  return [
    ...(isOther(asked.amount, reported.amount) ? ['amount'] : []),
    ...(isOther(word(asked.currency), word(reported.currency)) ? ['currency'] : []),
  ];
}

function otherMode(reported: Reported, { livemode }: Terms): string[] {
  return isOther(livemode, reported.livemode) ? ['livemode'] : [];
}

/**
 * Whether a reply is about another record than the path names: `id` for another of its kind, and the kind, as `charge`
 * for a refund, where the record in the reply belongs to another one.
 */
export function otherSubject(subject: Subject | undefined, reply: unknown): string[] {
  if (subject === undefined || typeof reply !== 'object' || reply === null) return [];
  const { kind, id } = subject;
  // Of any object: a field that it lacks is undefined.
  const fields = reply as Readonly<Record<string, unknown>>;
  if (fields['object'] === kind) return fields['id'] === id ? [] : ['id'];
  const owner = fields[kind];
  return typeof owner === 'string' && owner !== id ? [kind] : [];
}

/** A word of the provider's own in one form: a currency, a type, a period. What is no text stays as it is. */
export function word<V>(value: V): V | string {
  return typeof value === 'string' ? value.trim().toLowerCase() : value;
}

/** True when both are known and not the same. */
export function isOther<V>(asked: V | null | undefined, reported: V | null | undefined): boolean {
  return asked !== undefined && asked !== null && reported !== undefined && reported !== null && asked !== reported;
}

/** As {@link isOther}, for a field that the provider shows as null when there is none: then null is an answer. */
export function isOtherOrNone<V>(asked: V | null | undefined, reported: V | null | undefined): boolean {
  return asked !== undefined && asked !== null && reported !== undefined && asked !== reported;
}
