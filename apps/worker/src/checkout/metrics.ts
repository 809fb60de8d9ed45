import { channel, subscribe } from 'node:diagnostics_channel';
import { CHECKOUT_EVENTS, type CheckoutSinks, type Happened } from '@tillflow/workflows';
import type { InjectedSinks } from '@temporalio/worker';
import { Counter, type Registry } from 'prom-client';

const CHECKOUTS = channel('tillflow:checkout');

type Report = { readonly account: string; readonly what: Happened };

/** Receives what happens to the checkouts of an account. */
export function checkoutSinks(account: string): InjectedSinks<CheckoutSinks> {
  return {
    checkouts: { happened: { fn: (_, what) => CHECKOUTS.publish({ account, what } satisfies Report) } },
  };
}

/** Counts what happens to the checkouts of this process. A killed worker loses what it has not shown. */
export function countCheckouts(registry: Registry): void {
  const registers = [registry];
  const events = new Counter({
    name: 'tillflow_checkout_events_total',
    help: 'What happened to checkouts, in the words of the events.',
    labelNames: ['account', 'currency', 'event'],
    registers,
  });
  const amounts = new Counter({
    name: 'tillflow_checkout_amount_total',
    help: 'Amounts paid and refunded, in the smallest unit of the currency.',
    labelNames: ['account', 'currency', 'kind'],
    registers,
  });
  subscribe(CHECKOUTS.name, (message) => {
    const { account, what } = message as Report;
    const { currency } = what;
    // The other events get 0, so that the first of each is an increase.
    for (const event of CHECKOUT_EVENTS) events.inc({ account, currency, event }, what.events.includes(event) ? 1 : 0);
    amounts.inc({ account, currency, kind: 'paid' }, what.paid);
    amounts.inc({ account, currency, kind: 'refunded' }, what.refunded);
  });
}
