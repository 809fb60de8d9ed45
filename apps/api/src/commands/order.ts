import { createHash, createHmac } from 'node:crypto';
import { OWN_KEY_PREFIX } from '@tillflow/domain';
import type {
  AccountUpdateParams,
  CardUpdateParams,
  PaymentsClient,
  RequestOptions,
  ScheduleCreateParams,
} from '@tillflow/payments-client';
import type { Command } from '@tillflow/workflows';

/** A command as the API receives it. Its parameters leave this process only sealed. */
export type Order =
  | { readonly kind: 'create_plan'; readonly key: string; readonly params: ScheduleCreateParams }
  | { readonly kind: 'stop_plan'; readonly plan: string }
  | {
      readonly kind: 'update_card';
      readonly customer: string;
      readonly card: string;
      readonly params: CardUpdateParams;
    }
  | { readonly kind: 'remove_card'; readonly customer: string; readonly card: string }
  | { readonly kind: 'update_account'; readonly params: AccountUpdateParams }
  | { readonly kind: 'upgrade_api_version' }
  | { readonly kind: 'delete_document'; readonly dispute: string; readonly document: string };

/** The ids of the record to change; empty for the account and for a new record. */
export function targetOf(order: Order): string {
  switch (order.kind) {
    case 'stop_plan':
      return order.plan;
    case 'update_card':
    case 'remove_card':
      return `${order.customer}/${order.card}`;
    case 'delete_document':
      return `${order.dispute}/${order.document}`;
    case 'create_plan':
    case 'update_account':
    case 'upgrade_api_version':
      return '';
  }
}

/**
 * One workflow for each plan, each removal and each changed record, so that two changes of one record never run at the
 * same time. An `Idempotency-Key` is hashed, because people put names into such keys.
 */
export function workflowIdOf(order: Order, account: string): string {
  const subject = order.kind === 'create_plan' ? planKey(order.key) : targetOf(order);
  return ['command', account, order.kind, ...(subject === '' ? [] : [subject])].join('/');
}

/** The value in the metadata of a plan's charges, by which a lookup finds the plan. */
export function planKey(idempotencyKey: string): string {
  return sha256(idempotencyKey).slice(0, 32);
}

/**
 * The key of a plan without an `Idempotency-Key`: a hash of its content, so that a repeated request makes no second
 * plan.
 * @param generation from 1; the next number after the plans before have ended
 */
export function contentKey(params: ScheduleCreateParams, generation: number): string {
  return `${OWN_KEY_PREFIX}${generation}:${sha256(canonical(params))}`;
}

/** Whether each request runs again: it sets values. A creation or a removal runs once. */
export function isMadeAnew({ kind }: Order): boolean {
  return kind === 'update_card' || kind === 'update_account' || kind === 'upgrade_api_version';
}

/**
 * Equal for equal orders, in any order of their fields. A plan's fingerprint survives a change of the secret. The
 * others need the secret: a plain hash of a few words could be guessed.
 */
export function fingerprintOf(order: Order, secret: string): string {
  const text = canonical(order);
  return order.kind === 'create_plan' ? sha256(text) : createHmac('sha256', secret).update(text).digest('hex');
}

export function fieldsOf(order: Order): readonly string[] {
  return 'params' in order ? Object.keys(order.params) : [];
}

/**
 * @param seal encrypts the parameters
 * @param taskQueue names the installation: plans of another one need not wait for each other
 */
export async function toCommand(
  order: Order,
  seal: (params: object) => Promise<string>,
  taskQueue: string,
): Promise<Command> {
  switch (order.kind) {
    case 'create_plan': {
      const sealed = await seal(order.params);
      return {
        kind: order.kind,
        sealed,
        ...(order.params.charge === undefined ? { turn: sha256(canonical([taskQueue, order.params])) } : {}),
      };
    }
    case 'update_card':
    case 'update_account': {
      const { params, ...rest } = order;
      return { ...rest, sealed: await seal(params) };
    }
    case 'stop_plan':
    case 'remove_card':
    case 'upgrade_api_version':
    case 'delete_document':
      return order;
  }
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function canonical(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) => {
    if (typeof part !== 'object' || part === null || Array.isArray(part)) return part;
    return Object.fromEntries(Object.entries(part).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  });
}

/** Reads the record that an order changes; null for an order that creates one or changes the account. */
export function targetAtProvider(
  provider: PaymentsClient,
  order: Order,
): ((options: RequestOptions) => Promise<unknown>) | null {
  switch (order.kind) {
    case 'stop_plan':
      return (options) => provider.schedules.retrieve(order.plan, options);
    case 'update_card':
    case 'remove_card':
      return (options) => provider.customers.retrieveCard(order.customer, order.card, options);
    case 'delete_document':
      return (options) => provider.disputes.retrieveDocument(order.dispute, order.document, options);
    case 'create_plan':
    case 'update_account':
    case 'upgrade_api_version':
      return null;
  }
}
