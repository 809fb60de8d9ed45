import { RouteConfig } from '@nestjs/platform-fastify';
import type { Scope } from '@tillflow/temporal';

/** Who may call a route, and what is checked before its body is read. */
export type Access = {
  /** What a key must be allowed; `any`: every key may; `session`: a session of the counter, and no key; null: everyone. */
  readonly scope: Scope | 'any' | 'session' | null;
  /** Another scope that a key needs as well. */
  readonly and?: Scope;
  /**
   * How the route keeps a key of some stores or tills to them. Absent: the route concerns the whole account, and refuses
   * such a key.
   *
   * - `checkout`: `id` in the address is a checkout, and one of another place is not found (`PlaceGuard`).
   * - `till`: the request names a till, and one of another place is forbidden (its service).
   * - `list`: the list leaves other places out (its service).
   * - `none`: nothing in the answer has a place.
   */
  readonly place?: 'checkout' | 'till' | 'list' | 'none';
  /** The route may wait for a checkout that Temporal does not know yet, and its service checks the place again. */
  readonly waits?: true;
  /** A session of the counter may call it, for its own till. */
  readonly till?: true;
  /** What permits the call without a key. */
  readonly or?: 'signed link' | 'codec link' | 'METRICS_OPEN';
  /** The route concerns all accounts, and is for keys of the account `default`. */
  readonly isOfInstallation?: true;
  /** True for routes without a rate limit. They must be cheap. */
  readonly isUnlimited?: true;
  /** The body: JSON when absent. `bytes`: the route gets the raw bytes. `files`: the route reads its body itself. */
  readonly body?: 'bytes' | 'files';
};

/** Every operation of the API, and who may call it. */
const ACCESS = {
  createCheckout: { scope: 'checkouts:write', place: 'till', till: true },
  listCheckouts: { scope: 'checkouts:read', place: 'list', till: true },
  getCheckout: { scope: 'checkouts:read', place: 'checkout', waits: true, till: true },
  cancelCheckout: { scope: 'checkouts:write', place: 'checkout', till: true },
  createAttempt: { scope: 'checkouts:write', place: 'checkout', till: true },
  getTimeline: { scope: 'checkouts:read', place: 'checkout' },
  getCheckoutReceipt: { scope: 'checkouts:read', place: 'checkout', till: true, or: 'signed link' },
  // `<img>` and `EventSource` cannot send a key.
  getQrImage: { scope: 'checkouts:read', place: 'checkout', till: true, or: 'signed link' },
  watchCheckout: { scope: 'checkouts:read', place: 'checkout', till: true, or: 'signed link' },
  getAvailability: { scope: 'checkouts:read', place: 'none', till: true },

  createRefund: { scope: 'refunds:write', place: 'checkout' },
  approveRefund: { scope: 'refunds:approve', place: 'checkout' },
  rejectRefund: { scope: 'refunds:approve', place: 'checkout' },
  listRefunds: { scope: 'checkouts:read', place: 'checkout' },

  // The session of a link reads, too.
  createCounterLink: { scope: 'checkouts:write', and: 'checkouts:read', place: 'till' },
  revokeCounterLink: { scope: 'checkouts:write', place: 'till' },
  listCounterLinks: { scope: 'ops' },
  openCounterSession: { scope: null },
  getCounterSession: { scope: 'session', till: true },
  getCounterDay: { scope: 'session', till: true },

  getKey: { scope: 'any', place: 'none' },

  getDayReport: { scope: 'ops' },
  startReconciliation: { scope: 'ops' },
  listReconciliations: { scope: 'ops' },
  getReconciliation: { scope: 'ops' },
  exportReconciliation: { scope: 'ops' },
  acknowledgeBreak: { scope: 'ops' },

  createEventEndpoint: { scope: 'ops' },
  listEventEndpoints: { scope: 'ops' },
  getEventEndpoint: { scope: 'ops' },
  updateEventEndpoint: { scope: 'ops' },
  deleteEventEndpoint: { scope: 'ops' },
  rotateEventEndpointSecret: { scope: 'ops' },
  testEventEndpoint: { scope: 'ops' },
  replayEvents: { scope: 'ops' },
  listEventDeliveries: { scope: 'ops' },

  createRecurringPlan: { scope: 'ops' },
  listRecurringPlans: { scope: 'ops' },
  getRecurringPlan: { scope: 'ops' },
  listOccurrences: { scope: 'ops' },
  stopRecurringPlan: { scope: 'ops' },

  getDispute: { scope: 'ops' },
  addEvidence: { scope: 'ops', body: 'files' },
  listEvidence: { scope: 'ops' },
  getEvidence: { scope: 'ops' },
  removeEvidence: { scope: 'ops' },

  getCustomer: { scope: 'ops' },
  listCards: { scope: 'ops' },
  getCard: { scope: 'ops' },
  updateCard: { scope: 'ops' },
  removeCard: { scope: 'ops' },

  getAccount: { scope: 'ops' },
  updateAccount: { scope: 'ops' },
  listApiVersions: { scope: 'ops' },
  upgradeApiVersion: { scope: 'ops' },

  listReceipts: { scope: 'ops' },
  getReceipt: { scope: 'ops' },
  listTransactions: { scope: 'ops' },
  getTransaction: { scope: 'ops' },
  listProviderEvents: { scope: 'ops' },
  getProviderEvent: { scope: 'ops' },
  markCharge: { scope: 'ops' },

  getCodecAddress: { scope: 'ops', isOfInstallation: true },
  encodePayloads: { scope: 'ops', isOfInstallation: true },
  decodePayloads: { scope: 'ops', isOfInstallation: true },
  useCodecAddress: { scope: 'ops', or: 'codec link', isOfInstallation: true },
  getMetrics: { scope: 'ops', or: 'METRICS_OPEN' },

  // The route counts the senders that it refuses.
  receiveWebhook: { scope: null, isUnlimited: true, body: 'bytes' },
  receiveAccountWebhook: { scope: null, isUnlimited: true, body: 'bytes' },
  getLiveness: { scope: null, isUnlimited: true },
  getReadiness: { scope: null, isUnlimited: true },
  explainProblem: { scope: null },
} as const satisfies Readonly<Record<string, Access>>;

export type OperationId = keyof typeof ACCESS;

declare module 'fastify' {
  interface FastifyContextConfig {
    /** A route without it refuses everyone. */
    access?: Access;
    operation?: OperationId;
  }
}

/** Opens a route to those who may call the operation. The API reads it before the body arrives. */
export const Admits = (operation: OperationId): MethodDecorator =>
  RouteConfig({ access: ACCESS[operation], operation });
