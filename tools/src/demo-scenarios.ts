import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

import type { Stack } from './stack.js';

const newsWithinMs = 45_000;
const pollMs = 150;

interface Checkout {
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

interface Timeline {
  readonly data: readonly {
    readonly at: string;
    readonly what: string;
    readonly detail?: string;
    readonly by?: string;
  }[];
}

interface Refund {
  readonly id: string | null;
  readonly kind: string;
  readonly status: string;
}

interface Reconciliation {
  readonly status: string;
  readonly breaks: readonly {
    readonly type: string;
    readonly checkout_id: string | null;
    readonly refund_id: string | null;
    readonly healed: boolean;
  }[];
}

interface SandboxState {
  readonly charges: readonly { readonly metadata: Readonly<Record<string, string>> }[];
  readonly deliveries: readonly { readonly key: string; readonly status: number | null }[];
}

/**
 * Five checkouts and their endings, by HTTP only: paid and refunded, expired, failed, paid although an answer was lost,
 * refunded behind our back; then what an operator sees of them.
 * @throws {Error} at the first surprise.
 */
export async function runScenarios(stack: Stack, print: (line: string) => void): Promise<void> {
  const till = new Till(stack, print);
  await till.paid();
  await till.expired();
  await till.failed();
  await till.lostAnswer();
  await till.reconciled();
  till.listed(await stack.tillflow('list'));
  print('');
  if (stack.temporal.uiUrl !== undefined) print(`Temporal UI   ${stack.temporal.uiUrl} (until this demo stops)`);
  print(`API           ${stack.apiUrl}/docs`);
}

class Till {
  readonly #apiUrl: string;
  readonly #sandboxUrl: string;
  readonly #uiUrl: string | undefined;
  readonly #key: string;
  readonly #operatorKey: string;
  readonly #providerKey: string | undefined;
  readonly #print: (line: string) => void;
  /** So that a Temporal server that is kept can be used again. */
  readonly #run = randomBytes(3).toString('hex');

  constructor(stack: Stack, print: (line: string) => void) {
    const [key, operatorKey] = ['checkout', 'ops'].map((wanted) =>
      stack.settings.madeUpKeys.find(({ role }) => role === wanted),
    );
    if (stack.sandboxUrl === undefined || key === undefined || operatorKey === undefined)
      throw new Error('The demo needs its own sandbox and keys.');
    this.#apiUrl = stack.apiUrl;
    this.#sandboxUrl = stack.sandboxUrl;
    this.#uiUrl = stack.temporal.uiUrl;
    this.#key = key.secret;
    this.#operatorKey = operatorKey.secret;
    this.#providerKey = stack.settings.providerKeys['PROVIDER_SECRET_KEY'];
    this.#print = print;
  }

  async paid(): Promise<void> {
    this.#title('1. A customer pays, and gets some of it back');
    const opened = await this.#open('paid', 150_000);
    await this.#readQrImage(opened);
    await this.#askAgain(opened);

    await this.#mark(opened, { status: 'successful' });
    this.#step('customer', 'paid in the wallet (the sandbox plays the customer)');
    await this.#webhookArrived();
    const paid = await this.#until(opened, 'paid');
    this.#step('paid', `at ${clock(paid.paid_at)}`);
    this.#step('', `can be voided until ${clock(paid.voidable_until)}, refunded until ${clock(paid.refundable_until)}`);

    await this.#refund(opened, 50_000);
    await this.#until(opened, 'partially_refunded');
    await this.#timeline(opened);
  }

  async expired(): Promise<void> {
    this.#title('2. Nobody pays');
    const opened = await this.#open('expired', 8_900, { expires_in: 5 });
    this.#step('waiting', 'the QR code lives for 5 seconds');
    await this.#until(opened, 'expired');
    this.#step('expired', 'nothing was paid, and the QR code takes no payment any more');
    await this.#timeline(opened);
  }

  async failed(): Promise<void> {
    this.#title('3. The payment fails');
    const opened = await this.#open('failed', 42_050);
    await this.#mark(opened, { status: 'failed', failure_code: 'insufficient_fund' });
    this.#step('customer', 'has not enough money');
    const failed = await this.#until(opened, 'failed');
    this.#step('failed', `${failed.attempts.at(-1)?.failure_code ?? 'no code'}, as the provider says`);
    await this.#timeline(opened);
  }

  async lostAnswer(): Promise<void> {
    this.#title('4. The connection breaks right after the provider made the charge');
    await exchange('POST', `${this.#sandboxUrl}/__sandbox/faults`, {}, [
      { method: 'POST', path: '/charges', action: 'commit_then_reset', times: 1 },
    ]);
    const opened = await this.#open('lost-answer', 20_000);
    const { charges } = await exchange<SandboxState>('GET', `${this.#sandboxUrl}/__sandbox/state`);
    const made = charges.filter(({ metadata }) => metadata['checkout'] === opened.id).length;
    if (made !== 1) throw new Error(`The provider has ${made} charges of this checkout.`);
    this.#step('provider', 'its books show one charge: it was looked for and found, not made again');
    await this.#mark(opened, { status: 'successful' });
    await this.#until(opened, 'paid');
    await this.#timeline(opened);
  }

