import type { PaymentsClient } from '../src/client.js';
import { Listing } from '../src/pagination/listing.js';
import type { RequestOptions } from '../src/options.js';
import {
  ACCOUNT,
  ACCOUNT_VERSIONS,
  CARD,
  CHARGE,
  CHARGE_SCHEDULE,
  CUSTOMER,
  DISPUTE,
  DOCUMENT,
  EVENT,
  listOf,
  NEW_CHARGE,
  NEW_SOURCE,
  OCCURRENCE,
  PNG,
  RECEIPT,
  REFUND,
  searchOf,
  SOURCE,
  TRANSACTION,
  TRANSFER_SCHEDULE,
} from './samples.js';

/** Properties of the client that are resources: not `close` and the like. */
type ResourceName = {
  [R in keyof PaymentsClient]: PaymentsClient[R] extends (...args: never) => unknown ? never : R & string;
}[keyof PaymentsClient];

/** As `charges.create`. */
export type MethodName = { [R in ResourceName]: `${R}.${keyof PaymentsClient[R] & string}` }[ResourceName];

type Method<N extends MethodName> = N extends `${infer R extends ResourceName}.${infer M}`
  ? M extends keyof PaymentsClient[R]
    ? PaymentsClient[R][M]
    : never
  : never;

/** What a method takes before its options, all of it, so that the options come last. */
type Arguments<N extends MethodName> =
  Method<N> extends (...args: infer A) => unknown
    ? Required<A> extends [...infer Before, RequestOptions]
      ? Before
      : never
    : never;

interface Row<N extends MethodName> {
  /** Verb and template of the path. */
  readonly endpoint: string;
  readonly args: Arguments<N>;
  /** The body of a reply in the reference's shape that answers these arguments. */
  readonly reply: object;
}

const money = { amount: 150_000, currency: 'THB' };

