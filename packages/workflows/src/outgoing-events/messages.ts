import { defineSignal, defineUpdate } from '@temporalio/workflow';
import type { CheckoutEvent } from '../checkout/published-events.js';
import type { Attributed } from '../shared/requester.js';
import type { EndpointState } from './endpoint.js';

/** The workflow type of one endpoint: it queues and delivers the events of its endpoint. */
export const EVENT_ENDPOINT_WORKFLOW = 'eventEndpoint';
/** The workflow type that finds the events of all checkouts of a task queue, while there is an endpoint. */
export const EVENT_FEED_WORKFLOW = 'eventFeed';

/** The task queue of the activities of outgoing events. It has places of its own, so that receivers delay no checkout. */
export function eventQueue(taskQueue: string): string {
  return `${taskQueue}-events`;
}

/** The most endpoints of an account. Each uses one slot, so that two simultaneous requests cannot exceed the limit. */
export const MAX_ENDPOINTS = 100;

/** The feed finds an event within this time, in milliseconds. A later one is found by a replay. */
export const FOUND_WITHIN_MS = 300_000;
/** Temporal's search shows a change within this time, as a rule. Milliseconds. */
export const SHOWN_WITHIN_MS = 10_000;
/** The status that disables an endpoint. Source: the contract of events. */
export const GONE = 410;

/** The workflow id of the endpoint in a slot, from 1. */
export function eventEndpointWorkflowId(account: string, slot: number): string {
  return `event-endpoint/${account}/${slot}`;
}

export function eventFeedWorkflowId(account: string): string {
  return `event-feed/${account}`;
}

/** Shown in the Temporal UI, and read when the feed starts again. */
export type EventFeedMemo = {
  /** Every enabled endpoint has all events until then, in milliseconds since 1970 UTC. */
  readonly since: number;
};

