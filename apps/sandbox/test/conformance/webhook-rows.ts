import { createHmac } from 'node:crypto';
import { isObject, type JsonObject } from './kinds.js';
import { NotShown, type Received } from './provider.js';
import { EVENT } from './resources.js';
import { expect, expectKind, type Row } from './row.js';
import { idIn, recordsIn, type ChargeState, type Samples } from './samples.js';

const rule = (fact: string, shows: Row['shows']): Row => ({ fact, shows });
const TOLERANCE_SECONDS = 300;

const reports =
  (id: string, key: string) =>
  (event: JsonObject): boolean =>
    event['key'] === key && isObject(event['data']) && [event['data']['id'], event['data']['charge']].includes(id);

/** The webhook of a charge's completion, or of another kind. */
async function webhookOf(
  samples: Samples,
  state: ChargeState,
  key = 'charge.complete',
): Promise<{ id: string; received: Received; event: JsonObject }> {
  const receiver = await samples.provider.receiver();
  const id = idIn(await samples.newCharge(state));
  const received = await receiver.first(reports(id, key));
  return { id, received, event: JSON.parse(received.body) as JsonObject };
}

/** Source: API reference, "Events"; assumptions, "Webhook request", "Webhook signature", "webhook_deliveries[]". */
export const WEBHOOK_ROWS: readonly Row[] = [
  ...(
    [
      ['pending', 'charge.create'],
      ['successful', 'charge.complete'],
      ['failed', 'charge.complete'],
      ['expired', 'charge.expire'],
      ['refunded', 'refund.create'],
      ['voided', 'refund.create'],
    ] as const
  ).map(([state, key]) =>
    rule(`a charge that becomes ${state} sends ${key} to webhook_uri`, async (samples) => {
      const { event } = await webhookOf(samples, state, key);
      expect(event).toMatchObject({ object: 'event', key });
    }),
  ),
  rule('webhook_uri is set by PATCH /account and shown by it', async (samples) => {
    const { url } = await samples.provider.receiver();
    expect((await samples.provider.record('GET', '/account'))['webhook_uri']).toBe(url);
  }),
  rule('the body is the event, every field of it', async (samples) =>
    expectKind((await webhookOf(samples, 'successful')).event, EVENT, 'event'),
  ),
  rule('the content type is JSON', async (samples) => {
    const { received } = await webhookOf(samples, 'successful');
    expect(received.headers['content-type']).toMatch(/^application\/json\b/);
  }),
  ...(['successful', 'failed'] as const).map((state) =>
    rule(`its status equals that of the retrieved charge: ${state}`, async (samples) => {
      const { id, event } = await webhookOf(samples, state);
      const { status } = await samples.provider.record('GET', `/charges/${id}`);
      expect(event['data']).toMatchObject({ id, object: 'charge', status });
      expect(status).toBe(state);
    }),
  ),
  rule('the event is retrieved by its id, with the delivery that brought it', async (samples) => {
    const { event } = await webhookOf(samples, 'successful');
    const { url } = await samples.provider.receiver();
    const found = await samples.provider.record('GET', `/events/${idIn(event)}`);
    expect(found).toMatchObject({ id: event['id'], key: event['key'], data: event['data'] });
    const deliveries = found['webhook_deliveries'] as readonly JsonObject[];
    expect(deliveries[0]).toMatchObject({
      object: 'webhook_delivery',
      uri: url,
      status: 200,
      key: 'charge.complete',
      error: null,
      payload: { id: event['id'] },
    });
  }),
  rule('the signature is HMAC-SHA256 in hex over "<timestamp>.<raw body>" with the decoded secret', async (samples) => {
    const { received } = await webhookOf(samples, 'successful');
    const signature = header(received, 'webhook-signature');
    const timestamp = header(received, 'webhook-signature-timestamp');
    const secrets = (samples.provider.where.webhookSecret ?? '').split(',');
    const expected = secrets.map((secret) =>
      createHmac('sha256', Buffer.from(secret, 'base64')).update(`${timestamp}.${received.body}`).digest('hex'),
    );
    expect(signature).toMatch(/^[0-9a-f]{64}(?:,[0-9a-f]{64})*$/);
    expect(signature.split(',')).toContain(expected[0]);
  }),
  rule('its timestamp is in unix seconds, within five minutes of the wall clock', async (samples) => {
    const { received } = await webhookOf(samples, 'successful');
    const timestamp = header(received, 'webhook-signature-timestamp');
    expect(timestamp).toMatch(/^\d{10}$/);
    expect(Math.abs(Date.now() / 1_000 - Number(timestamp))).toBeLessThan(TOLERANCE_SECONDS);
  }),
  rule('webhook_endpoints of a charge receive its events as well', async (samples) => {
    const receiver = await samples.provider.receiver();
    const endpoint = `${receiver.url}-of-charge`;
    const form = { amount: 2_000, currency: 'THB', 'source[type]': 'wallet_mpm', 'webhook_endpoints[]': endpoint };
    const id = idIn(await samples.provider.record('POST', '/charges', { form }));
    await receiver.first((event, index) => reports(id, 'charge.create')(event) && pathOf(receiver, index) === endpoint);
    await receiver.first(
      (event, index) => reports(id, 'charge.create')(event) && pathOf(receiver, index) === receiver.url,
    );
  }),
  rule('an event without a 2xx answer is sent again, and both tries are in webhook_deliveries', async (samples) => {
    const { provider } = samples;
    const receiver = await provider.receiver();
    if (!(await provider.hasControl())) throw new NotShown('when it is sent again is unknown');
    await provider.standAt(await provider.middayAfter());
    receiver.answerWith(503);
    const id = idIn(await samples.newCharge('pending'));
    const first = await receiver.first(reports(id, 'charge.create'));
    receiver.answerWith(200);
    const { id: eventId } = JSON.parse(first.body) as { id: string };
    const tries = async (): Promise<readonly JsonObject[]> => {
      const event = await provider.record('GET', `/events/${eventId}`);
      return event['webhook_deliveries'] as readonly JsonObject[];
    };
    await expect.poll(async () => (await tries()).length).toBe(1);
    await provider.advance(3_600);
    await expect.poll(async () => (await tries()).map(({ status }) => status)).toEqual([503, 200]);
    const sent = receiver.received.filter(({ body }) => body === first.body);
    expect(sent).toHaveLength(2);
  }),
  rule('an event that was received is in the list of events', async (samples) => {
    const { event } = await webhookOf(samples, 'successful');
    const list = await samples.provider.record('GET', '/events', { query: { order: 'reverse_chronological' } });
    expect(recordsIn(list).map(({ id }) => id)).toContain(event['id']);
  }),
];

function header({ headers }: Received, name: string): string {
  const value = headers[name];
  if (typeof value !== 'string') throw new TypeError(`no header ${name}`);
  return value;
}

function pathOf(receiver: { readonly received: readonly Received[]; readonly url: string }, index: number): string {
  return new URL(receiver.received[index]?.path ?? '/', receiver.url).href;
}
