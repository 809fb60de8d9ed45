import { describe, expect, it } from 'vitest';
import { Device, type StoredSale } from './device.js';
import { newReference } from './reference.js';

const SALE: StoredSale = { reference: 'a', amount: 1, currency: 'THB', note: '', startedAt: 1, id: null };

function memory(stored: Record<string, string> = {}) {
  const texts = new Map(Object.entries(stored));
  return {
    getItem: (name: string) => texts.get(name) ?? null,
    setItem: (name: string, text: string) => void texts.set(name, text),
    removeItem: (name: string) => void texts.delete(name),
  };
}

describe('Device', () => {
  it('keeps the sale of each till, until it is finished', () => {
    const device = new Device(memory());
    device.keepSale('/till-1', SALE);
    expect([device.sale('/till-1'), device.sale('/till-2')]).toEqual([SALE, null]);
    device.keepSale('/till-1', null);
    expect(device.sale('/till-1')).toBeNull();
  });

  it.each(['', '{', 'null', '7', '{"reference":"a"}', JSON.stringify({ ...SALE, amount: 1.5 })])(
    'finds no sale in the damaged text %j',
    (text) => {
      expect(new Device(memory({ 'tillflow.sale./till-1': text })).sale('/till-1')).toBeNull();
    },
  );

  it('says that it cannot keep a sale, and goes on without a choice that it cannot keep', () => {
    const full = {
      ...memory(),
      setItem: () => {
        throw new Error('full');
      },
    };
    const device = new Device(full);
    expect(() => device.keepSale('/till-1', SALE)).toThrow('full');
    expect(() => device.choose('language', 'th')).not.toThrow();
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
