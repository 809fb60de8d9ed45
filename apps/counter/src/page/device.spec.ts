import { describe, expect, it } from 'vitest';
import { memoryOf } from '../testing/fakes.js';
import { Device, NO_MEMORY, type Memory, type StoredSale } from './device.js';
import { newReference } from './reference.js';

const SALE: StoredSale = { reference: 'a', amount: 1, currency: 'THB', note: '', startedAt: 1, id: null };

const deviceOf = (memory: Memory, own = memoryOf()): Device => new Device(memory, own, 'till');

describe('Device', () => {
  it('keeps the sale of each till, until it is finished', () => {
    const device = deviceOf(memoryOf());
    device.keepSale('/till-1', SALE);
    expect([device.sale('/till-1'), device.sale('/till-2')]).toEqual([SALE, null]);
    device.keepSale('/till-1', null);
    expect(device.sale('/till-1')).toBeNull();
  });

  it.each(['', '{', 'null', '7', '{"reference":"a"}', JSON.stringify({ ...SALE, amount: 1.5 })])(
    'finds no sale in the damaged text %j',
    (text) => {
      expect(deviceOf(memoryOf({ 'tillflow.sale./till-1': text })).sale('/till-1')).toBeNull();
    },
  );

  it('says that it cannot keep a sale, and goes on without a choice that it cannot keep', () => {
    const device = deviceOf(NO_MEMORY, NO_MEMORY);
    expect(() => device.keepSale('/till-1', SALE)).toThrow('forbids');
    expect(() => device.choose('language', 'th')).not.toThrow();
    expect(() => device.keepSession('tills_one', true)).not.toThrow();
  });

  it('gives each window its own session after a reload, and a new window the one of the newest link', () => {
    const memory = memoryOf();
    const [first, second] = [memoryOf(), memoryOf()];
    deviceOf(memory, first).keepSession('tills_one', true);
    deviceOf(memory, second).keepSession('tills_two', true);
    deviceOf(memory, first).keepSession('tills_one', false);
    const sessions = [first, second, memoryOf()].map((own) => deviceOf(memory, own).session);
    expect(sessions).toEqual(['tills_one', 'tills_two', 'tills_two']);
  });

  it('does not open the till on a device that only shows', () => {
    const memory = memoryOf();
    new Device(memory, memoryOf(), 'display').keepSession('tills_one', true);
    expect(deviceOf(memory).session).toBeNull();
    expect(new Device(memory, memoryOf(), 'display').session).toBe('tills_one');
  });

  it("shows the till of its device, and after the end of the customer screen's own session too", () => {
    const memory = memoryOf();
    deviceOf(memory).keepSession('tills_one', true);
    const display = new Device(memory, memoryOf(), 'display');
    display.keepSession('tills_two', true);
    expect(display.session).toBe('tills_two');
    display.forgetSession();
    expect([display.session, deviceOf(memory).session]).toEqual(['tills_one', 'tills_one']);
  });
});

describe('newReference', () => {
  it('names the till and the day, and is accepted by the API whatever the name of the till', () => {
    const reference = newReference('Kasse 1 / vorne ä'.repeat(9), Date.parse('2026-11-24T23:59:59Z'));
    expect(reference).toMatch(/^Kasse-1-vorne-[A-Za-z0-9._-]+-261124-[a-z2-7]{10}$/);
    expect(reference.length).toBeLessThanOrEqual(64);
    expect(newReference('till-1', 0)).not.toBe(newReference('till-1', 0));
  });
});
