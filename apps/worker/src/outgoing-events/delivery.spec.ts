import { CheckoutNotFoundError, UnreadablePayloadError } from '@tillflow/temporal';
import type { Delivery, DeliveryRecord } from '@tillflow/workflows';
import { describe, expect, it, vi } from 'vitest';
import { BatchDelivery } from './delivery.js';
import { idOfEvent } from './events.js';
import type { EventSender, Sent } from './sender.js';

const NOW = Date.now();
const SECRETS = { secrets: [{ secret: 'whsec_c2VjcmV0', until: null }], links: { base: 'http://api', key: 'a2V5' } };
const DELAYS = [5_000, 300_000];
const CALL = { endpoint: 'evep_1', url: 'http://127.0.0.1:9/', sealed: 'sealed', retryDelaysMs: DELAYS };
const DAY = 86_400_000;
const id = (name: string): string => `chk_default_${name}`;

const stored = (name: string) =>
  ({
    intent: {
      id: id(name),
      reference: name,
      amount: 100,
      currency: 'THB',
      metadata: {},
      created_at: '2026-11-21T05:31:02.000Z',
      expires_in: 900,
    },
    state: { status: 'expired', attempts: [], qr: null, refunded_amount: 0, attention: null },
    timeline: [],
    refunds: [],
    version: 3,
  }) as unknown as Awaited<ReturnType<Reads['get']>>;
type Reads = ConstructorParameters<typeof BatchDelivery>[0]['checkouts'];

const paid = (name: string, tries = 0): Delivery => ({
  checkout: id(name),
  events: [{ event: 'paid', version: 2, at: NOW }],
  tries,
});
const paidAndRefunded = (name: string): Delivery => ({
  checkout: id(name),
  events: [
    { event: 'paid', version: 2, at: NOW },
    { event: 'refunded', version: 3, at: NOW },
  ],
  tries: 0,
});

/** @param answer to each request, by the type of its event */
function batch({
  answer = () => ({ status: 200, ms: 1 }),
  get = (key) => Promise.resolve(stored(key.reference)),
  done,
  open = () => Promise.resolve(SECRETS),
}: {
  readonly answer?: (type: string) => Sent | Promise<Sent>;
  readonly get?: Reads['get'];
  readonly done?: readonly DeliveryRecord[];
  readonly open?: () => Promise<unknown>;
} = {}) {
  const sent: string[] = [];
  const signedWith: (readonly string[])[] = [];
  const freezes = { count: 0 };
  const send: EventSender['send'] = (_target, _id, body, secrets) => {
    signedWith.push(secrets);
    const { type, data } = JSON.parse(body) as { type: string; data: { id: string } };
    sent.push(`${data.id.replace('chk_default_', '')} ${type}`);
    return Promise.resolve(answer(type));
  };
  const ending = new AbortController();
  const parts = { sender: { send }, seal: { open }, checkouts: { get }, freezes };
  return { delivery: new BatchDelivery(parts, CALL, ending.signal, done), sent, signedWith, freezes, ending };
}

