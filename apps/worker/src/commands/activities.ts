import {
  IntegrityError,
  InvalidRequestError,
  NotFoundError,
  type PaymentsClient,
  PaymentsError,
  type RequestOptions,
  type Schedule,
  scheduleContradictions,
  type ScheduleCreateParams,
} from '@tillflow/payments-client';
import { formatInstant, parseInstant, plus } from '@tillflow/domain';
import type { Seal } from '@tillflow/temporal';
import type { Change, CommandActivities, Done, FindPlansCall, FoundPlan } from '@tillflow/workflows';
import { toCommandOutcome } from '../activities/failures.js';
import { attempt, END_OF_TIME, read } from '../activities/provider-call.js';

/**
 * Clocks of ours and of the provider may differ by this much when plans are searched by time, beyond what its lists
 * tell of its clock. Plans are few, and one that is overlooked is made twice.
 */
const CLOCK_SKEW_MS = 24 * 3_600_000;

/** Of a plan that moves no money any more. */
const ENDED: ReadonlySet<unknown> = new Set(['deleted', 'expired', 'suspended']);

/** What the provider answered with. */
type Reply = { readonly id?: string | null | undefined };

/** The activities of commands: one client call each. What may be personal comes and goes sealed. */
export function commandActivities(client: PaymentsClient, seal: Seal): CommandActivities {
  const doneWith = async (reply: Reply): Promise<Done> => ({ id: reply.id ?? null, reply: await seal.close(reply) });
  return {
    createPlan: async ({ sealed, ...window }) => {
      const outcome = await attempt(
        window,
        async (options) => {
          const asked = await planIn(seal, sealed);
          return doneWith(await keptWithoutMetadata(client, client.schedules.create(asked, options), options));
        },
        (error) =>
          error instanceof IntegrityError
            ? { kind: 'otherwise' as const, id: error.replyId, message: error.message }
            : toCommandOutcome(error),
      );
      return withoutWords(seal, sealed, outcome);
    },

    changeAtProvider: async ({ change, inDoubt, ...window }) => {
      const outcome = await attempt(
        window,
        async (options) => {
          const reply = make(client, seal, change, options);
          return doneWith(await (inDoubt ? orGone(client, reply, change, options) : reply));
        },
        toCommandOutcome,
      );
      return 'sealed' in change ? withoutWords(seal, change.sealed, outcome) : outcome;
    },

    findPlans: (call) =>
      read(async (options) => {
        const asked = await planIn(seal, call.sealed);
        const found: FoundPlan[] = [];
        for (const plan of await plansSince(client, asked, call, options)) {
          const how = compared(asked, plan);
          if (how.isOurs || how.fits) found.push({ ...(await doneWith(plan)), ...how });
        }
        return found;
      }),

    retrievePlan: ({ sealed, plan }) =>
      read(async (options) => {
        const asked = await planIn(seal, sealed);
        const found = await client.schedules.retrieve(plan, options);
        return { ...(await doneWith(found)), ...compared(asked, found) };
      }),
  };
}

/** A provider that refuses may repeat what it was sent, and a message is not sealed. */
async function withoutWords<T extends { readonly kind: string; readonly message?: string }>(
  seal: Seal,
  sealed: string,
  outcome: T,
): Promise<T> {
  const { message } = outcome;
  if (message === undefined) return outcome;
  // One that does not open was not sent.
  const words = await seal.open(sealed).then(wordsIn, () => []);
  return { ...outcome, message: words.reduce((text, word) => text.replaceAll(word, '…'), message) };
}

/** The texts among parameters that are not the provider's own words: ids, dates, currencies, periods. */
function wordsIn(params: unknown): string[] {
  if (typeof params === 'string') return OWN_WORD.test(params) ? [] : [params];
  if (typeof params !== 'object' || params === null) return [];
  return Object.entries(params).flatMap(([name, value]) => (OWN_FIELDS.has(name) ? [] : wordsIn(value)));
}

const OWN_WORD = /^(?:.?|[A-Z]{3})$/s;
const OWN_FIELDS: ReadonlySet<string> = new Set([
  'period',
  'on',
  'start_date',
  'end_date',
  'customer',
  'card',
  'recipient',
]);

/** Whether a plan is the one that was asked for, as far as it tells. */
function compared(asked: ScheduleCreateParams, plan: Schedule): Omit<FoundPlan, keyof Done> {
  const key = keyOf(plan);
  const isOurs = key !== undefined && key === keyOf(asked);
  // Of the metadata only the key says whose it is.
  const contradictions = scheduleContradictions(withoutMetadata(asked), plan);
  const metadata = plan.charge?.metadata;
  return {
    isOurs,
    fits: contradictions.length === 0 && (isOurs || (key === undefined && startsAsAsked(asked, plan))),
    hasEnded: hasEnded(plan),
    // It shows metadata, and no key of ours among it: ours would have one, where the provider keeps it.
    isForeign: !isOurs && metadata !== undefined && metadata !== null,
  };
}

