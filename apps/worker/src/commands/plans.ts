import { formatInstant, parseInstant, plus } from '@tillflow/domain';
import {
  scheduleContradictions,
  type PaymentsClient,
  type RequestOptions,
  type Schedule,
  type ScheduleCreateParams,
} from '@tillflow/payments-client';
import type { Seal } from '@tillflow/temporal';
import type { Done, FindPlansCall, FoundPlan } from '@tillflow/workflows';
import { END_OF_TIME } from '../activities/provider-call.js';

/**
 * The worker's clock and the provider's may differ by this much, beyond the difference that the provider's lists show,
 * in milliseconds. It is large because an account has few plans, and an overlooked plan would be created twice.
 */
const CLOCK_SKEW_MS = 24 * 3_600_000;

const DAY_MS = 86_400_000;

/** Statuses of a plan that moves no more money. */
const ENDED: ReadonlySet<unknown> = new Set(['deleted', 'expired', 'suspended']);

/** Decrypts the parameters of a plan, which the API has validated. */
export async function openPlan(seal: Seal, sealed: string): Promise<ScheduleCreateParams> {
  return (await seal.open(sealed)) as ScheduleCreateParams;
}

/** Plans of the requested kind that were created after `since` and did not exist before, the oldest first. */
export async function plansSince(
  client: PaymentsClient,
  requested: ScheduleCreateParams,
  { since, except }: FindPlansCall,
  options: RequestOptions,
): Promise<Schedule[]> {
  const schedules = isOfCharges(requested) ? client.chargeSchedules : client.transferSchedules;
  const behindMs = await providerClockBehindMs(schedules, options);
  const from = formatInstant(plus(parseInstant(since), -(behindMs + CLOCK_SKEW_MS)));
  const existed = new Set(except);
  const plans = await schedules.iterate({ from, to: END_OF_TIME, order: 'chronological' }, options).toArray();
  return plans.filter(({ id }) => !existed.has(id));
}

/**
 * How far the provider's clock is behind, in milliseconds, by the upper bound of its lists; 0 when it is not behind.
 */
async function providerClockBehindMs(
  schedules: Pick<PaymentsClient['chargeSchedules'], 'list'>,
  options: RequestOptions,
): Promise<number> {
  const { to } = await schedules.list({ limit: 1 }, options);
  const behindMs = Date.now() - Date.parse(to ?? '');
  return Number.isFinite(behindMs) ? Math.max(behindMs, 0) : 0;
}

/** Compares a plan of the provider with the requested one. */
export function comparePlan(requested: ScheduleCreateParams, plan: Schedule): Omit<FoundPlan, keyof Done> {
  const key = keyOf(plan);
  const hasKey = key !== undefined && key === keyOf(requested);
  // Only the key in the metadata identifies the command.
  const contradictions = scheduleContradictions(withoutMetadata(requested), plan);
  const metadata = plan.charge?.metadata;
  return {
    hasKey,
    matches: contradictions.length === 0 && (hasKey || (key === undefined && hasRequestedStart(requested, plan))),
    hasEnded: hasEnded(plan),
    lacksKey: !hasKey && metadata !== undefined && metadata !== null,
  };
}

export function hasEnded({ deleted, active, status }: Schedule): boolean {
  return deleted === true || active === false || ENDED.has(status);
}

function keyOf({ charge }: Schedule | ScheduleCreateParams): unknown {
  return charge?.metadata?.['plan'];
}

function withoutMetadata(requested: ScheduleCreateParams): ScheduleCreateParams {
  return isOfCharges(requested) ? { ...requested, charge: { ...requested.charge, metadata: undefined } } : requested;
}

function isOfCharges(
  requested: ScheduleCreateParams,
): requested is ScheduleCreateParams & { charge: NonNullable<ScheduleCreateParams['charge']> } {
  return requested.charge !== undefined && requested.charge !== null;
}

/** Without a requested start date, a plan starts on the day of its creation in some time zone. */
function hasRequestedStart({ start_date }: ScheduleCreateParams, { start_on, created_at }: Schedule): boolean {
  if (start_date !== undefined && start_date !== null) return true;
  const apartMs = Math.abs(Date.parse(start_on ?? '') - Date.parse(created_at ?? ''));
  return !(apartMs > 2 * DAY_MS);
}
