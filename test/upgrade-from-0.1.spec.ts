import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { WithStartWorkflowOperation } from '@temporalio/client';
import { checkoutStart } from '@tillflow/temporal';
import { fastForward } from '@tillflow/tools';
import {
  begin,
  BEGIN_UPDATE_ID,
  CHECKOUT_WORKFLOW,
  hint,
  refundRequest,
  resolve,
  type CheckoutInput,
} from '@tillflow/workflows';
import { sampleIntent } from '@tillflow/workflows/testing';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { eventually } from './support/eventually.js';
import { isFull, MORE } from './support/full.js';
import { buildsOf, Releases } from './support/releases.js';
import {
  ALWAYS_VOIDABLE_MINUTES,
  chargeIdOf,
  newReference,
  SETTLES_SOON,
  Stack,
  type CheckoutJson,
} from './support/stack.js';

/** The workflow code of version 0.1.0, as its build wrote it. */
const BUNDLE = new URL('./support/workflows-0.1.0.js.gz', import.meta.url);
/** A worker takes no bundle without a source map. */
const EMPTY_SOURCE_MAP = `//# sourceMappingURL=data:application/json;base64,${btoa('{"version":3,"sources":[],"mappings":""}')}`;
const RUNS_OF_EACH = isFull ? 4 : 1;
/** Any payment's void cut-off has passed by then. */
const TWO_DAYS_MS = 2 * 86_400_000;

/**
 * Not a failure of the code: a message came while the run was about to end or to continue as new, and Temporal repeats
 * the task with it. Temporal's number of this cause.
 */
const UNHANDLED_COMMAND = 1;

const isFailure = ({ cause }: { readonly cause?: unknown }): boolean => cause !== UNHANDLED_COMMAND;

let stack: Stack;
let releases: Releases;
let folder: string;

type Begun = Pick<CheckoutJson, 'id' | 'reference'>;
type Action = (checkout: Begun) => Promise<unknown>;
/** What a run of version 0.1 has seen, what happens to it afterwards, and how it ends. */
type State = {
  readonly policy?: CheckoutInput['policy'];
  readonly before?: Action;
  readonly after: Action;
  readonly ends: Partial<Pick<CheckoutJson, 'status' | 'refunded_amount'>>;
};

const mark = (status: 'successful' | 'failed', attempt = 0): Action => {
  return async ({ id }) => {
    const { body } = await stack.get(`/v1/checkouts/${id}`);
    stack.sandbox.mark(body.attempts[attempt]?.charge_id ?? '', { status, force: true });
  };
};
const until =
  (status: string): Action =>
  ({ id }) =>
    stack.untilStatus(id, status);
const inTurn =
  (...actions: readonly Action[]): Action =>
  async (checkout) => {
    for (const action of actions) await action(checkout);
  };
const pay = inTurn(mark('successful'), until('paid'));
const refundOf = (amount?: number): Action => {
  return ({ id }) =>
    stack.request('POST', `/v1/checkouts/${id}/refunds`, {
      body: amount === undefined ? {} : { amount },
      headers: { 'idempotency-key': randomUUID() },
    });
};
const anotherAttempt: Action = ({ id }) => stack.post(`/v1/checkouts/${id}/attempts`, { after: 1 });
const look: Action = ({ id }) =>
  stack.workflowOf(id).executeUpdate(resolve, { args: [{ action: 'look', reason: 'seen in the dashboard' }] });
const askOften: Action = async ({ id }) => {
  const { body } = await stack.get(`/v1/checkouts/${id}`);
  const content = { eventId: 'evnt_1', eventKey: 'charge.update', chargeId: chargeIdOf(body) };
  await stack.workflowOf(id).signal(hint, content);
};
const expireElsewhere: Action = async ({ id }) => {
  const { body } = await stack.get(`/v1/checkouts/${id}`);
  await stack.expireElsewhere(chargeIdOf(body));
};
/** Time skipping moves only the workflow ahead: the provider's clock is that of all checkouts. */
const intoTheDayAfter: Action = ({ reference }) =>
  fastForward(stack.temporal, `checkout/default/${reference}`, TWO_DAYS_MS);
