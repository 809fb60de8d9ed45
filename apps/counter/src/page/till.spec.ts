import type { Checkout } from '@tillflow/sdk';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { checkoutOf, CLOCK, FakeApi, memoryOf, TILL } from '../testing/fakes.js';
import { Device, type StoredSale } from './device.js';
import { Till, type Shown } from './till.js';

beforeEach(() => void vi.useFakeTimers({ now: Date.parse('2026-11-24T12:00:00Z') }));
afterEach(() => void vi.useRealTimers());

const SALE: StoredSale = { reference: 'reference-of-a', amount: 100, currency: 'THB', note: '', startedAt: 0, id: 'a' };
const EXPIRED = { status: 'expired', qr: null };

async function openTill(listed: readonly Checkout[] = [], kept: StoredSale | null = null, memory = memoryOf()) {
  const server = new FakeApi();
  server.listed = listed;
  for (const checkout of listed) server.set(checkout);
  const device = new Device(memory, memoryOf({ 'tillflow.session': '"tills_one"' }), 'till');
  device.keepSale(TILL, kept);
  const shown: Shown[] = [];
  const onPaid = vi.fn<() => void>();
  const till = new Till({
    api: server.api,
    device,
    clock: CLOCK,
    onChange: () => undefined,
    onEntered: () => undefined,
    onPaid,
    onShown: (screen) => shown.push(screen),
    alone: async (_, work) => work(),
  });
  till.open(null);
  await vi.advanceTimersByTimeAsync(500);
  return { till, server, device, onPaid, shown };
}

describe('a sale of before', () => {
  it('becomes the sale of the till when it gets a new QR code', async () => {
    const ended = checkoutOf('a', EXPIRED);
    const { till, server, device, onPaid, shown } = await openTill([ended]);
    till.reopen(ended);
    await vi.advanceTimersByTimeAsync(500);
    expect([till.screen, till.shown.id, device.sale(TILL)]).toEqual(['expired', null, null]);
    await till.run?.newAttempt();
    await vi.advanceTimersByTimeAsync(500);
    expect([till.screen, till.isReopened, device.sale(TILL)?.id]).toEqual(['awaiting', false, 'a']);
    expect(shown.at(-1)).toEqual({ till: TILL, id: 'a', attempt: 2 });
    server.set(checkoutOf('a', { status: 'paid', version: 3 }));
    await vi.advanceTimersByTimeAsync(1);
    expect([till.screen, onPaid.mock.calls.length]).toEqual(['paid', 1]);
  });

  it('is not announced, and makes no sound, while it only is looked at', async () => {
    const paid = checkoutOf('a', { status: 'paid' });
    const { till, onPaid } = await openTill([paid]);
    till.reopen(paid);
    await vi.advanceTimersByTimeAsync(500);
    expect([till.screen, till.shown.id, onPaid.mock.calls.length]).toEqual(['paid', null, 0]);
  });
});

describe('a sale that the page finds on the device', () => {
  it('is being opened until the API has shown it', async () => {
    const { till, server } = await openTill([], SALE);
    expect(till.screen).toBe('opening');
    server.set(checkoutOf('a'));
    await vi.advanceTimersByTimeAsync(1);
    expect(till.screen).toBe('awaiting');
  });
});

describe('a sale that was paid while the page was closed', () => {
  it.each([
    ['seconds before makes a sound', 10_000, 1],
    ['long before makes none', 10 * 3_600_000, 0],
  ])('%s', async (_, agoMs, sounds) => {
    const paid_at = new Date(Date.now() - agoMs).toISOString();
    const { till, onPaid } = await openTill([checkoutOf('a', { status: 'paid', paid_at })], SALE);
    expect([till.screen, onPaid.mock.calls.length]).toEqual(['paid', sounds]);
  });
});

describe('a link', () => {
  it('that is opened again in the page opens the till again, with its sale', async () => {
    const { till } = await openTill([checkoutOf('a')], SALE);
    for (let time = 1; time <= 2; time += 1) {
      till.open('one');
      expect(till.stage).toBe('opening');
      await vi.advanceTimersByTimeAsync(500);
      expect([till.stage, till.screen]).toEqual(['ready', 'awaiting']);
    }
  });
});

