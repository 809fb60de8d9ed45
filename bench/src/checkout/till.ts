import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiClient, CheckoutJson } from './api-client.js';

/** 200 bytes, names included, as the target for the history's size says. */
const METADATA = { order: 'o'.repeat(95), cashier: 'c'.repeat(93) } as const;
const LOOK_AGAIN_MS = 20;
const WITHIN_MS = 60_000;

export function newReference(): string {
  return `bench-${randomUUID()}`;
}

/** The bench's checkout: THB 1,500.00, 200 bytes of metadata. Another `expires_in` than the default is in seconds. */
function checkoutOf(reference: string, expiresIn?: number): object {
  return {
    reference,
    amount: 150_000,
    currency: 'THB',
    description: 'Coffee',
    metadata: METADATA,
    terminal: 'till-7',
    ...(expiresIn !== undefined && { expires_in: expiresIn }),
  };
}

/** Asks for a checkout and waits for its QR. An answer that comes without it (202) is followed by looking. */
export async function openCheckout(api: ApiClient, reference: string, expiresIn?: number): Promise<CheckoutJson> {
  const { status, body } = await api.post('/v1/checkouts', checkoutOf(reference, expiresIn));
  if (status === 201 && body.qr !== null) return body;
  if (status !== 202) throw new Error(`POST /v1/checkouts answered ${status}`);
  return untilCheckout(api, body.id, ({ qr }) => qr !== null);
}

/** Reads the checkout until it is as wanted. @throws {Error} when it is not in time. */
export async function untilCheckout(
  api: ApiClient,
  id: string,
  wanted: (checkout: CheckoutJson) => boolean,
  withinMs = WITHIN_MS,
): Promise<CheckoutJson> {
  const end = Date.now() + withinMs;
  for (;;) {
    const { status, body } = await api.get(`/v1/checkouts/${id}`);
    if (status === 200 && wanted(body)) return body;
    if (Date.now() > end) throw new Error(`${id} is not as wanted: ${status} ${body?.status}`);
    await sleep(LOOK_AGAIN_MS);
  }
}

export function chargeOf({ attempts }: CheckoutJson): string {
  const id = attempts[0]?.charge_id ?? null;
  if (id === null) throw new Error('The checkout has no charge');
  return id;
}