const intoItsNextRun: Action = (checkout) =>
  eventually(async () => {
    if ((await stack.runsOf(checkout.reference)).length > 1) return;
    await askOften(checkout);
    throw new Error('Still its first run');
  });
const refundElsewhere: Action = async ({ id }) => {
  const { body } = await stack.get(`/v1/checkouts/${id}`);
  await stack.refundElsewhere(chargeIdOf(body), 20_000);
};

const STATES: Readonly<Record<string, State>> = {
  'that waits for its customer': { after: mark('successful'), ends: { status: 'paid' } },
  'that got a hint without news': { before: askOften, after: mark('successful'), ends: { status: 'paid' } },
  'that shows its second attempt': { before: anotherAttempt, after: mark('successful', 1), ends: { status: 'paid' } },
  'whose payment failed': {
    before: inTurn(mark('failed'), until('failed')),
    after: inTurn(anotherAttempt, mark('successful', 1)),
    ends: { status: 'paid' },
  },
  'that was cancelled': {
    before: ({ id }) => stack.post(`/v1/checkouts/${id}/cancel`),
    after: mark('successful'),
    ends: { status: 'refunded', refunded_amount: 150_000 },
  },
  'that expired': {
    before: inTurn(expireElsewhere, until('expired')),
    after: mark('successful'),
    ends: { status: 'refunded', refunded_amount: 150_000 },
  },
  'that has continued as new while it waits': {
    policy: { maxHistoryEvents: 40 },
    before: intoItsNextRun,
    after: mark('successful'),
    ends: { status: 'paid' },
  },
  'that is refunded': {
    before: inTurn(pay, refundOf(), until('refunded')),
    after: look,
    ends: { status: 'refunded', refunded_amount: 150_000 },
  },
  'that was paid two days ago': {
    before: inTurn(pay, intoTheDayAfter),
    after: refundOf(50_000),
    ends: { status: 'partially_refunded', refunded_amount: 50_000 },
  },
  'that is paid': {
    before: pay,
    after: refundOf(50_000),
    ends: { status: 'partially_refunded', refunded_amount: 50_000 },
  },
  'that is refunded in part': {
    before: inTurn(pay, refundOf(10_000)),
    after: refundOf(),
    ends: { status: 'refunded', refunded_amount: 150_000 },
  },
  'that was refunded elsewhere': {
    before: inTurn(pay, refundElsewhere),
    after: look,
    ends: { status: 'partially_refunded', refunded_amount: 20_000 },
  },
};

/** The same for states in which the provider does not answer. The faults end when the new version runs. */
const STATES_OF_DOUBT: Readonly<Record<string, State>> = {
  'whose source is not made yet': { after: inTurn(until('awaiting_payment'), pay), ends: { status: 'paid' } },
  'whose charge is not found yet': { after: inTurn(until('awaiting_payment'), pay), ends: { status: 'paid' } },
  'whose refund is not found yet': {
    after: async () => undefined,
    ends: { status: 'partially_refunded', refunded_amount: 50_000 },
  },
};

/** Starts a checkout as version 0.1 of the API did: with the intent in the input, and with an update. */
async function startAsBefore(policy: CheckoutInput['policy'] = {}): Promise<Begun> {
  const intent = sampleIntent({ reference: newReference(), created_at: new Date().toISOString(), expires_in: 3_600 });
  const times = {
    sendWithinMs: Number(SETTLES_SOON.SEND_WITHIN_MS),
    callDeadlineMs: Number(SETTLES_SOON.CALL_DEADLINE_MS),
    settleMs: Number(SETTLES_SOON.SETTLE_DELAY_MS),
    lookupDelaysMs: [5_000],
    voidDateOffsetMinutes: ALWAYS_VOIDABLE_MINUTES,
    ...policy,
  };
  const startWorkflowOperation = new WithStartWorkflowOperation(CHECKOUT_WORKFLOW, {
    ...checkoutStart({ intent, requestNonce: 'a test' }, stack.taskQueue),
    args: [{ intent, policy: times } satisfies CheckoutInput],
  });
  await stack.temporal.client.workflow.startUpdateWithStart(begin, {
    updateId: BEGIN_UPDATE_ID,
    startWorkflowOperation,
    waitForStage: 'ACCEPTED',
  });
  return intent;
}