async function make(client: PaymentsClient, seal: Seal, change: Change, options: RequestOptions): Promise<Reply> {
  switch (change.kind) {
    case 'stop_plan':
      return client.schedules.destroy(change.plan, options);
    case 'update_card': {
      const params = (await seal.open(change.sealed)) as Parameters<typeof client.customers.updateCard>[2];
      return client.customers.updateCard(change.customer, change.card, params, options);
    }
    case 'remove_card':
      return client.customers.destroyCard(change.customer, change.card, options);
    case 'update_account': {
      const params = (await seal.open(change.sealed)) as Parameters<typeof client.account.update>[0];
      return client.account.update(params, options);
    }
    case 'upgrade_api_version':
      return client.account.updateApiVersion(options);
    case 'delete_document':
      return client.disputes.destroyDocument(change.dispute, change.document, options);
  }
}

/** A provider that keeps no metadata has made the plan all the same, under the id in its reply. */
async function keptWithoutMetadata(
  client: PaymentsClient,
  reply: Promise<Schedule>,
  { deadlineMs, signal }: RequestOptions,
): Promise<Reply> {
  try {
    return await reply;
  } catch (error) {
    if (!(error instanceof IntegrityError)) throw error;
    if (!error.fields.every((field) => field.startsWith('charge[metadata]'))) throw error;
    const { replyId: id } = error;
    return client.schedules.retrieve(id, { deadlineMs, signal }).catch(() => ({ id }));
  }
}

/** After a try in doubt, what is not there any more was removed by it, and a plan that has ended was ended. */
async function orGone(
  client: PaymentsClient,
  reply: Promise<Reply>,
  change: Change,
  options: RequestOptions,
): Promise<Reply> {
  try {
    return await reply;
  } catch (error) {
    if (!(error instanceof PaymentsError) || error.outcome !== 'rejected') throw error;
    const isGone = error instanceof NotFoundError;
    if (isGone && change.kind === 'remove_card') return { id: change.card };
    if (isGone && change.kind === 'delete_document') return { id: change.document };
    if (isGone && change.kind === 'stop_plan') return { id: change.plan };
    if (!(error instanceof InvalidRequestError) || change.kind !== 'stop_plan') throw error;
    const plan = await client.schedules.retrieve(change.plan, options);
    if (hasEnded(plan)) return plan;
    throw error;
  }
}

/** The plans of the asked kind that were made since and were not there before, the oldest first. */
async function plansSince(
  client: PaymentsClient,
  asked: ScheduleCreateParams,
  { since, except }: FindPlansCall,
  options: RequestOptions,
): Promise<Schedule[]> {
  const { chargeSchedules, transferSchedules } = client;
  const schedules = isCharging(asked) ? chargeSchedules : transferSchedules;
  const behindMs = await behindUs(schedules, options);
  const from = formatInstant(plus(parseInstant(since), -(behindMs + CLOCK_SKEW_MS)));
  const known = new Set(except);
  const plans = await schedules.iterate({ from, to: END_OF_TIME, order: 'chronological' }, options).toArray();
  return plans.filter(({ id }) => !known.has(id));
}

/** By how much the provider's clock is behind ours, in ms, as the upper bound of its lists tells; 0 where it does not. */
async function behindUs(schedules: Pick<PaymentsClient['chargeSchedules'], 'list'>, options: RequestOptions) {
  const { to } = await schedules.list({ limit: 1 }, options);
  const behindMs = Date.now() - Date.parse(to ?? '');
  return Number.isFinite(behindMs) ? Math.max(behindMs, 0) : 0;
}

/** What the API closed: its own schema has checked it. */
async function planIn(seal: Seal, sealed: string): Promise<ScheduleCreateParams> {
  return (await seal.open(sealed)) as ScheduleCreateParams;
}

/** The key that a plan is found again by. */
function keyOf({ charge }: Schedule | ScheduleCreateParams): unknown {
  return charge?.metadata?.['plan'];
}

function withoutMetadata(asked: ScheduleCreateParams): ScheduleCreateParams {
  return isCharging(asked) ? { ...asked, charge: { ...asked.charge, metadata: undefined } } : asked;
}

function isCharging(
  asked: ScheduleCreateParams,
): asked is ScheduleCreateParams & { charge: NonNullable<ScheduleCreateParams['charge']> } {
  return asked.charge !== undefined && asked.charge !== null;
}

const DAY_MS = 86_400_000;

/** One that was asked for without a first day begins when it is made, by a calendar of any zone. */
function startsAsAsked({ start_date }: ScheduleCreateParams, { start_on, created_at }: Schedule): boolean {
  if (start_date !== undefined && start_date !== null) return true;
  const apartMs = Math.abs(Date.parse(start_on ?? '') - Date.parse(created_at ?? ''));
  return !(apartMs > 2 * DAY_MS);
}

function hasEnded({ deleted, active, status }: Schedule): boolean {
  return deleted === true || active === false || ENDED.has(status);
}
