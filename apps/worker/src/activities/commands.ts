import {
  NotFoundError,
  type PaymentsClient,
  type RequestOptions,
  type Schedule,
  scheduleContradictions,
  type ScheduleCreateParams,
} from '@tillflow/payments-client';
import { formatInstant, parseInstant, plus } from '@tillflow/domain';
import type { Seal } from '@tillflow/temporal';
import type { Change, CommandActivities, Done, FindPlansCall, FoundPlan } from '@tillflow/workflows';
import { attempt, read } from './calling.js';
import { toCommandOutcome } from './failures.js';

/**
 * Clocks of ours and of the provider may differ by this much when plans are searched by time. Plans are few, and one
 * that is overlooked is made twice.
 */
const CLOCK_SKEW_MS = 24 * 3_600_000;

/** After every plan that there can be. ISO 8601 UTC. */
const FAR_AHEAD = '9999-01-01T00:00:00.000Z';

/** What the provider answered with. */
type Reply = { readonly id?: string | null | undefined };

/** The activities of commands: one client call each. What may be personal comes and goes sealed. */
export function commandActivities(client: PaymentsClient, seal: Seal): CommandActivities {
  const doneWith = async (reply: Reply): Promise<Done> => ({ id: reply.id ?? null, reply: await seal.close(reply) });
  return {
    createPlan: ({ sealed, ...window }) =>
      attempt(
        window,
        async (options) => doneWith(await client.schedules.create(await planIn(seal, sealed), options)),
        toCommandOutcome,
      ),

    changeAtProvider: ({ change, inDoubt, ...window }) =>
      attempt(
        window,
        async (options) => {
          const reply = make(client, seal, change, options);
          return doneWith(await (inDoubt ? orGone(reply, change) : reply));
        },
        toCommandOutcome,
      ),

    findPlans: (call) =>
      read(async (options) => {
        const asked = await planIn(seal, call.sealed);
        const found: FoundPlan[] = [];
        for (const plan of await plansSince(client, asked, call, options)) {
          const isOurs = keyOf(plan) !== undefined && keyOf(plan) === keyOf(asked);
          const fits = scheduleContradictions(isOurs ? asked : withoutMetadata(asked), plan).length === 0;
          if (isOurs || (fits && keyOf(plan) === undefined)) found.push({ ...(await doneWith(plan)), isOurs, fits });
        }
        return found;
      }),
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

/** After a try in doubt, what is not there any more was removed by it. */
async function orGone(reply: Promise<Reply>, change: Change): Promise<Reply> {
  try {
    return await reply;
  } catch (error) {
    if (!(error instanceof NotFoundError) || error.outcome !== 'rejected') throw error;
    if (change.kind === 'remove_card') return { id: change.card };
    if (change.kind === 'delete_document') return { id: change.document };
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
  const from = formatInstant(plus(parseInstant(since), -CLOCK_SKEW_MS));
  const { chargeSchedules, transferSchedules } = client;
  const schedules = asked.charge === undefined ? transferSchedules : chargeSchedules;
  const known = new Set(except);
  const plans = await schedules.iterate({ from, to: FAR_AHEAD, order: 'chronological' }, options).toArray();
  return plans.filter(({ id }) => !known.has(id));
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
  return asked.charge === undefined ? asked : { ...asked, charge: { ...asked.charge, metadata: undefined } };
}