/** Every method of every resource. The compiler misses a row; so does `methods.spec.ts`. */
export const METHODS: { readonly [N in MethodName]: Row<N> } = {
  'sources.create': { endpoint: 'POST /sources', args: [{ ...money, type: 'wallet_mpm' }], reply: NEW_SOURCE },
  'sources.retrieve': { endpoint: 'GET /sources/{id}', args: ['src_test_1'], reply: SOURCE },

  'charges.create': { endpoint: 'POST /charges', args: [{ ...money, source: 'src_test_1' }], reply: NEW_CHARGE },
  'charges.retrieve': { endpoint: 'GET /charges/{id}', args: ['chrg_test_1'], reply: CHARGE },
  'charges.expire': { endpoint: 'POST /charges/{id}/expire', args: ['chrg_test_1'], reply: NEW_CHARGE },
  'charges.list': { endpoint: 'GET /charges', args: [{}], reply: listOf(CHARGE) },
  'charges.iterate': { endpoint: 'GET /charges', args: [{}], reply: listOf(CHARGE) },
  'charges.createRefund': {
    endpoint: 'POST /charges/{id}/refunds',
    args: ['chrg_test_1', { amount: 5_000, metadata: { reason: 'returned' } }],
    reply: REFUND,
  },
  'charges.listRefunds': { endpoint: 'GET /charges/{id}/refunds', args: ['chrg_test_1', {}], reply: listOf(REFUND) },
  'charges.iterateRefunds': { endpoint: 'GET /charges/{id}/refunds', args: ['chrg_test_1', {}], reply: listOf(REFUND) },
  'charges.listEvents': { endpoint: 'GET /charges/{id}/events', args: ['chrg_test_1', {}], reply: listOf(EVENT) },
  'charges.iterateEvents': { endpoint: 'GET /charges/{id}/events', args: ['chrg_test_1', {}], reply: listOf(EVENT) },
  'charges.markAsPaid': { endpoint: 'POST /charges/{id}/mark_as_paid', args: ['chrg_test_1'], reply: NEW_CHARGE },
  'charges.markAsFailed': { endpoint: 'POST /charges/{id}/mark_as_failed', args: ['chrg_test_1'], reply: CHARGE },

  'events.list': { endpoint: 'GET /events', args: [{}], reply: listOf(EVENT) },
  'events.iterate': { endpoint: 'GET /events', args: [{}], reply: listOf(EVENT) },
  'events.iterateTolerant': { endpoint: 'GET /events', args: [{}], reply: listOf(EVENT) },
  'events.retrieve': { endpoint: 'GET /events/{id}', args: ['evnt_test_1'], reply: EVENT },

  'transactions.list': { endpoint: 'GET /transactions', args: [{}], reply: listOf(TRANSACTION) },
  'transactions.iterate': { endpoint: 'GET /transactions', args: [{}], reply: listOf(TRANSACTION) },
  'transactions.retrieve': { endpoint: 'GET /transactions/{id}', args: ['trxn_test_1'], reply: TRANSACTION },

  'receipts.list': { endpoint: 'GET /receipts', args: [{}], reply: listOf(RECEIPT) },
  'receipts.iterate': { endpoint: 'GET /receipts', args: [{}], reply: listOf(RECEIPT) },
  'receipts.retrieve': { endpoint: 'GET /receipts/{id}', args: ['rcpt_test_1'], reply: RECEIPT },
  'receipts.search': { endpoint: 'GET /receipts/receipts/search', args: [{}], reply: searchOf(RECEIPT) },
  'receipts.iterateSearch': { endpoint: 'GET /receipts/receipts/search', args: [{}], reply: searchOf(RECEIPT) },

  'schedules.list': {
    endpoint: 'GET /schedules',
    args: [{}],
    reply: listOf<object>(CHARGE_SCHEDULE, TRANSFER_SCHEDULE),
  },
  'schedules.iterate': {
    endpoint: 'GET /schedules',
    args: [{}],
    reply: listOf<object>(CHARGE_SCHEDULE, TRANSFER_SCHEDULE),
  },
  'schedules.create': {
    endpoint: 'POST /schedules',
    args: [
      {
        every: 1,
        period: 'month',
        on: { days_of_month: [1, 15] },
        end_date: '2026-06-09',
        charge: { ...money, customer: 'cust_test_1', card: 'card_test_1', metadata: { flat: '7' } },
      },
    ],
    reply: CHARGE_SCHEDULE,
  },
  'schedules.retrieve': { endpoint: 'GET /schedules/{id}', args: ['schd_test_1'], reply: CHARGE_SCHEDULE },
  'schedules.destroy': { endpoint: 'DELETE /schedules/{id}', args: ['schd_test_1'], reply: CHARGE_SCHEDULE },
  'schedules.listOccurrences': {
    endpoint: 'GET /schedules/{id}/occurrences',
    args: ['schd_test_1', {}],
    reply: listOf(OCCURRENCE),
  },
  'schedules.iterateOccurrences': {
    endpoint: 'GET /schedules/{id}/occurrences',
    args: ['schd_test_1', {}],
    reply: listOf(OCCURRENCE),
  },

  'chargeSchedules.list': { endpoint: 'GET /charges/schedules', args: [{}], reply: listOf(CHARGE_SCHEDULE) },
  'chargeSchedules.iterate': { endpoint: 'GET /charges/schedules', args: [{}], reply: listOf(CHARGE_SCHEDULE) },
  'chargeSchedules.search': { endpoint: 'GET /charges/schedules/search', args: [{}], reply: searchOf(CHARGE_SCHEDULE) },
  'chargeSchedules.iterateSearch': {
    endpoint: 'GET /charges/schedules/search',
    args: [{}],
    reply: searchOf(CHARGE_SCHEDULE),
  },
  'transferSchedules.list': { endpoint: 'GET /transfers/schedules', args: [{}], reply: listOf(TRANSFER_SCHEDULE) },
  'transferSchedules.iterate': { endpoint: 'GET /transfers/schedules', args: [{}], reply: listOf(TRANSFER_SCHEDULE) },

  'account.retrieve': { endpoint: 'GET /account', args: [], reply: ACCOUNT },
  'account.update': { endpoint: 'PATCH /account', args: [{ chain_enabled: false }], reply: ACCOUNT },
  'account.updateApiVersion': { endpoint: 'PATCH /account/api_version', args: [], reply: ACCOUNT },
  'account.listApiVersions': { endpoint: 'GET /account/api_versions', args: [], reply: ACCOUNT_VERSIONS },

  'disputes.retrieve': { endpoint: 'GET /disputes/{id}', args: ['dspt_test_1'], reply: DISPUTE },
  'disputes.listDocuments': {
    endpoint: 'GET /disputes/{id}/documents',
    args: ['dspt_test_1', {}],
    reply: listOf(DOCUMENT),
  },
  'disputes.iterateDocuments': {
    endpoint: 'GET /disputes/{id}/documents',
    args: ['dspt_test_1', {}],
    reply: listOf(DOCUMENT),
  },
  'disputes.retrieveDocument': {
    endpoint: 'GET /disputes/{id}/documents/{document_id}',
    args: ['dspt_test_1', 'docu_test_1'],
    reply: DOCUMENT,
  },
  'disputes.createDocument': {
    endpoint: 'POST /disputes/{id}/documents',
    args: ['dspt_test_1', { file: PNG, filename: 'receipt.png', kind: 'receipt' }],
    reply: DOCUMENT,
  },
  'disputes.destroyDocument': {
    endpoint: 'DELETE /disputes/{id}/documents/{document_id}',
    args: ['dspt_test_1', 'docu_test_1'],
    reply: { ...DOCUMENT, deleted: true },
  },

  'customers.retrieve': { endpoint: 'GET /customers/{id}', args: ['cust_test_1'], reply: CUSTOMER },
  'customers.listCards': { endpoint: 'GET /customers/{id}/cards', args: ['cust_test_1', {}], reply: listOf(CARD) },
  'customers.iterateCards': { endpoint: 'GET /customers/{id}/cards', args: ['cust_test_1', {}], reply: listOf(CARD) },
  'customers.retrieveCard': {
    endpoint: 'GET /customers/{id}/cards/{card_id}',
    args: ['cust_test_1', 'card_test_1'],
    reply: CARD,
  },
  'customers.updateCard': {
    endpoint: 'PATCH /customers/{id}/cards/{card_id}',
    args: ['cust_test_1', 'card_test_1', { name: 'Somchai Prasert' }],
    reply: CARD,
  },
  'customers.destroyCard': {
    endpoint: 'DELETE /customers/{id}/cards/{card_id}',
    args: ['cust_test_1', 'card_test_1'],
    reply: { ...CARD, deleted: true },
  },
};

