import { NotShown } from './provider.js';
import { at, expect, expectRefusal, type Row } from './row.js';
import { idIn, NEW_CHARGE, recordsIn, type Samples, timeIn } from './samples.js';

const rule = (fact: string, shows: Row['shows']): Row => ({ fact, shows });
const DAY_MS = 86_400_000;

/** An hour of the day after today, by the provider's clock. */
async function tomorrowAt(samples: Samples, time: string): Promise<Date> {
  const midday = await samples.provider.middayAfter();
  return new Date(`${midday.toISOString().slice(0, 10)}T${time}Z`);
}

async function paidAt(samples: Samples, instant: Date): Promise<string> {
  await samples.provider.standAt(instant);
  return idIn(await samples.newCharge('successful'));
}

async function refund(samples: Samples, id: string, form: { amount: number; void?: boolean }) {
  return await samples.provider.call('POST', `/charges/${id}/refunds`, { form });
}

const later = (instant: Date, ms: number): Date => new Date(instant.getTime() + ms);

/** Source: API reference, "Void and refund rules", "Limits"; assumptions, "Void window", "expires_at". */
export const WINDOW_ROWS: readonly Row[] = [
  rule('a charge paid before 16:15 UTC can be voided until 16:14:59.999', async (samples) => {
    const cutOff = await tomorrowAt(samples, '16:15:00.000');
    const id = await paidAt(samples, later(cutOff, -3_600_000));
    await samples.provider.standAt(later(cutOff, -1));
    expect((await samples.provider.record('GET', `/charges/${id}`))['can_perform_void']).toBe(true);
    expect((await refund(samples, id, { amount: 150_000, void: true })).status).toBe(200);
  }),
  rule('at 16:15:00.000 UTC it can no longer be voided: 400 failed_void', async (samples) => {
    const cutOff = await tomorrowAt(samples, '16:15:00.000');
    const id = await paidAt(samples, later(cutOff, -3_600_000));
    await samples.provider.standAt(cutOff);
    expect((await samples.provider.record('GET', `/charges/${id}`))['can_perform_void']).toBe(false);
    expectRefusal(await refund(samples, id, { amount: 150_000, void: true }), 400, 'failed_void');
  }),
  rule('a refund is still possible when the void window has closed', async (samples) => {
    const id = await paidAt(samples, await tomorrowAt(samples, '16:00:00.000'));
    await samples.provider.standAt(await tomorrowAt(samples, '01:00:00.000'));
    expect((await refund(samples, id, { amount: 150_000 })).record).toMatchObject({ voided: false });
  }),
  rule('a charge paid at 16:14:59.999 UTC has a void window', async (samples) => {
    const id = await paidAt(samples, await tomorrowAt(samples, '16:14:59.999'));
    expect((await samples.provider.record('GET', `/charges/${id}`))['can_perform_void']).toBe(true);
  }),
  rule('a charge paid at 16:15:00.000 UTC has none, though it is refundable', async (samples) => {
    const id = await paidAt(samples, await tomorrowAt(samples, '16:15:00.000'));
    expect(await samples.provider.record('GET', `/charges/${id}`)).toMatchObject({
      can_perform_void: false,
      refundable: true,
    });
  }),
  rule('a charge paid at 23:59 UTC cannot be voided on the next day', async (samples) => {
    const id = await paidAt(samples, await tomorrowAt(samples, '23:59:00.000'));
    await samples.provider.standAt(await tomorrowAt(samples, '10:00:00.000'));
    expectRefusal(await refund(samples, id, { amount: 150_000, void: true }), 400, 'failed_void');
  }),

  rule('a charge is pending one millisecond before its expires_at', async (samples) => {
    const { provider } = samples;
    await provider.standAt(await provider.middayAfter());
    const charge = await samples.newCharge('pending');
    await provider.standAt(later(new Date(timeIn(charge, 'expires_at')), -1));
    expect((await provider.record('GET', `/charges/${idIn(charge)}`))['status']).toBe('pending');
  }),
  rule('an unpaid charge is expired at its expires_at, and the event is charge.expire', async (samples) => {
    const { provider } = samples;
    await provider.standAt(await provider.middayAfter());
    const due = later(await provider.now(), 90_000).toISOString();
    const id = idIn(await provider.record('POST', '/charges', { form: { ...NEW_CHARGE, expires_at: due } }));
    await provider.advance(120);
    const charge = await provider.record('GET', `/charges/${id}`);
    expect(charge).toMatchObject({
      status: 'expired',
      expired: true,
      paid: false,
      failure_code: null,
      source: { charge_status: 'expired' },
    });
    expect(timeIn(charge, 'expired_at')).toBe(Date.parse(due));
    const [event] = recordsIn(
      await provider.record('GET', `/charges/${id}/events`, { query: { order: 'reverse_chronological' } }),
    );
    expect(event).toMatchObject({ key: 'charge.expire', data: { id, status: 'expired' } });
  }),
  rule('a paid charge does not expire', async (samples) => {
    const { provider } = samples;
    await provider.standAt(await provider.middayAfter());
    const charge = await samples.newCharge('successful');
    await provider.standAt(later(new Date(timeIn(charge, 'expires_at')), 1));
    expect(await provider.record('GET', `/charges/${idIn(charge)}`)).toMatchObject({
      status: 'successful',
      expired: false,
      expired_at: null,
    });
  }),
  rule('an expires_at in the past is 400', async ({ provider }) =>
    expectRefusal(
      await provider.call('POST', '/charges', { form: { ...NEW_CHARGE, expires_at: '2001-01-01T00:00:00Z' } }),
      400,
      null,
    ),
  ),
];

