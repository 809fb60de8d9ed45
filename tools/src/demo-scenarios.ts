import { randomBytes } from 'node:crypto';

import {
  clock,
  exchange,
  money,
  readText,
  request,
  until,
  type Checkout,
  type Reconciliation,
  type Refund,
  type SandboxState,
  type Timeline,
} from './demo-http.js';
import { DEMO_COUNTER, DEMO_TILL, demoDate } from './demo-settings.js';
import type { Stack } from './stack.js';

/**
 * Five checkouts over HTTP: paid and partly refunded, expired, failed, paid after a lost answer, and refunded in the
 * provider's dashboard. Then the operator's list of them, and the totals of the day.
 * @throws {Error} at the first step with an unexpected result.
 */
export async function runScenarios(stack: Stack, print: (line: string) => void): Promise<void> {
  const demo = new Demo(stack, print);
  await demo.paid();
  await demo.expired();
  await demo.failed();
  await demo.lostAnswer();
  await demo.refundedOutside();
  demo.shows('6. The operator lists the checkouts: pnpm tillflow list', await stack.tillflow('list'));
  const today = demoDate();
  demo.shows(`7. The shop cashes up: pnpm tillflow day ${today}`, await stack.tillflow('day', today));
  print('');
  if (stack.temporal.uiUrl !== undefined) print(`Temporal UI   ${stack.temporal.uiUrl} (until this demo stops)`);
  print(`API           ${stack.apiUrl}/docs`);
  const [counter = ''] = await stack.tillflow(...DEMO_COUNTER);
  await demo.counterShowsSales(counter);
  print(`Counter       ${counter}`);
}

class Demo {
  readonly #apiUrl: string;
  readonly #sandboxUrl: string;
  readonly #uiUrl: string | undefined;
  readonly #key: string;
  readonly #operatorKey: string;
  readonly #providerKey: string | undefined;
  readonly #print: (line: string) => void;
  #sales = 0;
  /** Makes the references unique, so that the demo can run again on the same Temporal server. */
  readonly #run = randomBytes(3).toString('hex');

  constructor(stack: Stack, print: (line: string) => void) {
    const [key, operatorKey] = ['checkout', 'ops'].map((wanted) =>
      stack.settings.generatedKeys.find(({ role }) => role === wanted),
    );
    if (stack.sandboxUrl === undefined || key === undefined || operatorKey === undefined)
      throw new Error('The demo needs its own sandbox and its own keys.');
    this.#apiUrl = stack.apiUrl;
    this.#sandboxUrl = stack.sandboxUrl;
    this.#uiUrl = stack.temporal.uiUrl;
    this.#key = key.secret;
    this.#operatorKey = operatorKey.secret;
    this.#providerKey = stack.settings.providerKeys['PROVIDER_SECRET_KEY'];
    this.#print = print;
  }

  async paid(): Promise<void> {
    this.#title('1. A customer pays and later gets a partial refund');
    const opened = await this.#open('paid', 150_000);
    await this.#readQrImage(opened);
    await this.#repeatCreate(opened);

    await this.#mark(opened, { status: 'successful' });
    this.#step('customer', 'pays with the wallet (the sandbox acts as the customer)');
    await this.#webhookArrived();
    const paid = await this.#until(opened, 'paid');
    this.#step('paid', `at ${clock(paid.paid_at)}`);
    this.#step('', `void possible until ${clock(paid.voidable_until)}, refund until ${clock(paid.refundable_until)}`);

    await this.#receipt(opened);

    await this.#refund(opened, 50_000);
    await this.#until(opened, 'partially_refunded');
    await this.#timeline(opened);
  }

  async expired(): Promise<void> {
    this.#title('2. The customer does not pay');
    const opened = await this.#open('expired', 8_900, { expires_in: 5 });
    this.#step('waiting', 'the QR code is valid for 5 seconds');
    await this.#until(opened, 'expired');
    this.#step('expired', 'no payment was made, and the QR code can no longer be paid');
    await this.#timeline(opened);
  }

  async failed(): Promise<void> {
    this.#title('3. The payment fails');
    const opened = await this.#open('failed', 42_050);
    await this.#mark(opened, { status: 'failed', failure_code: 'insufficient_fund' });
    this.#step('customer', 'does not have enough money');
    const failed = await this.#until(opened, 'failed');
    this.#step('failed', `the provider reports ${failed.attempts.at(-1)?.failure_code ?? 'no code'}`);
    await this.#timeline(opened);
  }

  async lostAnswer(): Promise<void> {
    this.#title('4. The provider creates the charge, but its answer is lost');
    await exchange('POST', `${this.#sandboxUrl}/__sandbox/faults`, {}, [
      { method: 'POST', path: '/charges', action: 'commit_then_reset', times: 1 },
    ]);
    const opened = await this.#open('lost-answer', 20_000);
    const { charges } = await exchange<SandboxState>('GET', `${this.#sandboxUrl}/__sandbox/state`);
    const made = charges.filter(({ metadata }) => metadata['checkout'] === opened.id).length;
    if (made !== 1) throw new Error(`The provider has ${made} charges for this checkout.`);
    this.#step('provider', 'has one charge: Tillflow looked it up and did not create a second one');
    await this.#mark(opened, { status: 'successful' });
    await this.#until(opened, 'paid');
    await this.#timeline(opened);
  }

