import { readdir, readFile } from 'node:fs/promises';
import { defaultFailureConverter, defaultPayloadConverter, type Payload } from '@temporalio/common';
import type { CheckoutMemo } from '@tillflow/workflows';
import { describe, expect, it } from 'vitest';
import { decodeMapFromPayloads, historyFromJSON } from '../connection/sdk-internals.js';
import { readOpening, type HistoryEvent } from './opening.js';

const HISTORIES = new URL('../../../../test/histories/1.0.0-rc.1-tagged/', import.meta.url);
const CONVERTER = {
  payloadConverter: defaultPayloadConverter,
  failureConverter: defaultFailureConverter,
  payloadCodecs: [],
};

async function eventsOf(name: string): Promise<HistoryEvent[]> {
  return historyFromJSON(JSON.parse(await readFile(new URL(name, HISTORIES), 'utf8'))).events ?? [];
}

type Written = Pick<CheckoutMemo, 'intent' | 'requestNonce' | 'version' | 'events'> &
  Required<Pick<CheckoutMemo, 'state' | 'timeline'>>;

/** The memo as the workflow wrote it for the first time. */
async function firstMemo(events: readonly HistoryEvent[]): Promise<Written> {
  const [first] = events.flatMap((event) => event.workflowPropertiesModifiedEventAttributes?.upsertedMemo ?? []);
  const started = events[0]?.workflowExecutionStartedEventAttributes?.memo;
  const fields: Record<string, Payload> = { ...started?.fields, ...first?.fields };
  return (await decodeMapFromPayloads(CONVERTER, fields)) as unknown as Written;
}

const isCheckout = ([first]: readonly HistoryEvent[]): boolean =>
  first?.workflowExecutionStartedEventAttributes?.workflowType?.name === 'checkout';

const checkouts: { name: string; events: HistoryEvent[] }[] = [];
for (const name of await readdir(HISTORIES)) {
  const events = await eventsOf(name);
  if (isCheckout(events)) checkouts.push({ name, events });
}

/** Checkouts without a charge at first, with an unknown outcome, a slow source, or of a run that continued. */
const SHOW_NOTHING: ReadonlySet<string> = new Set([
  'begun-with-an-update.1.json',
  'charge-found-after-a-lost-answer.1.json',
  'charge-repeated-after-a-lost-request.1.json',
  'closed-then-paid.1.json',
  'continued-as-new.2.json',
  'paid-at-a-slow-provider.1.json',
  'refused-by-the-provider.1.json',
  'source-repeated-after-a-lost-answer.1.json',
  'unknown-charge-abandoned.1.json',
  'unknown-charge-adopted.1.json',
]);

describe('the opening of a checkout', () => {
  it.each(checkouts)('shows what its workflow writes, in $name', async ({ events }) => {
    const memo = await firstMemo(events);
    for (let length = 0; length <= events.length; length += 1) {
      const opening = await readOpening(CONVERTER, events.slice(0, length));
      if (opening === null) continue;
      expect(opening).toEqual(memo);
    }
  });

  it('shows before its workflow writes it, and stays', async () => {
    const shown: Record<string, string> = {};
    for (const { name, events } of checkouts) {
      const openings = await Promise.all(events.map((_, index) => readOpening(CONVERTER, events.slice(0, index + 1))));
      const first = openings.findIndex((opening) => opening !== null);
      const written = events.findIndex((event) => event.workflowPropertiesModifiedEventAttributes != null);
      if (first !== -1 && openings.slice(first).every((opening) => opening !== null))
        shown[name] = first < written ? 'before' : 'after';
    }
    const expected = checkouts.filter(({ name }) => !SHOW_NOTHING.has(name)).map(({ name }) => [name, 'before']);
    expect(shown).toEqual(Object.fromEntries(expected));
  });

  it('shows nothing when a message came before the answer to its charge', async () => {
    const events = await eventsOf('paid-by-webhook.1.json');
    const signal = { workflowExecutionSignaledEventAttributes: {} } as HistoryEvent;
    for (const index of [2, 4, 5, 7, 8, 9]) {
      expect(await readOpening(CONVERTER, events.toSpliced(index, 0, signal))).toBeNull();
    }
  });
});
