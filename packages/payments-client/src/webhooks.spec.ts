import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { eventOf } from '../test/provider.js';
import { type WebhookHeaders, type WebhookRefusal, webhooks, WebhookVerificationError } from './webhooks.js';

const secret = Buffer.from('a webhook secret of some length').toString('base64');
const other = Buffer.from('another secret').toString('base64');
const body = JSON.stringify(eventOf());
const timestamp = 1_749_427_200;
const now = timestamp * 1000;
const headers = webhooks.sign(body, { secret, timestamp });
const signature = headers['Webhook-Signature'] ?? '';

function reasonOf(call: () => unknown): WebhookRefusal | undefined {
  try {
    call();
    return undefined;
  } catch (error) {
    if (error instanceof WebhookVerificationError) return error.reason;
    throw error;
  }
}

const construct = (given: WebhookHeaders, options: object = {}, raw: string | Uint8Array = body): unknown =>
  webhooks.construct(raw, given, { secrets: [secret], now, ...options });

describe('webhooks.construct', () => {
  test('expects the signature HMAC-SHA256 over "<timestamp>.<body>" with the decoded secret, in hex', () => {
    const key = Buffer.from(secret, 'base64');
    expect(headers).toEqual({
      'Webhook-Signature': createHmac('sha256', key).update(`${timestamp}.${body}`).digest('hex'),
      'Webhook-Signature-Timestamp': String(timestamp),
    });
  });

  test('reads a signed event, synchronously, from text or bytes', () => {
    expect(construct(headers)).toMatchObject({ object: 'event', key: 'charge.complete', data: { id: 'chrg_test_1' } });
    expect(construct(headers, {}, Buffer.from(body))).toMatchObject({ id: 'evnt_test_1' });
  });

  test('verifies the bytes and not their text: a signed body that is not UTF-8 fails only as body_malformed', () => {
    const bytes = Uint8Array.from([0xff, 0xfe, 0x7b]);
    const signed = webhooks.sign(bytes, { secret, timestamp });
    expect(reasonOf(() => construct(signed, {}, bytes))).toBe('body_malformed');
    expect(reasonOf(() => construct(signed, {}, Buffer.from(bytes).toString()))).toBe('signature_mismatch');
  });

  test('accepts either secret and either signature while a secret is rotated', () => {
    const second = webhooks.sign(body, { secret: other, timestamp })['Webhook-Signature'] ?? '';
    const both = { ...headers, 'Webhook-Signature': `${second}, ${signature}` };
    expect(construct(headers, { secrets: [other, secret] })).toMatchObject({ id: 'evnt_test_1' });
    expect(construct(both)).toMatchObject({ id: 'evnt_test_1' });
    expect(construct(both, { secrets: [other] })).toMatchObject({ id: 'evnt_test_1' });
    expect(reasonOf(() => construct(headers, { secrets: [other] }))).toBe('signature_mismatch');
  });

  test.each<[string, WebhookHeaders]>([
    ['lower case', { 'webhook-signature': signature, 'webhook-signature-timestamp': String(timestamp) }],
    ['upper case', { 'WEBHOOK-SIGNATURE': signature, 'WEBHOOK-SIGNATURE-TIMESTAMP': String(timestamp) }],
    [
      'arrays',
      { 'webhook-signature': ['0'.repeat(64), signature], 'webhook-signature-timestamp': [String(timestamp)] },
    ],
    ['a fetch Headers object', new Headers(headers)],
    ['pairs', Object.entries(headers)],
    ['upper-case hex', { ...headers, 'Webhook-Signature': signature.toUpperCase() }],
    ['a stray comma', { ...headers, 'Webhook-Signature': `,${signature},` }],
  ])('reads headers as %s', (_, given) => {
    expect(construct(given)).toMatchObject({ id: 'evnt_test_1' });
  });

  test('accepts a body with two signatures when it knows one of the secrets', () => {
    const rotated = webhooks.sign(body, { secret: [other, secret], timestamp });
    expect(rotated['Webhook-Signature']).toMatch(/^[0-9a-f]{64},[0-9a-f]{64}$/);
    for (const secrets of [[secret], [other]])
      expect(construct(rotated, { secrets })).toMatchObject({ object: 'event' });
    const unknown = Buffer.from('a third secret').toString('base64');
    expect(reasonOf(() => construct(rotated, { secrets: [unknown] }))).toBe('signature_mismatch');
  });

  test('reads other header names only when they are set', () => {
    const names = { signatureHeader: 'X-Sig', timestampHeader: 'X-Time' };
    const signed = webhooks.sign(body, { secret, timestamp, ...names });
    expect(Object.keys(signed)).toEqual(['X-Sig', 'X-Time']);
    expect(construct(signed, names)).toMatchObject({ object: 'event' });
    const lowerCase = { signatureHeader: 'x-sig', timestampHeader: 'x-time' };
    expect(construct(signed, lowerCase)).toMatchObject({ object: 'event' });
    expect(reasonOf(() => construct(signed))).toBe('signature_missing');
  });

  test('applies the tolerance both ways, to the second', () => {
    for (const seconds of [-300, 0, 300]) {
      expect(construct(headers, { now: now + seconds * 1000 })).toMatchObject({ object: 'event' });
    }
    for (const ms of [-300_001, 300_001, -86_400_000, Number.NaN]) {
      expect(reasonOf(() => construct(headers, { now: now + ms }))).toBe('timestamp_out_of_tolerance');
    }
    expect(construct(headers, { now: now + 900_000, toleranceSeconds: 900 })).toMatchObject({ object: 'event' });
    expect(reasonOf(() => construct(headers, { now: now + 1, toleranceSeconds: 0 }))).toBe(
      'timestamp_out_of_tolerance',
    );
    expect(reasonOf(() => construct(headers, { toleranceSeconds: Number.NaN }))).toBe('timestamp_out_of_tolerance');
  });

  test('uses the wall clock without now', () => {
    const fresh = webhooks.sign(body, { secret, timestamp: Math.floor(Date.now() / 1000) });
    expect(webhooks.construct(body, fresh, { secrets: [secret] })).toMatchObject({ object: 'event' });
    expect(reasonOf(() => webhooks.construct(body, headers, { secrets: [secret] }))).toBe('timestamp_out_of_tolerance');
  });

  test.each<[string, WebhookHeaders, WebhookRefusal]>([
    ['no signature', { 'webhook-signature-timestamp': '1' }, 'signature_missing'],
    ['an empty signature', { ...headers, 'Webhook-Signature': ' , ' }, 'signature_missing'],
    ['a signature that is not hex', { ...headers, 'Webhook-Signature': 'z'.repeat(64) }, 'signature_malformed'],
    ['a short signature', { ...headers, 'Webhook-Signature': signature.slice(2) }, 'signature_malformed'],
    ['a long signature', { ...headers, 'Webhook-Signature': `${signature}00` }, 'signature_malformed'],
    ['no timestamp', { 'webhook-signature': signature }, 'timestamp_missing'],
    [
      'a timestamp in ISO 8601',
      { ...headers, 'Webhook-Signature-Timestamp': '2025-06-09T00:00:00Z' },
      'timestamp_malformed',
    ],
    ['a negative timestamp', { ...headers, 'Webhook-Signature-Timestamp': '-5' }, 'timestamp_malformed'],
    ['a fractional timestamp', { ...headers, 'Webhook-Signature-Timestamp': '1749427200.5' }, 'timestamp_malformed'],
    ['an exponent', { ...headers, 'Webhook-Signature-Timestamp': '1e9' }, 'timestamp_malformed'],
    [
      'two timestamps',
      { 'webhook-signature': signature, 'webhook-signature-timestamp': [String(timestamp), '1'] },
      'timestamp_malformed',
    ],
    ['another timestamp', { ...headers, 'Webhook-Signature-Timestamp': String(timestamp + 1) }, 'signature_mismatch'],
  ])('refuses %s', (_, given, reason) => {
    expect(reasonOf(() => construct(given))).toBe(reason);
  });

  test.each([[[]], [['']], [[secret, '']], [['!!!']]])(
    'refuses the secrets %j: anyone could sign with an empty key',
    (secrets) => {
      const forged = { 'webhook-signature': createHmac('sha256', '').update(`${timestamp}.${body}`).digest('hex') };
      const given = { ...forged, 'webhook-signature-timestamp': String(timestamp) };
      expect(reasonOf(() => construct(given, { secrets }))).toBe('no_secret');
    },
  );

  test('refuses a parsed body with its own reason', () => {
    // @ts-expect-error a caller without types
    expect(reasonOf(() => construct(headers, {}, eventOf()))).toBe('body_not_raw');
  });

  test.each(['', 'null', '[]', '{"object":"charge"}', '{"object":"event","id":"e"}'])(
    'refuses a signed body that is not an event: %j',
    (raw) => {
      expect(reasonOf(() => construct(webhooks.sign(raw, { secret, timestamp }), {}, raw))).toBe('body_malformed');
    },
  );

  test('refuses a body in which any byte is changed', () => {
    const bytes = Buffer.from(body);
    fc.assert(
      fc.property(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }), (at, mask) => {
        const tampered = Uint8Array.from(bytes);
        tampered[at] = (tampered[at] ?? 0) ^ mask;
        expect(reasonOf(() => construct(headers, {}, tampered))).toBe('signature_mismatch');
      }),
    );
  });

  test('shows no secret in a refusal', () => {
    for (const given of [headers, {}, { ...headers, 'Webhook-Signature': '0'.repeat(64) }]) {
      try {
        construct(given, { secrets: [other] });
      } catch (error) {
        expect(`${String(error)}${JSON.stringify(error)}`).not.toContain(other);
      }
    }
  });
});
