import { webhooks } from '@tillflow/payments-client';
import { hint } from '@tillflow/workflows';
import { AMOUNT, type ActionOf } from '@tillflow/workflows/testing';
import type { LiveCheckout } from './live-checkout.js';

const UNRECOGNIZED = 'chrg_test_unrecognized';

/** What happens to one checkout at the provider: its customer pays, its dashboard refunds, its webhooks arrive. */
export class ProviderSide {
  readonly #paidLate: string[] = [];
  readonly #refundedAtDashboard: string[] = [];

  constructor(private readonly checkout: LiveCheckout) {}

  pay({ back }: ActionOf<'pay'>): void {
    const charge = this.#charges.at(-1 - back);
    if (charge === undefined || charge.paid) return;
    if (charge.status !== 'pending') this.#paidLate.push(charge.id);
    this.#sandbox.mark(charge.id, { status: 'successful', force: true });
  }

  /** The customer reviews the payment, or declines it. */
  markPending(status: 'confirming' | 'failed'): void {
    const newest = this.#charges.at(-1);
    if (newest?.status === 'pending') this.#sandbox.mark(newest.id, { status });
  }

  /** Tillflow does not poll a charge that has ended: only a webhook reports money that moves after that. */
  async announceLateChanges(): Promise<void> {
    for (const id of this.#paidLate) await this.#announce('resent', id);
    for (const id of this.#refundedAtDashboard) await this.#announce('direct', id);
  }

  /** The customer who still reviews the payment goes back, so that the charge can be expired. */
  stopConfirming(): void {
    for (const { id, status } of this.#charges) {
      if (status === 'pending') this.#sandbox.mark(id, { status: 'pending' });
    }
  }

  async refundAtDashboard({ amount }: ActionOf<'refund at the dashboard'>): Promise<void> {
    const paid = this.#charges.findLast((one) => one.paid && one.refunded_amount + amount <= one.amount);
    if (paid === undefined) return;
    this.#refundedAtDashboard.push(paid.id);
    try {
      await fetch(`${this.#sandbox.url}/charges/${paid.id}/refunds`, {
        method: 'POST',
        headers: { authorization: `Basic ${btoa(`${this.#sandbox.keys.secret}:`)}` },
        body: new URLSearchParams({ amount: String(amount) }),
        signal: AbortSignal.timeout(2_000),
      });
    } catch {
      // The sandbox's faults affect the dashboard too.
    }
  }

  /** News about the newest charge, true or not. */
  async hint({ kind }: ActionOf<'hint'>): Promise<void> {
    await this.#announce(kind, this.#charges.at(-1)?.id ?? UNRECOGNIZED);
  }

  async #announce(kind: ActionOf<'hint'>['kind'], chargeId: string): Promise<void> {
    switch (kind) {
      case 'resent': {
        const { events = [] } = this.#sandbox.state(['events']);
        const event = events.findLast(({ key, data }) => key === 'charge.complete' && data.id === chargeId);
        if (event !== undefined) this.#sandbox.resend(event.id);
        return;
      }
      case 'direct':
      case 'unrecognized charge': {
        const id = kind === 'direct' ? chargeId : UNRECOGNIZED;
        const event = { eventId: 'evnt_campaign', eventKey: 'charge.update', chargeId: id };
        await this.checkout.environment.tolerant(() => this.checkout.workflow.signal(hint, event));
        return;
      }
      case 'forged':
      case 'untrue': {
        const charge = { object: 'charge', id: chargeId, status: 'successful', paid: true, amount: AMOUNT };
        const data = { ...charge, metadata: { checkout: this.checkout.id } };
        const body = JSON.stringify({ object: 'event', id: 'evnt_campaign', key: 'charge.complete', data });
        const secret = kind === 'untrue' ? (this.#sandbox.keys.webhookSecrets[0] ?? '') : btoa('a guess');
        const timestamp = Math.floor(Date.now() / 1_000);
        const headers = { 'content-type': 'application/json', ...webhooks.sign(body, { secret, timestamp }) };
        const answer = await this.checkout.environment.request('POST', '/webhooks/provider', body, headers);
        if (kind === 'forged' && answer !== null && answer.status < 400) {
          this.checkout.breach(4, 'the API accepted a forged webhook');
        }
      }
    }
  }

  get #sandbox() {
    return this.checkout.environment.sandbox;
  }

  get #charges() {
    return this.checkout.environment.chargesOf(this.checkout.id);
  }
}
