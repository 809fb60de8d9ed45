import { formatInstant, type Instant } from '@tillflow/domain';
import { ATTENTION_CODES, type Attention, type AttentionCode } from '../types.js';
import type { ModelState } from './state.js';

/** The kind of news that is no event of the provider: a reconciliation found that the checkout should look. */
export const RECONCILIATION = 'reconciliation';

/** More than this and webhooks give way, then the middle: the memo stays small whatever happens. */
const TIMELINE_LIMIT = 60;

/** What happened, and what needs a person. */
export class Timeline {
  constructor(private readonly state: ModelState) {}

  /** @param by who asked for it, where somebody did. */
  note(now: Instant, what: string, detail?: string, by?: string): void {
    const { timeline } = this.state;
    timeline.push({
      at: formatInstant(now),
      what,
      ...(detail === undefined ? {} : { detail }),
      ...(by === undefined ? {} : { by }),
    });
    if (timeline.length <= TIMELINE_LIMIT) return;
    const hint = timeline.findIndex((entry) => entry.what === 'webhook');
    timeline.splice(hint === -1 ? TIMELINE_LIMIT / 2 : hint, 1);
  }

  /** @param about the charge or refund that it concerns: what is well with another does not settle it. */
  raise(now: Instant, code: AttentionCode, detail: string, about = ''): void {
    const { attentions } = this.state;
    if (attentions.some((one) => one.code === code && one.about === about)) return;
    attentions.push({ code, since: formatInstant(now), detail, about });
    this.note(now, 'attention', `${code}: ${detail}`);
  }

  /** Whether this was raised before, settled or not. */
  hasRaised(code: AttentionCode, detail: string): boolean {
    return this.state.timeline.some((entry) => entry.what === 'attention' && entry.detail === `${code}: ${detail}`);
  }

  settle(settled: AttentionCode, subject = ''): void {
    this.state.attentions = this.state.attentions.filter(({ code, about }) => code !== settled || about !== subject);
  }

  has(...codes: AttentionCode[]): boolean {
    return this.state.attentions.some(({ code }) => codes.includes(code));
  }

  /** The most serious one. */
  get attention(): Attention | null {
    const first = ATTENTION_CODES.find((code) => this.has(code));
    const found = this.state.attentions.find(({ code }) => code === first);
    return found === undefined ? null : { code: found.code, since: found.since, detail: found.detail };
  }
}
