import { dayFromNow } from './resources.js';
import type { Stack } from './stack.js';

/** THB 500.00 each day. */
export function chargePlanOf(stack: Stack, customer: string, more: object = {}) {
  return {
    every: 1,
    period: 'day',
    end_date: dayFromNow(stack, 10),
    charge: { customer, amount: 50_000, currency: 'THB', description: 'Membership', ...more },
  };
}

/** Twice a month. A transfer is known by nothing but what it is: give it an amount of its own. */
export function transferPlanOf(stack: Stack, amount: number) {
  return {
    every: 1,
    period: 'month',
    on: { days_of_month: [1, 15] },
    end_date: dayFromNow(stack, 365),
    transfer: { amount },
  };
}

type PlanBody = ReturnType<typeof chargePlanOf> | ReturnType<typeof transferPlanOf>;

/** The provider's plans, in order of creation. */
export function plansOf(stack: Stack) {
  return stack.sandbox.state(['schedules']).schedules ?? [];
}

/** The next create is lost: with its answer only, or before it had any effect. */
export function loseCreate(stack: Stack, action: 'reset_before' | 'commit_then_reset'): void {
  stack.sandbox.faults.add({ method: 'POST', path: '/schedules', action, times: 1 });
}

/** Loses the first create; once the second one is made, lets the first come through after all. */
export async function withLateFirst<T>(
  stack: Stack,
  body: PlanBody,
  create: (body: PlanBody) => Promise<T>,
): Promise<T> {
  loseCreate(stack, 'reset_before');
  const late = new Promise<void>((resolve, reject) => {
    const off = stack.sandbox.on('committed', ({ method, route }) => {
      if (method !== 'POST' || route !== '/schedules') return;
      off();
      Promise.resolve()
        .then(() => comesLate(stack, body))
        .then(resolve, reject);
    });
  });
  const [answer] = await Promise.all([create(body), late]);
  return answer;
}

/** The same plan once more, as the first request makes it when it comes through after the second. */
async function comesLate(stack: Stack, body: PlanBody): Promise<void> {
  const form = new URLSearchParams({ every: '1', period: body.period, end_date: body.end_date });
  if ('charge' in body) {
    const { customer, amount, currency, description } = body.charge;
    for (const [name, value] of Object.entries({ customer, amount, currency, description })) {
      form.set(`charge[${name}]`, String(value));
    }
    const key = plansOf(stack).at(-1)?.charge?.metadata['plan'];
    form.set('charge[metadata][plan]', typeof key === 'string' ? key : '');
  } else {
    for (const day of body.on.days_of_month) form.append('on[days_of_month][]', String(day));
    form.set('transfer[amount]', String(body.transfer.amount));
  }
  const headers = { authorization: `Basic ${btoa(`${stack.sandbox.keys.secret}:`)}` };
  const response = await fetch(`${stack.sandboxUrl}/schedules`, { method: 'POST', headers, body: form });
  if (!response.ok) throw new Error(`The provider refused: ${await response.text()}`);
}