describe('two windows of a till', () => {
  it('keep the sale that one has begun, while the other gives an old one a new QR code', async () => {
    const memory = memoryOf();
    const ended = checkoutOf('a', EXPIRED);
    const [first, second] = [await openTill([], null, memory), await openTill([ended], null, memory)];
    second.till.reopen(ended);
    await vi.advanceTimersByTimeAsync(500);
    await first.till.charge(100, 'THB', '');
    const begun = first.device.sale(TILL);
    await second.till.run?.newAttempt();
    await vi.advanceTimersByTimeAsync(500);
    expect(second.till.screen).toBe('awaiting');
    second.till.finish();
    expect([begun === null, first.device.sale(TILL)?.reference]).toEqual([false, begun?.reference]);
  });
});

describe('a tap', () => {
  it('does nothing on a screen that has just come', async () => {
    const { till, server } = await openTill([checkoutOf('a')], SALE);
    const tapped = vi.fn<() => void>();
    server.set(checkoutOf('a', { status: 'paid', version: 2 }));
    await vi.advanceTimersByTimeAsync(300);
    till.act(tapped);
    expect([till.screen, tapped.mock.calls.length]).toEqual(['paid', 0]);
    await vi.advanceTimersByTimeAsync(100);
    till.act(tapped);
    expect(tapped).toHaveBeenCalledOnce();
  });

  it('does nothing when the finger came down before the screen had settled, however late the page learns of it', async () => {
    const { till, server } = await openTill([checkoutOf('a')], SALE);
    const tapped = vi.fn<() => void>();
    server.set(checkoutOf('a', { status: 'paid', version: 2 }));
    await vi.advanceTimersByTimeAsync(300);
    till.pressed(performance.now());
    await vi.advanceTimersByTimeAsync(200);
    till.act(tapped);
    expect(tapped).not.toHaveBeenCalled();
    till.pressed(performance.now());
    till.act(tapped);
    // A screen reader taps without a finger.
    till.act(tapped);
    expect(tapped).toHaveBeenCalledTimes(2);
  });

  it('in a second window finds the sale of the first', async () => {
    const memory = memoryOf();
    const [first, second] = [await openTill([], null, memory), await openTill([], null, memory)];
    await Promise.all([first.till.charge(100, 'THB', ''), second.till.charge(100, 'THB', '')]);
    expect(second.till.run?.sale.reference).toBe(first.till.run?.sale.reference);
  });
});

describe('the amount pad', () => {
  it('names a sale that was paid after the person had left it, until the person looks at it', async () => {
    const memory = memoryOf();
    const { till, server } = await openTill([checkoutOf('a')], SALE, memory);
    const cancelled = checkoutOf('a', { status: 'cancelled', version: 2 });
    server.set(cancelled);
    server.listed = [cancelled];
    await vi.advanceTimersByTimeAsync(20_000);
    expect([till.screen, till.surprises]).toEqual([null, []]);
    const late = checkoutOf('a', { status: 'cancelled', version: 3, paid_at: '2026-11-24T12:00:20Z' });
    server.set(late);
    server.listed = [late];
    await vi.advanceTimersByTimeAsync(20_000);
    expect(till.surprises).toEqual([late]);
    // A reload, or a loss of power.
    const { till: reloaded } = await openTill([late], null, memory);
    expect(reloaded.surprises).toEqual([late]);
    till.reopen(late);
    till.finish();
    await vi.advanceTimersByTimeAsync(20_000);
    expect(till.surprises).toEqual([]);
  });

  it('names a sale that was paid although no answer had named its checkout when the person left it', async () => {
    const { till, server } = await openTill([], { ...SALE, id: null, startedAt: Date.now() });
    till.finish();
    const paid = checkoutOf('a', { status: 'paid' });
    server.listed = [paid];
    await vi.advanceTimersByTimeAsync(20_000);
    expect(till.surprises).toEqual([paid]);
  });

  it('names no sale whose payment the person has seen', async () => {
    const paid = checkoutOf('a', { status: 'paid', version: 2 });
    const { till, server } = await openTill([checkoutOf('a')], SALE);
    server.set(paid);
    server.listed = [paid];
    await vi.advanceTimersByTimeAsync(60_000);
    expect([till.screen, till.surprises]).toEqual([null, []]);
  });

  it('does not call totals those of today that it has not read lately', async () => {
    const { till, server } = await openTill();
    expect(till.isTodayFresh).toBe(true);
    server.today = () => Promise.reject(new Error('no answer'));
    await vi.advanceTimersByTimeAsync(120_000);
    expect([till.today?.date, till.isTodayFresh]).toEqual(['2026-11-24', false]);
  });
});
