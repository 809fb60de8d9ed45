import { encodeForm } from './form.js';

/** What a reply contradicts of the request it answers. */
interface Contradiction {
  readonly replyId: string;
  /** Request fields, e.g. `['amount', 'metadata[order]']`. */
  readonly fields: readonly string[];
}

/** Compares a reply with what was asked. `livemode` is the key's: undefined when the key does not tell. */
export type Intent<T> = (reply: T, livemode: boolean | undefined) => Contradiction | undefined;

interface Asked {
  readonly amount?: number | undefined;
  readonly currency?: string | undefined;
  readonly metadata?: object | undefined;
}

interface Reported {
  readonly id: string;
  readonly amount?: number | null | undefined;
  readonly currency?: string | null | undefined;
  readonly livemode?: boolean | null | undefined;
  readonly metadata?: object | null | undefined;
}

/**
 * The intent that amount, currency, metadata and mode be as asked; `more` adds the fields of one resource.
 * A field that the reply leaves out contradicts nothing.
 */
export function asAsked<T extends Reported>(asked: Asked, more?: (reply: T) => readonly string[]): Intent<T> {
  return (reply, livemode) => {
    const fields = [
      ...otherMoney(asked, reply),
      ...(differs(livemode, reply.livemode) ? ['livemode'] : []),
      ...(more?.(reply) ?? []),
    ];
    return fields.length === 0 ? undefined : { replyId: reply.id, fields };
  };
}

/** Which of amount, currency and metadata differ. */
export function otherMoney(asked: Asked, reported: Omit<Reported, 'id' | 'livemode'>): string[] {
  return [
    ...(differs(asked.amount, reported.amount) ? ['amount'] : []),
    ...(differs(asked.currency?.toLowerCase(), reported.currency?.toLowerCase()) ? ['currency'] : []),
    ...missingMetadata(asked.metadata, reported.metadata),
  ];
}

/** True when both are known and not the same. Null is a value: the provider says there is none. */
export function differs<V>(asked: V | undefined, reported: V | null | undefined): boolean {
  return asked !== undefined && reported !== undefined && asked !== reported;
}

/** Names of the metadata fields that the reply lacks or changed. Values are compared as the form carries them: 7 is "7". */
function missingMetadata(asked: object | undefined, reported: object | null | undefined): string[] {
  if (asked === undefined || reported === undefined) return [];
  if (isKept(asked, reported)) return [];
  const kept = new Set(reported === null ? [] : pairs(reported));
  return pairs(asked)
    .filter((pair) => !pair.endsWith('=') && !kept.has(pair))
    .map((pair) => decodeURIComponent(pair.slice(0, pair.indexOf('='))));
}

/** The usual case, without encoding: every field is text, and came back as it was. */
function isKept(asked: object, reported: object | null): boolean {
  const kept: Readonly<Record<string, unknown>> = { ...reported };
  return Object.entries(asked).every(([name, value]) => typeof value === 'string' && kept[name] === value);
}

function pairs(metadata: object): string[] {
  try {
    return encodeForm({ metadata }).split('&').filter(Boolean);
  } catch {
    // The reply holds something that no form could have asked for.
    return [];
  }
}