describe('a batch of deliveries', () => {
  it('sends the events of a checkout in their order, until one fails', async () => {
    const { delivery, sent } = batch({ answer: () => ({ status: 500, ms: 1 }) });
    const records = await delivery.run([paidAndRefunded('a'), paid('b')]);
    expect(sent).toEqual(['a checkout.paid', 'b checkout.paid']);
    expect(records).toMatchObject([
      { status: 500, tries: 0, next: expect.any(Number) },
      { status: 500, tries: 0, next: expect.any(Number) },
    ]);
  });

  it('that another worker goes on with sends no event past one that had failed', async () => {
    const first = batch({ answer: () => ({ status: 500, ms: 1 }) });
    const done = await first.delivery.run([paidAndRefunded('a')]);
    const second = batch({ done });
    expect(await second.delivery.run([paidAndRefunded('a'), paid('b')])).toHaveLength(2);
    expect(second.sent).toEqual(['b checkout.paid']);
  });

  it('that another worker goes on with repeats no event that was accepted', async () => {
    const accepted = { id: idOfEvent({ checkout: id('a'), event: 'paid', version: 2, at: NOW }), checkout: id('a') };
    const record = { ...accepted, event: 'paid', version: 2, at: NOW, ms: 1, status: 200, tries: 0 } as const;
    const { delivery, sent } = batch({ done: [record] });
    await delivery.run([paidAndRefunded('a')]);
    expect(sent).toEqual(['a checkout.refunded']);
  });

  it('keeps the records of what was sent when a checkout cannot be read', async () => {
    let reads = 0;
    const { delivery } = batch({
      get: (key) => {
        reads += 1;
        return reads === 2 ? Promise.reject(new Error('Temporal is down')) : Promise.resolve(stored(key.reference));
      },
    });
    expect(await delivery.run([paid('a'), paid('b')])).toMatchObject([{ checkout: id('a'), status: 200 }]);
  });

  it('fails when nothing could be read', async () => {
    const { delivery } = batch({ get: () => Promise.reject(new Error('Temporal is down')) });
    await expect(delivery.run([paid('a'), paid('b')])).rejects.toThrow('Temporal is down');
  });

  it('gives up the events of a checkout that is not stored any more, and no other', async () => {
    const missing = batch({ get: () => Promise.reject(new CheckoutNotFoundError('gone')) });
    expect(await missing.delivery.run([paid('a')])).toMatchObject([{ isUnsendable: true, status: null }]);
    const unreadable = batch({ get: () => Promise.reject(new UnreadablePayloadError('no key')) });
    const [record] = await unreadable.delivery.run([paid('a', 1)]);
    const error = 'PAYLOAD_KEYS has no key for this checkout';
    expect(record).toMatchObject({ error, isOurFailure: true, tries: 1, next: expect.any(Number) });
    expect(record).not.toHaveProperty('isUnsendable');
  });

  it('fails every delivery, with the reason, when its secret was sealed with another key', async () => {
    const { delivery, sent } = batch({ open: () => Promise.reject(new UnreadablePayloadError('another key')) });
    expect(await delivery.run([paid('a')])).toMatchObject([{ error: expect.stringContaining('rotate the secret') }]);
    expect(sent).toEqual([]);
  });

  it('sends nothing after its process was frozen, or after it was cancelled', async () => {
    for (const end of [
      (made: ReturnType<typeof batch>) => (made.freezes.count += 1),
      (made: ReturnType<typeof batch>) => made.ending.abort(),
    ]) {
      const made = batch();
      end(made);
      await expect(made.delivery.run([paid('a')])).rejects.toThrow('Another worker may have taken this batch over');
      expect(made.sent).toEqual([]);
    }
  });

  it.each([0, 0.5, 0.999])('waits as the schedule says, and up to a tenth longer: random number %d', async (random) => {
    const drawn = vi.spyOn(Math, 'random').mockReturnValue(random);
    const { delivery } = batch({ answer: () => ({ status: 503, ms: 1 }) });
    const records = await delivery.run([paid('a'), paid('b', 1)]);
    const pauses = records.map(({ next, at, ms }) => (next ?? 0) - at - ms);
    expect(pauses).toEqual(DELAYS.map((ms) => Math.round(ms * (1 + random / 10))));
    drawn.mockRestore();
  });

  it('waits at most 24 hours for a receiver that asks for more time', async () => {
    const { delivery } = batch({ answer: () => ({ status: 429, ms: 1, retryAfterMs: 10 * DAY }) });
    for (const { at, ms, next, notBefore = 0 } of await delivery.run([paid('a'), paid('b', 2)])) {
      expect(notBefore - at - ms).toBe(DAY);
      expect(next ?? notBefore).toBe(notBefore);
    }
  });

  it('signs with each secret until its time', async () => {
    const old = (until: number) => ({ secret: `whsec_${until}`, until });
    const [over, valid] = [old(NOW - 1), old(NOW + DAY)];
    const secrets = [...SECRETS.secrets, valid, over];
    const { delivery, signedWith } = batch({ open: () => Promise.resolve({ ...SECRETS, secrets }) });
    await delivery.run([paid('a')]);
    expect(signedWith).toEqual([['whsec_c2VjcmV0', valid.secret]]);
  });

  it('has at most eight requests in flight', async () => {
    let inFlight = 0;
    let most = 0;
    const { delivery } = batch({
      answer: async () => {
        most = Math.max(most, (inFlight += 1));
        await new Promise((resolve) => setImmediate(resolve));
        inFlight -= 1;
        return { status: 200, ms: 1 };
      },
    });
    await delivery.run(Array.from({ length: 50 }, (_, index) => paid(`c${index}`)));
    expect(most).toBe(8);
  });

  it('waits as the schedule says, and at least as long as Retry-After says', async () => {
    const { delivery } = batch({ answer: () => ({ status: 503, ms: 1, retryAfterMs: 60_000 }) });
    const [first, second, last] = await delivery.run([paid('a'), paid('b', 1), paid('c', 2)]);
    const after = ({ next }: DeliveryRecord = {} as DeliveryRecord): number => Math.floor(((next ?? 0) - NOW) / 1_000);
    expect(after(first)).toBeGreaterThanOrEqual(60);
    expect(after(first)).toBeLessThan(120);
    expect(after(second)).toBeGreaterThanOrEqual(300);
    expect(last).toMatchObject({ next: null, notBefore: expect.any(Number) });
  });
});
