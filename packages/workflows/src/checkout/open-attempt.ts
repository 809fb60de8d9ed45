import { parseInstant, type Instant } from '@tillflow/domain';
import { condition } from '@temporalio/workflow';
import type { CheckoutBook } from './book.js';
import { createCharge, createSource, findCharge, sendWindow } from './calls.js';
import type { News } from './news.js';
import { lookDelay } from './policy.js';
import { report } from './report.js';
import { clock } from './clock.js';

/** Source, then charge. Returns when the customer can pay, or never will. */
export async function openAttempt(book: CheckoutBook, news: News): Promise<void> {
  const sourceId = book.attempt.sourceId ?? (await makeSource(book));
  if (sourceId !== null) await makeCharge(book, news, sourceId);
  book.settle('provider_unreachable', 'outcome_unknown');
}

/** Nothing is charged by a source: one whose outcome is unknown is left behind and another made. */
async function makeSource(book: CheckoutBook): Promise<string | null> {
  for (let tries = 0; ; tries += 1) {
    if (mustStop(book)) return giveUp(book);
    const outcome = await createSource(book, sendWindow(book.policy, clock()));
    if (outcome.kind === 'done') {
      book.sourceCreated(clock(), outcome.value.sourceId);
      return outcome.value.sourceId;
    }
    if (outcome.kind === 'rejected' && !outcome.retryable) {
      book.refused(clock(), outcome.code, outcome.message);
      return null;
    }
    await pause(book, tries, `No source yet: ${outcome.message}`);
  }
}

async function makeCharge(book: CheckoutBook, news: News, sourceId: string): Promise<void> {
  // Once in doubt, a refusal is no proof any more: it may be the refusal of a second charge on the same source.
  let inDoubt = false;
  for (let tries = 0; ; tries += 1) {
    if (mustStop(book)) {
      giveUp(book);
      return;
    }
    const window = sendWindow(book.policy, clock());
    const outcome = await createCharge(book, sourceId, window);
    if (outcome.kind === 'done' && book.apply(clock(), outcome.value)) return;
    if (outcome.kind === 'rejected' && outcome.retryable && !inDoubt) {
      await pause(book, tries, `No charge yet: ${outcome.message}`);
      continue;
    }
    // A refusal is looked into once: a charge that is there after all must not be shown as failed.
    if (outcome.kind === 'rejected' && !inDoubt) {
      const look = await findCharge(book, sourceId, window.quietAt);
      if ('seen' in look && look.seen === null) {
        book.refused(clock(), outcome.code, outcome.message);
        return;
      }
      if ('seen' in look && look.seen !== null && book.apply(clock(), look.seen)) return;
    }
    inDoubt = true;
    const why = outcome.kind === 'done' ? 'the reply did not match' : `${outcome.code}: ${outcome.message}`;
    book.note(clock(), 'outcome_unknown', why);
    if ((await resolveCharge(book, news, sourceId, window.quietAt)) === 'found') return;
    book.note(clock(), 'charge_absent', `no charge uses ${sourceId}`);
    if (outcome.kind === 'rejected' && !outcome.retryable) {
      book.refused(clock(), outcome.code, outcome.message);
      return;
    }
  }
}

/**
 * Looks until the provider shows the charge, or has twice said that there is none, the last time after nothing of the
 * call can be under way any more (`quietAt`). Only then may the caller create again, with the same source.
 */
async function resolveCharge(
  book: CheckoutBook,
  news: News,
  sourceId: string,
  quietAt: Instant,
): Promise<'found' | 'absent'> {
  const since = clock();
  const cancelled = book.cancelRequested;
  let absences = 0;
  let looks = 0;
  for (;;) {
    const untilQuiet = Math.max(quietAt - clock(), 0);
    const delay = lookDelay(book.policy, looks);
    const wait = untilQuiet > 0 ? Math.min(delay, untilQuiet) : delay;
    const hurried = await condition(() => news.hasHint || book.cancelRequested !== cancelled, wait, {
      summary: `Outcome unknown: look again, look ${looks + 1}`,
    });
    // Someone waits for the end now: from here on looks are close together again.
    if (hurried && book.cancelRequested !== cancelled) return resolveCharge(book, news, sourceId, quietAt);
    if (!hurried) looks += 1;
    news.takeHint();
    const lookedAt = clock();
    const look = await findCharge(book, sourceId, quietAt);
    if ('seen' in look && look.seen !== null && book.apply(clock(), look.seen)) return 'found';
    if ('seen' in look && look.seen === null) absences += 1;
    if (absences >= 2 && lookedAt >= quietAt) return 'absent';
    raiseWhenLong(book, since, 'outcome_unknown', `whether ${sourceId} was charged is not known yet`);
  }
}

/** Nothing is in flight here: stopping is safe. */
function mustStop(book: CheckoutBook): boolean {
  return book.cancelRequested || clock() >= book.expiresAt;
}

function giveUp(book: CheckoutBook): null {
  book.abandoned(clock(), 'before the provider took the charge');
  return null;
}

/** Nothing happened at the provider: the same call may be made again, a little later each time. */
async function pause(book: CheckoutBook, tries: number, summary: string): Promise<void> {
  raiseWhenLong(book, parseInstant(book.attempt.createdAt), 'provider_unreachable', summary);
  const delay = lookDelay(book.policy, Math.min(tries, 3));
  const untilExpiry = Math.max(book.expiresAt - clock(), 0);
  await condition(() => book.cancelRequested, Math.min(delay, untilExpiry), { summary });
}

function raiseWhenLong(
  book: CheckoutBook,
  since: Instant,
  code: 'outcome_unknown' | 'provider_unreachable',
  detail: string,
): void {
  if (clock() - since < book.policy.attentionAfterMs) return;
  book.raise(clock(), code, detail);
  report(book, clock());
}