  async reconciled(): Promise<void> {
    this.#title('5. Somebody gives money back at the provider, and no webhook tells');
    const from = new Date(Date.now() - 3_600_000).toISOString();
    const opened = await this.#open('outside', 30_000);
    await this.#mark(opened, { status: 'successful' });
    await this.#until(opened, 'paid');
    await this.#webhooks({ drop: 1 });
    await this.#refundAtProvider(opened, 5_000);
    this.#step('provider', `${money({ ...opened, amount: 5_000 })} given back at its dashboard; the webhook is lost`);

    const window = { from, to: new Date(Date.now() + 60_000).toISOString() };
    const ops = { authorization: `Bearer ${this.#operatorKey}` };
    const { location } = await this.#call<{ location: string }>('POST', '/v1/reconciliations', window, ops);
    this.#step('compared', 'checkouts, charges, refunds, transactions and receipts of the last hour');
    const { breaks } = await until('the reconciliation', async () => {
      const reconciliation = await this.#call<Reconciliation>('GET', location, undefined, ops);
      if (reconciliation.status === 'failed') throw new Error('The reconciliation failed.');
      return reconciliation.status === 'completed' ? reconciliation : undefined;
    });
    const [found, ...others] = breaks;
    if (found?.type !== 'refund_made_outside' || found.checkout_id !== opened.id || others.length > 0) {
      throw new Error(`Not the one break that was made: ${JSON.stringify(breaks)}`);
    }
    if (!found.healed) throw new Error('The break has not healed.');
    this.#step('break', `${found.type} ${found.refund_id ?? ''}: one, and no other`);
    await this.#until(opened, 'partially_refunded');
    this.#step('healed', 'the checkout has looked, and knows of it');
    await this.#webhooks({ drop: 0 });
    await this.#timeline(opened);
  }

  listed(lines: readonly string[]): void {
    this.#title('6. What the operator sees: pnpm tillflow list');
    for (const line of lines) this.#print(`  ${line}`.trimEnd());
  }

  #webhooks(faults: { readonly drop: number }): Promise<unknown> {
    return exchange('POST', `${this.#sandboxUrl}/__sandbox/webhooks`, {}, faults);
  }

