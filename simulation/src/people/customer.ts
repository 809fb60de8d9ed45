import type { ChargeJson } from '@tillflow/sandbox';
import type { Surroundings } from './surroundings.js';
import { AMOUNT } from './till.js';

/** In the smallest currency unit. No other refund of a simulation has this amount. */
export const DASHBOARD_REFUND = 20_003;

/** The customer of one checkout, and the shop's people at the provider's dashboard. */
export class Customer {
  constructor(
    private readonly world: Surroundings,
    private readonly checkoutId: string,
  ) {}

  get charges(): readonly ChargeJson[] {
    return this.world.provider.chargesOf(this.checkoutId);
  }

  /** @param back 0: the newest code, 1: the one before @returns whether that code is paid */
  pay(back: number): boolean {
    const charge = this.charges.at(-1 - back);
    if (charge === undefined || charge.paid) return charge?.paid === true;
    this.world.provider.at((sandbox) => sandbox.mark(charge.id, { status: 'successful', force: true }));
    return true;
  }

  mark(status: 'failed' | 'confirming'): void {
    const charge = this.charges.at(-1);
    if (charge?.status === 'pending') this.world.provider.at((sandbox) => sandbox.mark(charge.id, { status }));
  }

  /** A customer who still reviews the payment goes back, so that the charge can be expired. */
  stopReviewing(): void {
    for (const { id, status } of this.charges) {
      if (status === 'pending') this.world.provider.at((sandbox) => sandbox.mark(id, { status: 'pending' }));
    }
  }

  async refundAtDashboard(): Promise<void> {
    const charge = this.charges.findLast(
      ({ paid, refunded_amount }) => paid && refunded_amount + DASHBOARD_REFUND <= AMOUNT,
    );
    if (charge === undefined) return;
    await this.world.provider.ask('POST', `/charges/${charge.id}/refunds`, `amount=${DASHBOARD_REFUND}`);
  }
}
