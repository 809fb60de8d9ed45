import type { PaymentsClient } from '../src/client.js';
import type { RequestOptions } from '../src/options.js';
import { Listing } from '../src/pagination/listing.js';
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

/** Properties of the client that are resources, unlike `close`. */
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

/** All parameters of a method before its options. */
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
  /** The reply to these arguments, in the reference's shape. */
  readonly reply: object;
}

const row = <A extends unknown[]>(endpoint: string, args: [...A], reply: object) => ({ endpoint, args, reply });

const money = { amount: 150_000, currency: 'THB' };
const monthly = {
  every: 1,
  period: 'month',
  on: { days_of_month: [1, 15] },
  end_date: '2026-06-09',
  charge: { ...money, customer: 'cust_test_1', card: 'card_test_1', metadata: { flat: '7' } },
};

/** Every method of every resource. The compiler reports a missing row, and so does `methods.spec.ts`. */
export const METHODS: { readonly [N in MethodName]: Row<N> } = {
  'sources.create': row('POST /sources', [{ ...money, type: 'wallet_mpm' }], NEW_SOURCE),
  'sources.retrieve': row('GET /sources/{id}', ['src_test_1'], SOURCE),

  'charges.create': row('POST /charges', [{ ...money, source: 'src_test_1' }], NEW_CHARGE),
  'charges.retrieve': row('GET /charges/{id}', ['chrg_test_1'], CHARGE),
  'charges.expire': row('POST /charges/{id}/expire', ['chrg_test_1'], NEW_CHARGE),
  'charges.list': row('GET /charges', [{}], listOf(CHARGE)),
  'charges.iterate': row('GET /charges', [{}], listOf(CHARGE)),
  'charges.createRefund': row(
    'POST /charges/{id}/refunds',
    ['chrg_test_1', { amount: 5_000, metadata: { reason: 'returned' } }],
    REFUND,
  ),
  'charges.listRefunds': row('GET /charges/{id}/refunds', ['chrg_test_1', {}], listOf(REFUND)),
  'charges.iterateRefunds': row('GET /charges/{id}/refunds', ['chrg_test_1', {}], listOf(REFUND)),
  'charges.listEvents': row('GET /charges/{id}/events', ['chrg_test_1', {}], listOf(EVENT)),
  'charges.iterateEvents': row('GET /charges/{id}/events', ['chrg_test_1', {}], listOf(EVENT)),
  'charges.markAsPaid': row('POST /charges/{id}/mark_as_paid', ['chrg_test_1'], NEW_CHARGE),
  'charges.markAsFailed': row('POST /charges/{id}/mark_as_failed', ['chrg_test_1'], CHARGE),

  'events.list': row('GET /events', [{}], listOf(EVENT)),
  'events.iterate': row('GET /events', [{}], listOf(EVENT)),
  'events.iterateTolerant': row('GET /events', [{}], listOf(EVENT)),
  'events.retrieve': row('GET /events/{id}', ['evnt_test_1'], EVENT),

  'transactions.list': row('GET /transactions', [{}], listOf(TRANSACTION)),
  'transactions.iterate': row('GET /transactions', [{}], listOf(TRANSACTION)),
  'transactions.retrieve': row('GET /transactions/{id}', ['trxn_test_1'], TRANSACTION),

  'receipts.list': row('GET /receipts', [{}], listOf(RECEIPT)),
  'receipts.iterate': row('GET /receipts', [{}], listOf(RECEIPT)),
  'receipts.retrieve': row('GET /receipts/{id}', ['rcpt_test_1'], RECEIPT),
  'receipts.search': row('GET /receipts/receipts/search', [{}], searchOf(RECEIPT)),
  'receipts.iterateSearch': row('GET /receipts/receipts/search', [{}], searchOf(RECEIPT)),

  'schedules.list': row('GET /schedules', [{}], listOf<object>(CHARGE_SCHEDULE, TRANSFER_SCHEDULE)),
  'schedules.iterate': row('GET /schedules', [{}], listOf<object>(CHARGE_SCHEDULE, TRANSFER_SCHEDULE)),
  'schedules.create': row('POST /schedules', [monthly], CHARGE_SCHEDULE),
  'schedules.retrieve': row('GET /schedules/{id}', ['schd_test_1'], CHARGE_SCHEDULE),
  'schedules.destroy': row('DELETE /schedules/{id}', ['schd_test_1'], CHARGE_SCHEDULE),
  'schedules.listOccurrences': row('GET /schedules/{id}/occurrences', ['schd_test_1', {}], listOf(OCCURRENCE)),
  'schedules.iterateOccurrences': row('GET /schedules/{id}/occurrences', ['schd_test_1', {}], listOf(OCCURRENCE)),

  'chargeSchedules.list': row('GET /charges/schedules', [{}], listOf(CHARGE_SCHEDULE)),
  'chargeSchedules.iterate': row('GET /charges/schedules', [{}], listOf(CHARGE_SCHEDULE)),
  'chargeSchedules.search': row('GET /charges/schedules/search', [{}], searchOf(CHARGE_SCHEDULE)),
  'chargeSchedules.iterateSearch': row('GET /charges/schedules/search', [{}], searchOf(CHARGE_SCHEDULE)),
  'transferSchedules.list': row('GET /transfers/schedules', [{}], listOf(TRANSFER_SCHEDULE)),
  'transferSchedules.iterate': row('GET /transfers/schedules', [{}], listOf(TRANSFER_SCHEDULE)),

  'account.retrieve': row('GET /account', [], ACCOUNT),
  'account.update': row('PATCH /account', [{ chain_enabled: false }], ACCOUNT),
  'account.updateApiVersion': row('PATCH /account/api_version', [], ACCOUNT),
  'account.listApiVersions': row('GET /account/api_versions', [], ACCOUNT_VERSIONS),

  'disputes.retrieve': row('GET /disputes/{id}', ['dspt_test_1'], DISPUTE),
  'disputes.listDocuments': row('GET /disputes/{id}/documents', ['dspt_test_1', {}], listOf(DOCUMENT)),
  'disputes.iterateDocuments': row('GET /disputes/{id}/documents', ['dspt_test_1', {}], listOf(DOCUMENT)),
  'disputes.retrieveDocument': row(
    'GET /disputes/{id}/documents/{document_id}',
    ['dspt_test_1', 'docu_test_1'],
    DOCUMENT,
  ),
  'disputes.createDocument': row(
    'POST /disputes/{id}/documents',
    ['dspt_test_1', { file: PNG, filename: 'receipt.png', kind: 'receipt' }],
    DOCUMENT,
  ),
  'disputes.destroyDocument': row('DELETE /disputes/{id}/documents/{document_id}', ['dspt_test_1', 'docu_test_1'], {
    ...DOCUMENT,
    deleted: true,
  }),

  'customers.retrieve': row('GET /customers/{id}', ['cust_test_1'], CUSTOMER),
  'customers.listCards': row('GET /customers/{id}/cards', ['cust_test_1', {}], listOf(CARD)),
  'customers.iterateCards': row('GET /customers/{id}/cards', ['cust_test_1', {}], listOf(CARD)),
  'customers.retrieveCard': row('GET /customers/{id}/cards/{card_id}', ['cust_test_1', 'card_test_1'], CARD),
  'customers.updateCard': row(
    'PATCH /customers/{id}/cards/{card_id}',
    ['cust_test_1', 'card_test_1', { name: 'Somchai Prasert' }],
    CARD,
  ),
  'customers.destroyCard': row('DELETE /customers/{id}/cards/{card_id}', ['cust_test_1', 'card_test_1'], {
    ...CARD,
    deleted: true,
  }),
};

export const METHOD_NAMES = Object.keys(METHODS) as MethodName[];

/** Names of the methods that the classes have. */
export function methodsOf(client: PaymentsClient): string[] {
  return Object.entries(client).flatMap(([resource, instance]: [string, object]) =>
    Object.getOwnPropertyNames(Object.getPrototypeOf(instance))
      .filter((name) => name !== 'constructor')
      .map((name) => `${resource}.${name}`),
  );
}

/** Calls a method. Reads a listing to its end. */
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

/** What the method returns: a promise or a listing. */
export function invoke(client: PaymentsClient, name: MethodName, args: readonly unknown[]): unknown {
  const [resource = '', method = ''] = name.split('.');
  const instance = Reflect.get(client, resource) as object;
  return Reflect.apply(Reflect.get(instance, method), instance, args);
}
