import type { Fault } from '@tillflow/sandbox';
import type { PaymentActivities } from '@tillflow/workflows';
import { vi } from 'vitest';
import { eventually } from './eventually.js';
import { expectRecords, type Expected } from './records.js';
import { chargeIdOf, newReference, type Answer, type Stack, type StackOptions } from './stack.js';

/**
 * A call that changes something at the provider: its preparation, the request that causes it, and the expected result.
 */
export type MoneyCall = {
  readonly name: string;
  /** Of the provider's API. */
  readonly route: string;
  readonly activity: keyof PaymentActivities;
  /** Brings a checkout to where the call is next. @returns its id */
  prepare(stack: Stack): Promise<string>;
  /** Asks for the call. Returns when that is durable, whether or not the call was made. */
  provoke(stack: Stack, id: string): Promise<void>;
  /** Continues the checkout after the call, as its till and customer do. */
  finish(stack: Stack, id: string): Promise<void>;
  /** Whether a lookup finds the record that the call made. A source without a charge is left behind instead. */
  readonly isFoundAgain: boolean;
  /** A local activity: it runs in a workflow task, and its worker sends no heartbeat. */
  readonly isLocal?: boolean;
  readonly expected: Expected;
};

const PART = 50_000;
const ALL = 150_000;

const idOf = (reference: string): string => `chk_default_${reference}`;

async function begin(stack: Stack, id: string): Promise<void> {
  await stack.begin({ reference: id.slice(idOf('').length) });
}

async function pay(stack: Stack, id: string): Promise<void> {
  const ready = await stack.until(id, ({ qr }) => qr !== null, 90_000);
  stack.sandbox.mark(chargeIdOf(ready), { status: 'successful' });
}

async function open(stack: Stack): Promise<string> {
  const { body } = await stack.begin();
  await stack.until(body.id, ({ qr }) => qr !== null, 90_000);
  return body.id;
}

async function paid(stack: Stack): Promise<string> {
  const id = await open(stack);
  await pay(stack, id);
  await stack.untilStatus(id, 'paid', 90_000);
  return id;
}

/** Repeats the request, as a caller does after a 503 or a lost connection. */
function untilTaken(request: () => Promise<Answer<unknown>>): Promise<void> {
  return eventually(
    async () => {
      const { status, body } = await request();
      if (status >= 300) throw new Error(`${status} ${JSON.stringify(body)}`);
    },
    { timeoutMs: 60_000 },
  );
}

/** Asks with the same key each time. */
const askForRefund =
  (amount: number | null) =>
  async (stack: Stack, id: string): Promise<void> => {
    const body = amount === null ? {} : { amount };
    const headers = { 'idempotency-key': 'the-only-one' };
    await untilTaken(() => stack.request('POST', `/v1/checkouts/${id}/refunds`, { body, headers }));
  };

export const MONEY_CALLS: readonly MoneyCall[] = [
  {
    name: 'the create of a source',
    route: '/sources',
    activity: 'createSource',
    prepare: async () => idOf(newReference()),
    provoke: begin,
    finish: pay,
    isFoundAgain: false,
    isLocal: true,
    expected: { status: 'paid', refunds: [] },
  },
  {
    name: 'the create of a charge',
    route: '/charges',
    activity: 'createCharge',
    prepare: async () => idOf(newReference()),
    provoke: begin,
    finish: pay,
    isFoundAgain: true,
    expected: { status: 'paid', refunds: [] },
  },
  {
    name: 'an expire',
    route: '/charges/{id}/expire',
    activity: 'expireCharge',
    prepare: open,
    provoke: (stack, id) => untilTaken(() => stack.post(`/v1/checkouts/${id}/cancel`)),
    finish: async () => {},
    isFoundAgain: true,
    expected: { status: 'cancelled', refunds: [] },
  },
  {
    name: 'a refund',
    route: '/charges/{id}/refunds',
    activity: 'createRefund',
    prepare: paid,
    provoke: askForRefund(PART),
    finish: async () => {},
    isFoundAgain: true,
    expected: { status: 'partially_refunded', refunds: [PART], kind: 'refund' },
  },
  {
    name: 'a void',
    route: '/charges/{id}/refunds',
    activity: 'createRefund',
    prepare: paid,
    provoke: askForRefund(null),
    finish: async () => {},
    isFoundAgain: true,
    expected: { status: 'refunded', refunds: [ALL], kind: 'void' },
  },
];