  async refundedOutside(): Promise<void> {
    this.#title("5. A refund is made in the provider's dashboard and its webhook is lost");
    const from = new Date(Date.now() - 3_600_000).toISOString();
    const opened = await this.#open('outside', 30_000);
    await this.#mark(opened, { status: 'successful' });
    await this.#until(opened, 'paid');
    await this.#webhooks({ drop: 1 });
    await this.#refundAtProvider(opened, 5_000);
    this.#step('provider', `${money({ ...opened, amount: 5_000 })} refunded in the dashboard, webhook lost`);

    const window = { from, to: new Date(Date.now() + 60_000).toISOString() };
    const ops = { authorization: `Bearer ${this.#operatorKey}` };
    const { location } = await this.#call<{ location: string }>('POST', '/v1/reconciliations', window, ops);
    this.#step('reconcile', 'compares checkouts, charges, refunds, transactions and receipts of the last hour');
    const { breaks } = await until('the reconciliation', async () => {
      const reconciliation = await this.#call<Reconciliation>('GET', location, undefined, ops);
      if (reconciliation.status === 'failed') throw new Error('The reconciliation failed.');
      return reconciliation.status === 'completed' ? reconciliation : undefined;
    });
    const [found, ...others] = breaks;
    if (found?.type !== 'refund_made_outside' || found.checkout_id !== opened.id || others.length > 0) {
      throw new Error(`Expected one break, refund_made_outside of ${opened.id}, and found ${JSON.stringify(breaks)}`);
    }
    if (!found.healed) throw new Error('The break was not healed.');
    this.#step('break', `${found.type} ${found.refund_id ?? ''}, and no other break`);
    await this.#until(opened, 'partially_refunded');
    this.#step('healed', 'the checkout asked the provider and now includes the refund');
    await this.#webhooks({ drop: 0 });
    await this.#timeline(opened);
  }

  /** @param link to the counter of the till that sold. */
  async counterShowsSales(link: string): Promise<void> {
    const body = { token: new URL(link).hash.slice(1) };
    const { session } = await exchange<{ session: string }>('POST', `${this.#apiUrl}/v1/counter-sessions`, {}, body);
    const authorization = `Bearer ${session}`;
    const path = `${this.#apiUrl}/v1/checkouts`;
    const { data } = await exchange<{ data: readonly Checkout[] }>('GET', path, { authorization });
    const shown = data.filter(({ reference }) => reference.startsWith(`demo-${this.#run}-`)).length;
    if (shown !== this.#sales) throw new Error(`The counter shows ${shown} of the ${this.#sales} sales above.`);
  }

  shows(title: string, lines: readonly string[]): void {
    this.#title(title);
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
    if (again.id !== refund.id) throw new Error(`The same key created a second refund: ${again.id} and ${refund.id}.`);
    this.#step('repeated', 'the same key again returns the same refund');
    const { status, text } = await request(
      `${this.#apiUrl}${path}`,
      'POST',
      this.#headers({ 'idempotency-key': 'more' }),
      {
        amount: paid,
      },
    );
    if (status !== 422) throw new Error(`A refund above the paid amount was answered ${status}: ${text}`);
    this.#step('too much', `refused: ${(JSON.parse(text) as { detail: string }).detail}`);
  }

  async #receipt({ id }: Checkout): Promise<void> {
    this.#step('receipt', 'as the till prints it on paper of 80 mm');
    const text = await readText(`${this.#apiUrl}/v1/checkouts/${id}/receipt`, this.#headers({}));
    for (const line of text.trimEnd().split('\n')) this.#print(`    ${line}`.trimEnd());
  }

  async #open(ending: string, amount: number, more: { expires_in?: number } = {}): Promise<Checkout> {
    const reference = `demo-${this.#run}-${ending}`;
    const body = { reference, amount, currency: 'THB', description: 'Tillflow demo', ...DEMO_TILL, ...more };
    // A slow provider gives a 202, and the QR code comes later.
    const created = await this.#call<{ id: string }>('POST', '/v1/checkouts', body);
    this.#sales += 1;
    const opened = await this.#until(created, 'awaiting_payment');
    this.#step('checkout', `${money(opened)}, reference ${opened.reference}`);
    if (opened.qr === null) throw new Error('The open checkout has no QR code.');
    this.#step('QR code', `scan by ${clock(opened.qr.expires_at)}: ${opened.qr.raw_data ?? opened.qr.image_url}`);
    return opened;
  }

  async #repeatCreate({ id, reference, amount, currency }: Checkout): Promise<void> {
    const again = await this.#call<Checkout>('POST', '/v1/checkouts', { reference, amount, currency });
    if (again.id !== id) throw new Error(`The same reference created a second checkout: ${again.id} and ${id}.`);
    this.#step('repeated', 'the same request again returns the same checkout and the same QR code');
  }

  async #readQrImage({ qr }: Checkout): Promise<void> {
    if (qr === null) throw new Error('The open checkout has no QR code.');
    const response = await fetch(qr.image_url);
    const type = response.headers.get('content-type') ?? 'no type';
    const image = await response.text();
    if (!response.ok || !type.startsWith('image/svg+xml') || !/<svg[\s>]/.test(image)) {
      throw new Error(`The QR image is not an SVG: HTTP ${response.status}, ${type}, ${image.slice(0, 80)}`);
    }
    this.#step('QR image', `${image.length} bytes of SVG for the screen of the till`);
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
    this.#step('webhook', `${delivery.key} arrived (answered ${delivery.status}); Tillflow now reads the charge`);
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
