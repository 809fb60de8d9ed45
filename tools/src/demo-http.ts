import { setTimeout as sleep } from 'node:timers/promises';

const changeWithinMs = 45_000;
const pollMs = 150;

export interface Checkout {
  readonly id: string;
  readonly reference: string;
  readonly status: string;
  readonly amount: number;
  readonly currency: string;
  readonly attempts: readonly { readonly charge_id: string | null; readonly failure_code: string | null }[];
  readonly qr: { readonly image_url: string; readonly raw_data: string | null; readonly expires_at: string } | null;
  readonly paid_at: string | null;
  readonly voidable_until: string | null;
  readonly refundable_until: string | null;
}

export interface Timeline {
  readonly data: readonly {
    readonly at: string;
    readonly what: string;
    readonly detail?: string;
    readonly by?: string;
  }[];
}

export interface Refund {
  readonly id: string | null;
  readonly kind: string;
  readonly status: string;
}

export interface Reconciliation {
  readonly status: string;
  readonly breaks: readonly {
    readonly type: string;
    readonly checkout_id: string | null;
    readonly refund_id: string | null;
    readonly healed: boolean;
  }[];
}

export interface SandboxState {
  readonly charges: readonly { readonly metadata: Readonly<Record<string, string>> }[];
  readonly deliveries: readonly { readonly key: string; readonly status: number | null }[];
}

/** Sends JSON and reads a JSON reply. @throws {Error} for a status of 400 or above. */
export async function exchange<Reply>(
  method: string,
  url: string,
  headers: Record<string, string> = {},
  body?: object,
): Promise<Reply> {
  const { status, text } = await request(url, method, headers, body);
  if (status >= 400) throw new Error(`${method} ${url} answered ${status}: ${text}`);
  return (text === '' ? {} : JSON.parse(text)) as Reply;
}

/** Sends JSON and reads the reply, whatever its status is. */
export async function request(
  url: string,
  method: string,
  headers: Record<string, string>,
  body?: object,
): Promise<{ readonly status: number; readonly text: string }> {
  const json =
    body === undefined
      ? {}
      : { body: JSON.stringify(body), headers: { 'content-type': 'application/json', ...headers } };
  const response = await fetch(url, { method, headers, ...json, signal: AbortSignal.timeout(30_000) });
  return { status: response.status, text: await response.text() };
}

/** Polls until `read` returns something. @throws {Error} after 45 s, with `what` was awaited. */
export async function until<Found>(what: string, read: () => Promise<Found | undefined>): Promise<Found> {
  const deadline = Date.now() + changeWithinMs;
  for (;;) {
    const found = await read();
    if (found !== undefined) return found;
    if (Date.now() > deadline) throw new Error(`Waited ${changeWithinMs / 1000} s for ${what}.`);
    await sleep(pollMs);
  }
}

/** Reads an answer that is text. @throws {Error} for a status of 400 or above. */
export async function readText(url: string, headers: Record<string, string>): Promise<string> {
  const { status, text } = await request(url, 'GET', { accept: 'text/plain', ...headers });
  if (status >= 400) throw new Error(`GET ${url} answered ${status}: ${text}`);
  return text;
}

export function money({ amount, currency }: { readonly amount: number; readonly currency: string }): string {
  return new Intl.NumberFormat('en', { style: 'currency', currency, currencyDisplay: 'code' })
    .format(amount / 100)
    .replaceAll('\u00A0', ' ');
}

/** A time to the second, UTC. @param instant ISO 8601 UTC. */
export function clock(instant: string | null): string {
  return instant === null ? '(never)' : instant.replace('T', ' ').replace(/(\.\d+)?Z$/, ' UTC');
}