/** The product's times, shortened: no proof depends on them. */
export const FAST = {
  api: {
    SEND_WITHIN_MS: '1000',
    CALL_DEADLINE_MS: '500',
    HEARTBEAT_TIMEOUT_MS: '2500',
    SETTLE_DELAY_MS: '200',
    LOOK_DELAYS_MS: '50,100,200,400,800',
    POLL_INTERVAL_MS: '2000',
    ANSWER_WITHIN_MS: '300',
  },
} satisfies StackOptions;

export type Lost = Pick<Fault, 'action' | 'status'>;

/** Every way in which an answer is lost. */
export const LOST_ANSWERS: readonly Lost[] = [
  { action: 'reset_before' },
  { action: 'hang' },
  { action: 'status', status: 503 },
  { action: 'commit_then_reset' },
  { action: 'commit_then_hang' },
  { action: 'commit_then_status', status: 500 },
  { action: 'garbage_body' },
];
export const ONE_OF_EACH = LOST_ANSWERS.filter(({ action }) => action !== 'status' && action !== 'commit_then_hang');

/** The provider did the work before the answer was lost. */
export const hasEffect = ({ action }: Lost): boolean => action.startsWith('commit') || action === 'garbage_body';

const nameOf = ({ action, status }: Lost): string => (status === undefined ? action : `${action} ${status}`);

/** For a table of tests: each with its name. */
export const rows = (faults: readonly Lost[]) => faults.map((fault) => [nameOf(fault), fault] as const);

/** The row of every table that `pnpm test` runs: the provider did the work, and its answer was lost. */
export const isDoneAndLost = ({ action }: Lost): boolean => action === 'commit_then_reset';

/** Applies a fault to the first request of the call, and runs `onArrival` when the request arrives at the provider. */
export function strike(
  stack: Stack,
  { route }: MoneyCall,
  fault: Lost,
  onArrival: () => void = () => {},
): Promise<void> {
  stack.sandbox.faults.add({ method: 'POST', path: route, ...fault, times: 1 });
  return new Promise((arrived) => {
    const end = stack.sandbox.on('request', (request) => {
      if (request.method !== 'POST' || request.route !== route) return;
      end();
      onArrival();
      arrived();
    });
  });
}

/** Carries out the call, with `blow` struck the moment its request reaches the provider. @returns the checkout's id */
export async function callUnder(stack: Stack, call: MoneyCall, blow: () => Promise<void>): Promise<string> {
  const id = await call.prepare(stack);
  let struck: Promise<void> | undefined;
  const end = stack.sandbox.on('request', ({ method, route }) => {
    if (method !== 'POST' || route !== call.route) return;
    end();
    struck = blow();
  });
  await call.provoke(stack, id);
  await vi.waitUntil(() => struck !== undefined, { timeout: 90_000 });
  await struck;
  return id;
}

/** Temporal notices a dead worker after the heartbeat timeout, and only then another worker takes over. */
const AFTER_A_DEATH_MS = 90_000;

/** Expects the right final status, no attention, and equal records on both sides. */
export async function expectRightEnd(stack: Stack, call: MoneyCall, id: string): Promise<void> {
  await call.finish(stack, id);
  await stack.untilStatus(id, call.expected.status, AFTER_A_DEATH_MS);
  await expectRecords(stack, id, call.expected);
}