  async #refundAtProvider({ attempts }: Checkout, amount: number): Promise<void> {
    const response = await fetch(`${this.#sandboxUrl}/charges/${attempts.at(-1)?.charge_id ?? ''}/refunds`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa(`${this.#providerKey ?? ''}:`)}` },
      body: new URLSearchParams({ amount: String(amount) }),
    });
    if (!response.ok) throw new Error(`The provider refused the refund: ${await response.text()}`);
  }

  async #refund({ id, reference, currency, amount: paid }: Checkout, amount: number): Promise<void> {
    const key = { 'idempotency-key': `${reference}-refund` };
    const path = `/v1/checkouts/${id}/refunds`;
    const refund = await this.#call<Refund>('POST', path, { amount, reason: 'one item returned' }, key);
    if (refund.status !== 'succeeded') throw new Error(`The refund is ${refund.status}.`);
    this.#step('refund', `${money({ amount, currency })} by a ${refund.kind}, ${refund.id ?? 'without an id'}`);
    const again = await this.#call<Refund>('POST', path, { amount, reason: 'one item returned' }, key);
    if (again.id !== refund.id) throw new Error(`The same key made another refund: ${again.id} beside ${refund.id}.`);
    this.#step('repeated', 'the same key again gives the same refund');
    const { status, text } = await request(
      `${this.#apiUrl}${path}`,
      'POST',
      this.#headers({ 'idempotency-key': 'more' }),
      {
        amount: paid,
      },
    );
    if (status !== 422) throw new Error(`A refund of too much was answered ${status}: ${text}`);
    this.#step('too much', `${(JSON.parse(text) as { detail: string }).detail}: refused`);
  }

  async #open(ending: string, amount: number, more: { expires_in?: number } = {}): Promise<Checkout> {
    const reference = `demo-${this.#run}-${ending}`;
    const body = { reference, amount, currency: 'THB', description: 'Tillflow demo', ...more };
    // 202 when the provider is slow: the QR code comes a moment later.
    const created = await this.#call<{ id: string }>('POST', '/v1/checkouts', body);
    const opened = await this.#until(created, 'awaiting_payment');
    this.#step('checkout', `${money(opened)}, reference ${opened.reference}`);
    if (opened.qr === null) throw new Error('The open checkout has no QR code.');
    this.#step('QR code', `scan by ${clock(opened.qr.expires_at)}: ${opened.qr.raw_data ?? opened.qr.image_url}`);
    return opened;
  }

  async #askAgain({ id, reference, amount, currency }: Checkout): Promise<void> {
    const again = await this.#call<Checkout>('POST', '/v1/checkouts', { reference, amount, currency });
    if (again.id !== id) throw new Error(`The same reference gave another checkout: ${again.id} beside ${id}.`);
    this.#step('repeated', 'the same request again gives the same checkout and the same QR code');
  }

  async #readQrImage({ qr }: Checkout): Promise<void> {
    if (qr === null) throw new Error('The open checkout has no QR code.');
    const response = await fetch(qr.image_url);
    const type = response.headers.get('content-type') ?? 'no type';
    const image = await response.text();
    if (!response.ok || !type.startsWith('image/svg+xml') || !/<svg[\s>]/.test(image)) {
      throw new Error(`The QR image is not an SVG: HTTP ${response.status}, ${type}, ${image.slice(0, 80)}`);
    }
    this.#step('QR image', `${image.length} bytes of SVG, for the till's screen`);
  }

  async #mark({ attempts }: Checkout, outcome: { status: string; failure_code?: string }): Promise<void> {
    const charge = attempts.at(-1)?.charge_id;
    if (charge === null || charge === undefined) throw new Error('The open checkout has no charge.');
    await exchange('POST', `${this.#sandboxUrl}/__sandbox/charges/${charge}/mark`, {}, outcome);
  }

  async #webhookArrived(): Promise<void> {
    const delivery = await until('the webhook to arrive', async () => {
      const { deliveries } = await exchange<SandboxState>('GET', `${this.#sandboxUrl}/__sandbox/state`);
      return deliveries.find(
        ({ key, status }) => key.startsWith('charge.') && status !== null && status < 300 && key !== 'charge.create',
      );
    });
    this.#step(
      'webhook',
      `${delivery.key} arrived, answered ${delivery.status}: a hint, the charge itself is read next`,
    );
  }

  async #until({ id }: { readonly id: string }, status: string): Promise<Checkout> {
    let last = '';
    return until(`the checkout to become ${status}`, async () => {
      const checkout = await this.#call<Checkout>('GET', `/v1/checkouts/${id}`);
      last = checkout.status;
      return checkout.status === status ? checkout : undefined;
    }).catch((error: unknown) => {
      throw new Error(`The checkout is ${last}, not ${status}.`, { cause: error });
    });
  }

  async #timeline({ id, reference }: Checkout): Promise<void> {
    const { data } = await this.#call<Timeline>('GET', `/v1/checkouts/${id}/timeline`);
    this.#step('timeline', '');
    const width = Math.max(...data.map(({ what }) => what.length));
    for (const { at, what, detail, by } of data) {
      const words = [detail, by === undefined ? undefined : `by ${by}`].filter((word) => word !== undefined).join(', ');
      this.#print(`    ${at.slice(11, 23)}  ${what.padEnd(width)}  ${words}`.trimEnd());
    }
    const workflow = encodeURIComponent(`checkout/default/${reference}`);
    if (this.#uiUrl !== undefined) this.#step('workflow', `${this.#uiUrl}/namespaces/default/workflows/${workflow}`);
  }

  #call<Reply>(method: string, path: string, body?: object, headers: Record<string, string> = {}): Promise<Reply> {
    return exchange(method, `${this.#apiUrl}${path}`, this.#headers(headers), body);
  }

  #headers(more: Record<string, string>): Record<string, string> {
    return { authorization: `Bearer ${this.#key}`, ...more };
  }

  #title(text: string): void {
    this.#print(`\n${text}\n${'-'.repeat(text.length)}`);
  }

  #step(what: string, text: string): void {
    this.#print(`  ${what.padEnd(10)} ${text}`.trimEnd());
  }
}

async function exchange<Reply>(
  method: string,
  url: string,
  headers: Record<string, string> = {},
  body?: object,
): Promise<Reply> {
  const { status, text } = await request(url, method, headers, body);
  if (status >= 400) throw new Error(`${method} ${url} answered ${status}: ${text}`);
  return (text === '' ? {} : JSON.parse(text)) as Reply;
}

async function request(
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

async function until<Found>(what: string, look: () => Promise<Found | undefined>): Promise<Found> {
  const deadline = Date.now() + newsWithinMs;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (Date.now() > deadline) throw new Error(`Waited ${newsWithinMs / 1000} s for ${what}.`);
    await sleep(pollMs);
  }
}

function money({ amount, currency }: { readonly amount: number; readonly currency: string }): string {
  return new Intl.NumberFormat('en', { style: 'currency', currency, currencyDisplay: 'code' })
    .format(amount / 100)
    .replaceAll('\u00A0', ' ');
}

/** To the second, UTC. */
function clock(instant: string | null): string {
  return instant === null ? '(never)' : instant.replace('T', ' ').replace(/(\.\d+)?Z$/, ' UTC');
}
