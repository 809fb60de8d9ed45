import { ApplicationFailure, WorkflowUpdateFailedError } from '@temporalio/client';
import { parseInstant } from '@tillflow/domain';
import { isTooSlow, livenessOf, within, type Temporal } from '@tillflow/temporal';
import { backfill as backfillUpdate, MAX_UNPLACED, type EventCounts } from '@tillflow/workflows';
import { command } from '../command.js';
import { tailOf } from '../event-tail.js';
import { EXIT, UnreachableError, UsageError } from '../exit.js';
import { operator } from '../operator.js';
import { cliSettings } from '../settings.js';
import { utc } from '../text.js';
import { withTemporal } from '../with-temporal.js';

/** A month of a busy shop. Repeated after it, nothing is done twice. */
const WITHIN_MS = 600_000;

export const backfill = command({
  name: 'backfill',
  synopsis: '--from <time> [--dry-run]',
  summary: "Reads the provider's events again from a time on, and delivers what webhooks have lost.",
  details: [
    '  --from <time>   ISO 8601 with a zone, such as 2026-11-21T08:00:00Z',
    '  --dry-run       say from when on would be read, and where the event tail is now',
    '',
    'Waits until all is delivered. Safe to repeat: what a checkout knows already is not delivered.',
    '1: an event could not be delivered yet; it is tried again by itself.',
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
            `the event tail has delivered all up to ${utc(watermark)}`,
          ],
        };
      }
      if ((await livenessOf(temporal, [run])) === 'silent') {
        throw new UnreachableError('No worker answers for the event tail: nothing was asked. pnpm tillflow doctor.');
      }
      const counts = await ask(temporal, run.workflowId, from);
      return {
        exit: counts.unplaced === 0 ? EXIT.ok : EXIT.finding,
        json: { from, ...counts },
        lines: describe(counts),
      };
    });
  },
});

async function ask({ client, connection }: Temporal, tail: string, from: string): Promise<EventCounts> {
  try {
    return await within(connection, WITHIN_MS, () =>
      client.workflow.getHandle(tail).executeUpdate(backfillUpdate, { args: [{ from, by: operator() }] }),
    );
  } catch (error) {
    if (error instanceof WorkflowUpdateFailedError && error.cause instanceof ApplicationFailure) {
      throw new UnreachableError(`The event tail gave up: ${error.cause.message}`);
    }
    if (!isTooSlow(error)) throw error;
    throw new UnreachableError(
      'The event tail did not end reading in time. It may go on; the same command is safe to repeat.',
    );
  }
}

function describe({ read, hinted, reopened, unplaced }: EventCounts): string[] {
  return [
    `events read: ${read}`,
    `checkouts told to look: ${hinted}`,
    `closed checkouts opened again for money that came: ${reopened}`,
    `not delivered yet, tried again by itself: ${unplaced}${unplaced > MAX_UNPLACED ? ` (the last ${MAX_UNPLACED} of them; pnpm tillflow reconcile finds the other payments)` : ''}`,
  ];
}

function timeOf(text: string | undefined): string {
  if (text === undefined) throw new UsageError('backfill wants a --from');
  try {
    return new Date(parseInstant(text)).toISOString();
  } catch {
    throw new UsageError('--from must be ISO 8601 with a zone, such as 2026-11-21T08:00:00Z');
  }
}
