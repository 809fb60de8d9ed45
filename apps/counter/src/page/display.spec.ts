import type { Checkout } from '@tillflow/sdk';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { checkoutOf, CLOCK, FakeApi, memoryOf, SESSION, TILL } from '../testing/fakes.js';
import { Device } from './device.js';
import { Display } from './display.js';

const TOKEN = 'tills_one';
/** Longer than the end of a sale stays, and than a look takes. Milliseconds. */
const LATER_MS = 20_000;
const SOON_MS = 3_000;

beforeEach(() => void vi.useFakeTimers({ now: Date.parse('2026-11-24T12:00:00Z') }));
afterEach(() => void vi.useRealTimers());

async function openDisplay(listed: readonly Checkout[] = [], memory = memoryOf({ 'tillflow.session': `"${TOKEN}"` })) {
  const server = new FakeApi();
  const show = (...checkouts: readonly Checkout[]): void => {
    for (const checkout of checkouts) server.set(checkout);
    server.listed = checkouts;
  };
  show(...listed);
  const device = new Device(memory, memoryOf(), 'display');
  const display = new Display({
    api: server.api,
    device,
    clock: CLOCK,
    onChange: () => undefined,
    onEntered: () => undefined,
  });
  void display.follow(null);
  await vi.advanceTimersByTimeAsync(SOON_MS);
  const shows = () => (display.checkout === null ? null : [display.checkout.id, display.screen]);
  return { display, server, device, show, shows };
}

const tells = (id: string | null, attempt = 1) => ({ till: TILL, id, attempt });

describe("the customer's screen", () => {
  it('shows a new QR code of a sale whose end it has removed', async () => {
    const { show, shows } = await openDisplay([checkoutOf('a')]);
    show(checkoutOf('a', { status: 'expired', version: 2 }));
    await vi.advanceTimersByTimeAsync(1);
    expect(shows()).toEqual(['a', 'expired']);
    await vi.advanceTimersByTimeAsync(LATER_MS);
    expect(shows()).toBeNull();
    show(checkoutOf('a', { version: 3, attempts: [{ number: 2 }] }));
    await vi.advanceTimersByTimeAsync(SOON_MS);
    expect(shows()).toEqual(['a', 'awaiting']);
  });

  it('does not come back to a sale that the person at the till has left, during and after the next sale', async () => {
    const left = checkoutOf('left', { qr: null });
    const { display, show, shows } = await openDisplay([left]);
    expect(shows()).toEqual(['left', 'checking']);
    display.shown(tells(null));
    await vi.advanceTimersByTimeAsync(LATER_MS);
    expect(shows()).toBeNull();
    const next = checkoutOf('next');
    show(next, left);
    await vi.advanceTimersByTimeAsync(SOON_MS);
    expect(shows()).toEqual(['next', 'awaiting']);
    // The list has the open ones first.
    show(left, { ...next, status: 'paid', version: 2 });
    await vi.advanceTimersByTimeAsync(SOON_MS);
    expect(shows()).toEqual(['next', 'paid']);
    await vi.advanceTimersByTimeAsync(LATER_MS);
    expect(shows()).toBeNull();
    show({ ...left, version: 2 }, { ...next, status: 'paid', version: 2 });
    await vi.advanceTimersByTimeAsync(LATER_MS);
    expect(shows()).toBeNull();
  });

  it('shows the older sale that the till of its device shows, and keeps it', async () => {
    const old = checkoutOf('old', { created_at: '2026-11-24T09:00:00Z' });
    const { display, show, shows } = await openDisplay();
    display.shown(tells('old'));
    show(checkoutOf('new', { created_at: '2026-11-24T12:00:01Z' }), old);
    await vi.advanceTimersByTimeAsync(LATER_MS);
    expect(shows()).toEqual(['old', 'awaiting']);
  });

  it('shows an old sale while the customer can pay it, and not what was left long ago', async () => {
    const created_at = '2026-11-24T09:00:00Z';
    const { shows } = await openDisplay([
      checkoutOf('left', { created_at, qr: null }),
      checkoutOf('open', { created_at }),
    ]);
    expect(shows()).toEqual(['open', 'awaiting']);
  });

  it('is not misled by a list that is older than what it has removed', async () => {
    const awaiting = checkoutOf('a');
    const { display, server, shows } = await openDisplay([awaiting]);
    server.set({ ...awaiting, status: 'paid', version: 2 });
    await vi.advanceTimersByTimeAsync(1);
    display.shown(tells(null));
    await vi.advanceTimersByTimeAsync(SOON_MS);
    expect(shows()).toBeNull();
  });

  it('goes on when its link has ended and the till of its device has a new one', async () => {
    const memory = memoryOf({ 'tillflow.session': `"${TOKEN}"` });
    const { display, server, show, shows } = await openDisplay([], memory);
    server.ended.add(TOKEN);
    await vi.advanceTimersByTimeAsync(LATER_MS);
    expect(display.stage).toBe('closed');
    new Device(memory, memoryOf(), 'till').keepSession('tills_two', true);
    display.goOn();
    show(checkoutOf('a'));
    await vi.advanceTimersByTimeAsync(SOON_MS);
    expect(shows()).toEqual(['a', 'awaiting']);
  });

  it('does not go on with the session of another till', async () => {
    const memory = memoryOf({ 'tillflow.session': `"${TOKEN}"` });
    const { display, server } = await openDisplay([], memory);
    server.ended.add(TOKEN);
    await vi.advanceTimersByTimeAsync(LATER_MS);
    server.sessions.set('tills_other', { ...SESSION, terminal: 'till-2' });
    new Device(memory, memoryOf(), 'till').keepSession('tills_other', true);
    display.goOn();
    await vi.advanceTimersByTimeAsync(LATER_MS);
    expect(display.stage).toBe('closed');
  });

  it('shows the till whose session its address contains', async () => {
    const { display, server } = await openDisplay();
    server.sessions.set('tills_other', { ...SESSION, terminal: 'till-2' });
    void display.follow('tills_other');
    await vi.advanceTimersByTimeAsync(SOON_MS);
    expect([display.stage, display.session?.terminal]).toEqual(['ready', 'till-2']);
  });
});
