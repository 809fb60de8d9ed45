import { formatInstant, type Instant } from '@tillflow/domain';
import { ATTENTION_CODES, type Attention, type AttentionCode } from '../types.js';
import type { Timeline } from './timeline.js';

/** `about` is the charge or refund that it concerns; empty when it concerns the whole checkout. */
export type RaisedAttention = Attention & { readonly about: string };

/**
 * The attentions of a checkout, for operators. Several can be raised at once; the checkout shows the most serious one.
 */
export class Attentions {
  constructor(
    private readonly raised: RaisedAttention[],
    private readonly timeline: Timeline,
  ) {}

  get isEmpty(): boolean {
    return this.raised.length === 0;
  }

  /** Raises it once for each subject. */
  raise(now: Instant, code: AttentionCode, detail: string, about = ''): void {
    if (this.raised.some((one) => one.code === code && one.about === about)) return;
    this.raised.push({ code, since: formatInstant(now), detail, about });
    this.timeline.note(now, 'attention', `${code}: ${detail}`);
  }

  /** As {@link raise}, but it does not raise an attention again that an operator has settled. */
  raiseOnce(now: Instant, code: AttentionCode, detail: string, about: string): void {
    const entry = `${code}: ${detail}`;
    const wasRaised = this.timeline.all.some(({ what, detail: noted }) => what === 'attention' && noted === entry);
    if (!wasRaised) this.raise(now, code, detail, about);
  }

  settle(code: AttentionCode, about = ''): void {
    const index = this.raised.findIndex((one) => one.code === code && one.about === about);
    if (index !== -1) this.raised.splice(index, 1);
  }

  settleAll(): void {
    this.raised.length = 0;
  }
}

/** The most serious one, as the checkout shows it. */
export function shownAttention(raised: readonly RaisedAttention[]): Attention | null {
  const first = ATTENTION_CODES.find((code) => raised.some((one) => one.code === code));
  const found = raised.find(({ code }) => code === first);
  return found === undefined ? null : { code: found.code, since: found.since, detail: found.detail };
}