/** The part of an address that people may see: the rest may contain a secret of the receiver. */
export function originOf(url: string): string {
  return /^https?:\/\/[^/?#]+/i.exec(url)?.[0] ?? '';
}

/** Why an endpoint is disabled. */
export type DisabledBecause =
  /** A person disabled it. */
  | 'requested'
  /** It answered 410. */
  | 'gone'
  /** It accepted nothing for five days. */
  | 'failing';

/** What a person configures. Wire names. */
export type EndpointSettings = {
  readonly url: string;
  /** Null: every event. */
  readonly events: readonly CheckoutEvent[] | null;
  readonly description: string | null;
};

/** The memo of an endpoint. Reading it needs no worker. Wire names; times are ISO 8601 UTC. */
export type EventEndpointMemo = {
  readonly endpoint: EndpointSettings & {
    readonly id: string;
    readonly created_at: string;
    readonly updated_at: string;
    /** Who created it, as `Attributed` spells it. */
    readonly created_by: string | null;
  };
  /** It gets the events since then: the time of its start, in milliseconds since 1970 UTC. Absent until it runs. */
  readonly since?: number;
  /** The secrets and how links are written, sealed: {@link EndpointSecrets}. */
  readonly sealed: string;
  readonly health?: EndpointHealth;
  /** What people changed, the newest last: at most {@link MAX_CHANGES}. */
  readonly changes?: readonly MadeChange[];
};

/** A change of an endpoint, for the audit. It has no value that was sent. */
export type MadeChange = Attributed & {
  readonly at: string;
  /** What was changed: names of settings, `enabled`, `disabled` or `secret`. */
  readonly what: readonly string[];
};

/** The most changes that the memo of an endpoint keeps. */
export const MAX_CHANGES = 20;

export type EndpointHealth = {
  /** Null while it is enabled. */
  readonly disabled: { readonly because: DisabledBecause; readonly since: string } | null;
  /** The first failed delivery since the last accepted one; null when the last one was accepted. */
  readonly failing_since: string | null;
  /** For people: why the last delivery failed. */
  readonly failure: string | null;
};

/** What is sealed in the memo of an endpoint. */
export type EndpointSecrets = {
  /** `whsec_…`, the newest first. Each signs until its time, in milliseconds since 1970 UTC; null: without end. */
  readonly secrets: readonly { readonly secret: string; readonly until: number | null }[];
  /** How the API writes the links of a checkout. */
  readonly links: { readonly base: string; readonly key: string };
};

/** An event that is due. */
export type DueEvent = {
  /** The id of the checkout. */
  readonly checkout: string;
  readonly event: CheckoutEvent;
  /** The version of the checkout that it made. */
  readonly version: number;
  /** When, in milliseconds since 1970 UTC. */
  readonly at: number;
};

/** Milliseconds since 1970 UTC, both included. */
export type TimeRange = { readonly from: number; readonly to: number };

/** A list of checkouts, and which of their events it contains. Milliseconds since 1970 UTC. */
export type EventRange = {
  /** The list contains the checkouts whose newest event happened between `from` and `to`. */
  readonly from: number;
  /** Null: no end. Such a range is listed from its beginning, so that it also finds a checkout that changes meanwhile. */
  readonly to: number | null;
  /** The list contains only events of this time. It may be earlier: the checkouts have changed since. */
  readonly events: TimeRange;
};

/** The id of an endpoint. A message for a deleted endpoint may reach the one that has its workflow id now. */
type Addressed = { readonly endpoint: string };

export type EndpointChange = Attributed &
  Addressed & {
    readonly settings?: Partial<EndpointSettings>;
    readonly enabled?: boolean;
    /** Replaces what is sealed, when that is still `before`. */
    readonly sealed?: { readonly before: string; readonly after: string };
  };

/** The types of failures of updates. */
export const OTHER_ENDPOINT = 'other_endpoint';
export const SEALED_MEANWHILE = 'sealed_meanwhile';

export type EventEndpointInput = {
  /** Absent at the start of an endpoint. */
  readonly state?: EndpointState;
  /** What differs from `DEFAULT_ENDPOINT_POLICY`. */
  readonly policy?: Partial<EndpointPolicy>;
};

/** Times in milliseconds. Source: the contract of events in docs/api.md. */
export type EndpointPolicy = {
  /** The pauses before the second and each further try. */
  readonly retryDelaysMs: readonly number[];
  /** After this time without an accepted delivery, Tillflow disables the endpoint. */
  readonly disableAfterMs: number;
  /** The first pause before a delivery to an endpoint that is down. Each further pause is twice as long. */
  readonly probeMs: number;
  readonly maxProbeMs: number;
  /** The longest time of a run. The next run encrypts everything with the newest key, so that older keys can be removed. */
  readonly renewAfterMs: number;
};

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

export const DEFAULT_ENDPOINT_POLICY: EndpointPolicy = {
  retryDelaysMs: [5 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, 24 * HOUR],
  disableAfterMs: 5 * 24 * HOUR,
  probeMs: 5 * SECOND,
  maxProbeMs: MINUTE,
  renewAfterMs: 24 * HOUR,
};

/** Events that the feed has found, and a time whose events it could not hand over. */
export const due =
  defineSignal<[Addressed & { readonly events: readonly DueEvent[]; readonly missed?: TimeRange }]>('due');

/**
 * Changes settings, secrets, or whether the endpoint is enabled. Answers with the new memo. Fails with
 * {@link OTHER_ENDPOINT}, {@link SEALED_MEANWHILE}.
 */
export const change = defineUpdate<EventEndpointMemo, [EndpointChange]>('change');

/** Sends a marked event. Answers with the `webhook-id` of the delivery. */
export const test = defineUpdate<string, [Attributed & Addressed]>('test');

/** Sends the newest state of each checkout that had an event in a time range. */
export const replay = defineUpdate<void, [Attributed & Addressed & TimeRange]>('replay');

/** An endpoint was created: the feed goes on, also when it was about to end. */
export const wake = defineSignal('wake');
