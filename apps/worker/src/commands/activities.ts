import {
  IntegrityError,
  InvalidRequestError,
  NotFoundError,
  type PaymentsClient,
  PaymentsError,
  type RequestOptions,
  type Schedule,
} from '@tillflow/payments-client';
import type { Seal } from '@tillflow/temporal';
import type { Change, CommandActivities, Done, FoundPlan } from '@tillflow/workflows';
import { toCommandOutcome } from '../activities/failures.js';
import { attempt, read, type Rest } from '../activities/provider-call.js';
import { comparePlan, hasEnded, openPlan, plansSince } from './plans.js';

/** The provider's reply to a change. */
type Reply = { readonly id?: string | null | undefined };

/** The activities of commands. Values that may be personal are sealed in their input and output. */
export function commandActivities(client: PaymentsClient, seal: Seal): CommandActivities {
  const doneWith = async (reply: Reply): Promise<Done> => ({ id: reply.id ?? null, reply: await seal.close(reply) });
  return {
    createPlan: async ({ sealed, ...window }) => {
      const outcome = await attempt(
        window,
        async (options, rest) => {
          const requested = await openPlan(seal, sealed);
          return doneWith(await acceptMissingMetadata(client, client.schedules.create(requested, options), rest));
        },
        (error) =>
          error instanceof IntegrityError
            ? { kind: 'otherwise' as const, id: error.replyId, message: error.message }
            : toCommandOutcome(error),
      );
      return redact(seal, sealed, outcome);
    },

    changeAtProvider: async ({ change, isRepeat, ...window }) => {
      const outcome = await attempt(
        window,
        async (options, rest) => {
          const reply = makeChange(client, seal, change, options);
          return doneWith(await (isRepeat ? acceptEarlierEffect(client, reply, change, rest) : reply));
        },
        toCommandOutcome,
      );
      return 'sealed' in change ? redact(seal, change.sealed, outcome) : outcome;
    },

    findPlans: (call) =>
      read(async (options) => {
        const requested = await openPlan(seal, call.sealed);
        const found: FoundPlan[] = [];
        for (const plan of await plansSince(client, requested, call, options)) {
          const comparison = comparePlan(requested, plan);
          if (comparison.hasKey || comparison.matches) found.push({ ...(await doneWith(plan)), ...comparison });
        }
        return found;
      }),

    retrievePlan: ({ sealed, plan }) =>
      read(async (options) => {
        const requested = await openPlan(seal, sealed);
        const found = await client.schedules.retrieve(plan, options);
        return { ...(await doneWith(found)), ...comparePlan(requested, found) };
      }),
  };
}

async function makeChange(client: PaymentsClient, seal: Seal, change: Change, options: RequestOptions): Promise<Reply> {
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

/** When the provider does not store metadata, the reply still proves that it created the plan with this id. */
async function acceptMissingMetadata(
  client: PaymentsClient,
  reply: Promise<Schedule>,
  rest: Rest<RequestOptions>,
): Promise<Reply> {
  try {
    return await reply;
  } catch (error) {
    if (!(error instanceof IntegrityError)) throw error;
    if (!error.fields.every((field) => field.startsWith('charge[metadata]'))) throw error;
    const { replyId: id } = error;
    // It reads: the time until which the create may be sent is not its own.
    const { sendBy: _, ...options } = rest();
    return client.schedules.retrieve(id, options).catch(() => ({ id }));
  }
}

/**
 * After a try with an unknown outcome, a record that is gone was removed by that try, and an ended plan was ended by
 * it.
 */
async function acceptEarlierEffect(
  client: PaymentsClient,
  reply: Promise<Reply>,
  change: Change,
  rest: Rest<RequestOptions>,
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
    const plan = await client.schedules.retrieve(change.plan, rest());
    if (hasEnded(plan)) return plan;
    throw error;
  }
}

/** Removes sealed texts from the message: a provider may repeat them in its refusal, and messages are not sealed. */
async function redact<T extends { readonly kind: string; readonly message?: string }>(
  seal: Seal,
  sealed: string,
  outcome: T,
): Promise<T> {
  const { message } = outcome;
  if (message === undefined) return outcome;
  // Parameters that cannot be decrypted were not sent.
  const texts = await seal.open(sealed).then(personalTexts, () => []);
  return { ...outcome, message: texts.reduce((redacted, text) => redacted.replaceAll(text, '…'), message) };
}

/** A single character, or a currency. */
const HARMLESS = /^(?:.?|[A-Z]{3})$/s;
const HARMLESS_FIELDS: ReadonlySet<string> = new Set([
  'period',
  'on',
  'start_date',
  'end_date',
  'customer',
  'card',
  'recipient',
]);

/** The texts in parameters, without ids, dates, currencies and periods. */
function personalTexts(params: unknown): string[] {
  if (typeof params === 'string') return HARMLESS.test(params) ? [] : [params];
  if (typeof params !== 'object' || params === null) return [];
  return Object.entries(params).flatMap(([name, value]) => (HARMLESS_FIELDS.has(name) ? [] : personalTexts(value)));
}
