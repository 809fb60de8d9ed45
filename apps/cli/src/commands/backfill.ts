import { ApplicationFailure, WorkflowUpdateFailedError } from '@temporalio/client';
import { parseInstant } from '@tillflow/domain';
import { isTooSlow, probeWorkers, within, type Temporal } from '@tillflow/temporal';
import { backfill as backfillUpdate, MAX_UNPLACED, type EventCounts } from '@tillflow/workflows';
import { command, EXIT, UnreachableError, UsageError } from '../command.js';
import { tailOf, withTemporal } from '../temporal.js';
import { operator } from '../operator.js';
import { cliSettings } from '../settings.js';
import { utc } from '../text.js';

/** Enough for a month of a busy shop. Running the command again repeats nothing. */
const WITHIN_MS = 600_000;

export const backfill = command({
  name: 'backfill',
  synopsis: '--from <time> [--dry-run]',
  summary: "Reads the provider's events again since a time, and delivers those whose webhooks were lost.",
  details: [
    '  --from <time>   ISO 8601 with a zone, such as 2026-11-21T08:00:00Z',
    '  --dry-run       show what would be read, and how far the event tail has delivered',
    '',
    'Waits until all events are delivered. You can repeat the command safely: Tillflow does not deliver an event to a',
    'checkout that already shows it.',
    'Exit code 1: an event could not be delivered yet. The event tail tries again automatically.',
  ],
  takes: 0,
  options: { from: { type: 'string' }, 'dry-run': { type: 'boolean' } },
  async run({ values, environment }) {
    const from = timeOf(values.from);
    const settings = cliSettings(environment);
    return withTemporal(settings, async ({ temporal }) => {
      const { run, memo } = await tailOf(temporal, settings);
      const watermark = memo.pass?.watermark ?? null;
      if (values['dry-run'] === true) {
        return {
          exit: EXIT.ok,
          json: { dry_run: true, from, watermark },
          lines: [
            `would: read all events since ${utc(from)}`,
            `the event tail has delivered all events until ${utc(watermark)}`,
          ],
        };
      }
      if ((await probeWorkers(temporal, [run])) === 'silent') {
        throw new UnreachableError(
          'No worker runs the event tail, so nothing was requested. Run `pnpm tillflow doctor` to find out why.',
        );
      }
      const counts = await request(temporal, run.workflowId, from);
      return {
        exit: counts.unplaced === 0 ? EXIT.ok : EXIT.finding,
        json: { from, ...counts },
        lines: describe(counts),
      };
    });
  },
});

async function request({ client, connection }: Temporal, tail: string, from: string): Promise<EventCounts> {
  try {
    return await within(connection, WITHIN_MS, () =>
      client.workflow.getHandle(tail).executeUpdate(backfillUpdate, { args: [{ from, by: operator() }] }),
    );
  } catch (error) {
    if (error instanceof WorkflowUpdateFailedError && error.cause instanceof ApplicationFailure) {
      throw new UnreachableError(`The event tail could not read the events: ${error.cause.message}`);
    }
    if (!isTooSlow(error)) throw error;
    throw new UnreachableError(
      'The event tail did not finish in time. It may continue. You can safely repeat the command.',
    );
  }
}

function describe({ read, hinted, reopened, unplaced }: EventCounts): string[] {
  return [
    `events read: ${read}`,
    `checkouts asked to retrieve their charges: ${hinted}`,
    `closed checkouts opened again because of a payment: ${reopened}`,
    `not delivered yet, will be tried again: ${unplaced}${unplaced > MAX_UNPLACED ? ` (only the last ${MAX_UNPLACED}; run \`pnpm tillflow reconcile\` to find the other payments)` : ''}`,
  ];
}

function timeOf(text: string | undefined): string {
  if (text === undefined) throw new UsageError('backfill needs a --from');
  try {
    return new Date(parseInstant(text)).toISOString();
  } catch {
    throw new UsageError('--from must be ISO 8601 with a zone, such as 2026-11-21T08:00:00Z');
  }
}
