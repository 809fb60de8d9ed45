import { checkoutWorkflowId, DEFAULT_ACCOUNT } from '@tillflow/domain';
import { AFTERCARE_WORKFLOW } from '@tillflow/workflows';
import type { ApiClient, CheckoutJson } from './api-client.js';
import { billedActions, sumOf, totalOf, type BilledActions } from './billed-actions.js';
import { bytesOf, eventsOf, settledRunsOf, type RunHistory } from './histories.js';
import type { BenchStack } from './stack.js';
import { chargeOf, newReference, openCheckout, untilCheckout } from './till.js';

/** What one or several runs of a checkout left in the server, and what they are billed. */
export type Count = {
  readonly events: number;
  readonly bytes: number;
  readonly actions: BilledActions;
  readonly billed: number;
};

/** A checkout of one kind: its runs before `aftercare`, and the open `aftercare` so far; null where there is none. */
export type CountOfKind = {
  readonly kind: string;
  readonly untilThen: Count;
  readonly aftercare: Count | null;
  /** The smallest and the largest number of billed actions, of all that were counted: normally the same. */
  readonly billedFrom: number;
  readonly billedTo: number;
  /** The largest open `aftercare` of all that were counted, in bytes; 0 where there is none. */
  readonly openBytes: number;
};

/** Seconds to pay, of those that expire: without a look in between, and with two. */
const EXPIRES_AT_ONCE = 5;
const EXPIRES_AFTER_LOOKS = 60;
/** What a till gives a customer when it says nothing else. */
export const USUAL_EXPIRY = 900;

type Way = (stack: BenchStack, api: ApiClient, reference: string) => Promise<CheckoutJson>;

const pay: Way = async ({ sandbox }, api, reference) => {
  const opened = await openCheckout(api, reference);
  await sandbox.control('POST', `/charges/${chargeOf(opened)}/mark`, { status: 'successful' });
  return untilCheckout(api, opened.id, ({ status }) => status === 'paid');
};

const expire =
  (seconds: number): Way =>
  async (_stack, api, reference) => {
    const opened = await openCheckout(api, reference, seconds);
    return untilCheckout(api, opened.id, ({ status }) => status === 'expired', (seconds + 30) * 1_000);
  };

const WAYS: Readonly<Record<string, Way>> = {
  paid: pay,
  [`expired after ${EXPIRES_AT_ONCE} s`]: expire(EXPIRES_AT_ONCE),
  [`expired after ${EXPIRES_AFTER_LOOKS} s`]: expire(EXPIRES_AFTER_LOOKS),
  cancelled: async (_stack, api, reference) => {
    const { id } = await openCheckout(api, reference);
    await api.post(`/v1/checkouts/${id}/cancel`);
    return untilCheckout(api, id, ({ status }) => status === 'cancelled');
  },
  refunded: async (stack, api, reference) => {
    const { id } = await pay(stack, api, reference);
    const { status } = await api.post(`/v1/checkouts/${id}/refunds`, {}, { 'idempotency-key': reference });
    if (status === 404) throw new NotThere();
    return untilCheckout(api, id, (checkout) => checkout.status === 'refunded');
  },
};

/** The API of this build has no such route. */
class NotThere extends Error {}

/** The kinds that are counted, of which one takes a minute. */
export const KINDS: readonly string[] = Object.keys(WAYS);

/** The runs of some checkouts of one kind that happen now, all at the same time; none where this build has no such kind. */
export async function runsOfKind(
  stack: BenchStack,
  api: ApiClient,
  kind: string,
  each: number,
): Promise<readonly (readonly RunHistory[])[]> {
  const way = WAYS[kind];
  if (way === undefined) throw new RangeError(`no kind ${kind}`);
  const one = async (): Promise<RunHistory[]> => {
    const reference = newReference();
    await way(stack, api, reference);
    return settledRunsOf(stack.temporal, checkoutWorkflowId({ account: DEFAULT_ACCOUNT, reference }));
  };
  try {
    return await Promise.all(Array.from({ length: each }, one));
  } catch (error) {
    if (error instanceof NotThere) return [];
    throw error;
  }
}

/** @param all the runs of several checkouts of this kind: the first is counted, the others must not differ much. */
export function countOfKind(kind: string, all: readonly (readonly RunHistory[])[]): CountOfKind {
  const [first = []] = all;
  const billed = all.map((runs) => totalOf(sumOf(runs.map(({ events }) => billedActions(events)))));
  const isAftercare = ({ type }: RunHistory): boolean => type === AFTERCARE_WORKFLOW;
  const aftercare = first.filter(isAftercare);
  return {
    kind,
    untilThen: countOf(first.filter((run) => !isAftercare(run))),
    aftercare: aftercare.length === 0 ? null : countOf(aftercare),
    billedFrom: Math.min(...billed),
    billedTo: Math.max(...billed),
    openBytes: Math.max(...all.map((runs) => bytesOf(runs.filter((run) => isAftercare(run) && run.isOpen)))),
  };
}

function countOf(runs: readonly RunHistory[]): Count {
  const actions = sumOf(runs.map(({ events }) => billedActions(events)));
  return {
    events: eventsOf(runs),
    bytes: bytesOf(runs),
    actions,
    billed: totalOf(actions),
  };
}