/** These leap by years, so they come last. Source: API reference, "Limits"; assumption, "Refund window". */
export const YEAR_ROWS: readonly Row[] = [
  rule('a charge can be refunded one year to the millisecond after its payment', async (samples) => {
    const paid = await tomorrowAt(samples, '12:00:00.000');
    const id = await paidAt(samples, paid);
    const end = new Date(paid);
    end.setUTCFullYear(paid.getUTCFullYear() + 1);
    // 29 February has a rule of its own, below.
    if (end.getUTCDate() !== paid.getUTCDate()) throw new NotShown('today is a leap day');
    await samples.provider.standAt(end);
    expect((await samples.provider.record('GET', `/charges/${id}`))['refundable']).toBe(true);
    expect((await refund(samples, id, { amount: 1_000 })).status).toBe(200);
  }),
  rule('one millisecond later it cannot: 400 failed_refund', async (samples) => {
    const paid = await tomorrowAt(samples, '12:00:00.000');
    const id = await paidAt(samples, paid);
    const end = new Date(paid);
    end.setUTCFullYear(paid.getUTCFullYear() + 1);
    await samples.provider.standAt(later(end, 1));
    const charge = await samples.provider.record('GET', `/charges/${id}`);
    expect(charge).toMatchObject({ refundable: false, partially_refundable: false, status: 'successful' });
    expectRefusal(await refund(samples, id, { amount: 1_000 }), 400, 'failed_refund');
    expect(at(await samples.provider.record('GET', `/charges/${id}`), 'refunded_amount')).toBe(0);
  }),
  rule('the year of a payment on 29 February ends on 28 February', async (samples) => {
    const now = await samples.provider.now();
    let year = now.getUTCFullYear() + 1;
    while (new Date(Date.UTC(year, 1, 29)).getUTCDate() !== 29) year += 1;
    const id = await paidAt(samples, new Date(Date.UTC(year, 1, 29, 12)));
    const end = new Date(Date.UTC(year + 1, 1, 28, 12));
    await samples.provider.standAt(end);
    expect((await refund(samples, id, { amount: 1_000 })).status).toBe(200);
    await samples.provider.standAt(later(end, 1));
    expectRefusal(await refund(samples, id, { amount: 1_000 }), 400, 'failed_refund');
    expect(later(end, 1).getTime() - end.getTime()).toBeLessThan(DAY_MS);
  }),
];