const startMany = (policy?: CheckoutInput['policy']): Promise<Begun[]> =>
  Promise.all(Array.from({ length: RUNS_OF_EACH }, () => startAsBefore(policy)));
const all = (checkouts: readonly Begun[], action: Action): Promise<unknown> =>
  Promise.all(checkouts.map((checkout) => action(checkout)));

describe('a checkout that version 0.1 began', MORE, () => {
  const begun = new Map<string, readonly Begun[]>();

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tillflow-upgrade-'));
    const bundlePath = join(folder, 'bundle.js');
    await writeFile(bundlePath, `${gunzipSync(await readFile(BUNDLE)).toString()}\n${EMPTY_SOURCE_MAP}`);
    stack = await Stack.start({ worker: false, api: { ...SETTLES_SOON, POLL_INTERVAL_MS: '3600000' } });
    releases = new Releases(stack);
    const old = await releases.start('0.1', {}, { bundlePath });
    for (const [name, { policy, before }] of Object.entries(STATES)) {
      const checkouts = await startMany(policy);
      await all(checkouts, until('awaiting_payment'));
      if (before !== undefined) await all(checkouts, before);
      begun.set(name, checkouts);
    }
    await beginInDoubt();
    await releases.start('1.0');
    await releases.stop(old);
    stack.sandbox.faults.clear();
  }, 120_000);
  afterAll(async () => {
    await releases.stopAll();
    await stack.stop();
    await rm(folder, { recursive: true, force: true });
  });

  async function beginInDoubt(): Promise<void> {
    const refunding = await startMany();
    await all(refunding, inTurn(until('awaiting_payment'), pay));
    const { faults } = stack.sandbox;
    faults.add({ method: 'POST', path: '/charges/{id}/refunds', action: 'commit_then_reset' });
    await all(refunding, async ({ id }) => {
      await stack.workflowOf(id).signal(refundRequest, { key: 'k', amount: 50_000, reason: null });
      await vi.waitUntil(() => stack.chargesOf(id)[0]?.refunded_amount === 50_000, { timeout: 90_000 });
    });
    // A refund begins with a retrieve, and its lookup comes seconds later.
    faults.add({ method: 'GET', path: '/charges/{id}', action: 'status', status: 500 });
    begun.set('whose refund is not found yet', refunding);
    faults.add({ method: 'POST', path: '/charges', action: 'commit_then_reset' });
    faults.add({ method: 'GET', path: '/charges', action: 'status', status: 500 });
    const unknown = await startMany();
    await all(unknown, ({ id }) => vi.waitUntil(() => stack.chargesOf(id).length === 1, { timeout: 90_000 }));
    begun.set('whose charge is not found yet', unknown);
    faults.add({ method: 'POST', path: '/sources', action: 'reset_before' });
    begun.set('whose source is not made yet', await startMany());
  }

  it.each(Object.entries({ ...STATES, ...STATES_OF_DOUBT }))('%s continues under this version', async (name, state) => {
    const checkouts = begun.get(name) ?? [];
    expect(checkouts).toHaveLength(RUNS_OF_EACH);
    await all(checkouts, state.after);
    for (const { id, reference } of checkouts) {
      await stack.until(id, ({ status, refunded_amount: amount }) => {
        const { ends } = state;
        return status === ends.status && amount === (ends.refunded_amount ?? 0);
      });
      const events = (await stack.runsOf(reference)).flat();
      expect(events.flatMap(({ workflowTaskFailedEventAttributes: failed }) => failed ?? []).filter(isFailure)).toEqual(
        [],
      );
      const builds = await buildsOf(stack, reference);
      expect(builds.at(-1)).toBe('1.0');
    }
  });
});