export const METHOD_NAMES = Object.keys(METHODS) as MethodName[];

/** Names of the methods that the classes really have. */
export function methodsOf(client: PaymentsClient): string[] {
  return Object.entries(client).flatMap(([resource, instance]: [string, object]) =>
    Object.getOwnPropertyNames(Object.getPrototypeOf(instance))
      .filter((name) => name !== 'constructor')
      .map((name) => `${resource}.${name}`),
  );
}

/** Calls a method with arguments; one that gives a listing reads it to its end. */
export async function call(
  client: PaymentsClient,
  name: MethodName,
  args: readonly unknown[] = METHODS[name].args,
  options?: RequestOptions,
): Promise<unknown> {
  const given = invoke(client, name, [...args, options]);
  return given instanceof Listing ? await given.toArray() : await given;
}

/** The listing of an `iterate*` method. */
export function iterate(client: PaymentsClient, name: MethodName): Listing<{ id: string }> {
  return invoke(client, name, METHODS[name].args) as Listing<{ id: string }>;
}

/** What the method gives at once: a promise or a listing. */
export function invoke(client: PaymentsClient, name: MethodName, args: readonly unknown[]): unknown {
  const [resource = '', method = ''] = name.split('.');
  const instance = Reflect.get(client, resource) as object;
  return Reflect.apply(Reflect.get(instance, method), instance, args);
}
