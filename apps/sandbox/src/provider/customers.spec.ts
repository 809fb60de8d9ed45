import { describe, expect, it } from 'vitest';
import type { CardJson, CustomerJson } from '../index.js';
import { openSandbox } from '../../test/harness.js';

const AT = '2026-03-10T09:00:00.000Z';

async function open() {
  const bench = await openSandbox({ seed: 's', now: AT, frozen: true });
  const seeded = bench.sandbox.seedRecords({
    customers: [
      { email: 'a@example.com', cards: [{ first_digits: '424242' }, { last_digits: '1111', brand: 'MasterCard' }] },
    ],
  });
  const [customer = ''] = seeded.customers;
  const [first = '', second = ''] = seeded.cards;
  const keys = (): string[] => bench.sandbox.state().events.map(({ key }) => key);
  return { ...bench, customer, first, second, keys, path: `/customers/${customer}/cards/${first}` };
}

describe('a card', () => {
  it('changes the given fields, keeps the others, and sends card.update', async () => {
    const { call, path, keys } = await open();
    const form = { name: 'Somsri', expiration_month: 1, expiration_year: 2030, postal_code: '10330', city: 'Bangkok' };
    const before = (await call<CardJson>('GET', path)).body;
    const { body } = await call<CardJson>('PATCH', path, { form: { ...form, last_digits: '0000' } });
    expect(body).toEqual({ ...before, ...form });
    expect((await call<CardJson>('PATCH', path, { form: { city: '' } })).body).toEqual({ ...body, city: null });
    expect(keys().slice(-2)).toEqual(['card.update', 'card.update']);
  });

  it.each([
    ['expiration_month', '0'],
    ['expiration_month', '13'],
    ['expiration_month', 'May'],
    ['expiration_year', '99'],
    ['name[a]', 'x'],
  ])('refuses %s=%s and does not change', async (name, value) => {
    const { call, path, sandbox } = await open();
    const before = sandbox.state(['cards', 'events']);
    const reply = await call('PATCH', path, { form: { city: 'Bangkok', [name]: value } });
    expect(reply).toMatchObject({ status: 400, body: { code: 'bad_request' } });
    expect(sandbox.state(['cards', 'events'])).toEqual(before);
  });

  it('that is deleted is 404, and the next card becomes the default', async () => {
    const { call, path, customer, first, second, keys } = await open();
    const { body } = await call<CardJson>('DELETE', path);
    expect(body).toMatchObject({ id: first, deleted: true });
    for (const method of ['GET', 'PATCH', 'DELETE']) expect((await call(method, path)).status).toBe(404);
    const left = (await call<CustomerJson>('GET', `/customers/${customer}`)).body;
    expect([left.default_card, left.cards.total]).toEqual([second, 1]);
    expect(keys().slice(-2)).toEqual(['card.destroy', 'customer.update']);
    await call('DELETE', `/customers/${customer}/cards/${second}`);
    expect((await call<CustomerJson>('GET', `/customers/${customer}`)).body.default_card).toBeNull();
  });

  it('that is deleted and was not the default does not change the default', async () => {
    const { call, customer, first, second, keys } = await open();
    await call('DELETE', `/customers/${customer}/cards/${second}`);
    expect((await call<CustomerJson>('GET', `/customers/${customer}`)).body.default_card).toBe(first);
    expect(keys().at(-1)).toBe('card.destroy');
  });

  it('of one customer is not found at another', async () => {
    const { call, sandbox, first } = await open();
    const { customers } = sandbox.seedRecords({ customers: [{}] });
    expect((await call('GET', `/customers/${customers[0]}/cards/${first}`)).status).toBe(404);
  });
});
