import { channel, subscribe } from 'node:diagnostics_channel';
import { DEFAULT_ACCOUNT, parseCheckoutId } from '@tillflow/domain';
import type { DeliveryRecord } from '@tillflow/workflows';
import { Counter, Histogram, type Registry } from 'prom-client';

const DELIVERIES = channel('tillflow:event-delivery');

type Report = { readonly record: DeliveryRecord; readonly delayMs: number };

/** Seconds. An endpoint that was down gets events hours later. */
const DELAYS = [0.25, 0.5, 1, 2, 5, 15, 60, 300, 3_600, 86_400];

/** @param delayMs from the event to the end of its delivery, in milliseconds */
export function reportDelivery(record: DeliveryRecord, delayMs: number): void {
  DELIVERIES.publish({ record, delayMs } satisfies Report);
}

/** Counts the deliveries of this process. Labels are accounts and results, never an endpoint or an id. */
export function countDeliveries(registry: Registry): void {
  const registers = [registry];
  const deliveries = new Counter({
    name: 'tillflow_event_deliveries_total',
    help: 'Deliveries of events: accepted, refused by an answer that is not 2xx, or unanswered.',
    labelNames: ['account', 'result'],
    registers,
  });
  const delays = new Histogram({
    name: 'tillflow_event_delivery_delay_seconds',
    help: 'From an event of a checkout to its accepted delivery.',
    labelNames: ['account'],
    buckets: DELAYS,
    registers,
  });
  subscribe(DELIVERIES.name, (message) => {
    const { record, delayMs } = message as Report;
    const isAccepted = record.next === undefined && record.error === undefined;
    const account = parseCheckoutId(record.checkout ?? '')?.account ?? DEFAULT_ACCOUNT;
    deliveries.inc({ account, result: isAccepted ? 'accepted' : record.status === null ? 'unanswered' : 'refused' });
    if (isAccepted) delays.observe({ account }, Math.max(0, delayMs) / 1_000);
  });
}
