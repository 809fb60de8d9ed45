import { AFTERCARE_WORKFLOW, CHECKOUT_WORKFLOW, FIRST_QR_WITHIN_MS, searchAttributes } from '@tillflow/workflows';

const IS_CURRENT = `WorkflowType IN ('${CHECKOUT_WORKFLOW}', '${AFTERCARE_WORKFLOW}') AND ExecutionStatus != 'ContinuedAsNew'`;

/**
 * The searches that find every checkout with an event in a time: one by the start, where the first QR code shows no
 * other change, and one by the change. Milliseconds since 1970 UTC. Searched in whole seconds: a database may store times
 * as text, where fractions do not compare.
 */
export function checkoutsWithEvents(taskQueue: string, from: number, to: number): readonly string[] {
  return ['StartTime', searchAttributes.changedAt.name].map(
    (name) =>
      `${IS_CURRENT} AND TaskQueue = '${taskQueue}' AND ${name} >= ${second(from)} AND ${name} < ${second(to + 1_000)}`,
  );
}

/**
 * The checkouts whose newest event was in a time. One with only its first QR code is found by its start.
 * @param early how long before `from` such a checkout may have started, in milliseconds
 */
export function checkoutsChanged(taskQueue: string, from: number, to: number, early = FIRST_QR_WITHIN_MS): string {
  const within = (name: string, begin: number): string =>
    `${name} >= ${second(begin)} AND ${name} < ${second(to + 1_000)}`;
  const { name } = searchAttributes.changedAt;
  const started = `${name} IS NULL AND ${within('StartTime', from - early)}`;
  return `${IS_CURRENT} AND TaskQueue = '${taskQueue}' AND ((${within(name, from)}) OR (${started}))`;
}

/** The checkouts that have changed since, after their first QR code. @param to null: until now */
export function checkoutsChangedAgain(taskQueue: string, from: number, to: number | null): string {
  const { name } = searchAttributes.changedAt;
  const until = to === null ? '' : ` AND ${name} < ${second(to + 1_000)}`;
  return `${IS_CURRENT} AND TaskQueue = '${taskQueue}' AND ${name} >= ${second(from)}${until}`;
}

const second = (at: number): string => `'${new Date(Math.floor(at / 1_000) * 1_000).toISOString()}'`;
