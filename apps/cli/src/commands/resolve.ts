import { checkoutWorkflowId, type CheckoutStatus } from '@tillflow/domain';
import { isTemporalFailure, probeWorkers, NotAcceptedError, within } from '@tillflow/temporal';
import type { RequestResult, StoredCheckout, Temporal } from '@tillflow/temporal';
import { ADOPTABLE_ID, view, type Resolution } from '@tillflow/workflows';
import { checkoutJson, findCheckout } from '../checkouts.js';
import { command, EXIT, type Report, UnreachableError, UsageError } from '../command.js';
import { resolutionOf } from '../operator.js';
import { cliSettings } from '../settings.js';
import { utc } from '../text.js';
import { READ_WITHIN_MS, withTemporal } from '../temporal.js';
import { MANY_DETAILS, resolveMany } from './resolve-many.js';

/** A lookup takes up to 45 s while the provider is down. */
const WITHIN_MS = 60_000;

export const resolve = command({
  name: 'resolve',
  synopsis:
    '<id|reference> --look | --adopt <charge or refund id> | --abandon --reason <text> [--dry-run]\n' +
    '       pnpm tillflow resolve --query <filter> --look --reason <text> [--rate <n>] [--dry-run]',
  summary: "Applies an operator's decision where Tillflow cannot decide. No option can declare a checkout paid.",
  details: [
    '  --look            retrieve everything from the provider again now, and retry refused returns of money',
    '  --adopt <id>      this charge (chrg_…) or refund (rfnd_…) belongs to the checkout; it is verified like any other',
    '  --abandon         stop waiting for unresolved charges and refunds; a later result is still recorded',
    '  --reason <text>   why; it is written to the timeline',
    '  --dry-run         show what would be requested, and the checkout',
    '',
    ...MANY_DETAILS,
    '',
    'Waits until the decision was carried out. Exit code 1: it was refused, or the id was not adopted. Exit code 3: no',
    'worker took it, so repeat the command; or the provider did not answer, and Tillflow asks again automatically.',
  ],
  takes: [0, 1],
  options: {
    look: { type: 'boolean' },
    adopt: { type: 'string' },
    abandon: { type: 'boolean' },
    reason: { type: 'string' },
    query: { type: 'string' },
    rate: { type: 'string' },
    'dry-run': { type: 'boolean' },
  },
  async run({ values, positionals: [text], environment, progress }) {
    const { query, rate, 'dry-run': dryRun = false } = values;
    if ((text === undefined) === (query === undefined)) throw new UsageError('resolve takes 1 argument, or --query');
    if (query === undefined && rate !== undefined) throw new UsageError('--rate is only valid with --query');
    const resolution = resolutionOf(values, 'resolve', ADOPTABLE_ID, 'of a charge (chrg_…) or a refund (rfnd_…)');
    if (text === undefined) {
      return resolveMany({ query, rate, dryRun, resolution }, cliSettings(environment), progress);
    }
    return withTemporal(cliSettings(environment), async ({ temporal, checkouts }) => {
      const before = await findCheckout(checkouts, text);
      if (before.closed) return reportOf({ kind: 'closed' }, resolution, before, null);
      if (dryRun) return dryRunOf(before, resolution);
      const workflowId = checkoutWorkflowId(before.intent);
      if ((await probeWorkers(temporal, [{ workflowId }])) === 'silent') {
        throw new UnreachableError(
          'No worker answers, so nothing was requested. Run `pnpm tillflow doctor`, then repeat the command.',
        );
      }
      try {
        const asked = await checkouts.resolve(before.intent, resolution, WITHIN_MS);
        const silentSince = resolution.action === 'abandon' ? null : await providerSilentSince(temporal, workflowId);
        return reportOf(asked, resolution, await checkouts.get(before.intent), silentSince);
      } catch (error) {
        if (!(error instanceof NotAcceptedError)) throw error;
        throw new UnreachableError(
          'No worker answered in time. The decision may still be carried out: check the timeline, then repeat the command.',
        );
      }
    });
  },
});

/** Since when the provider has not answered the checkout, ISO 8601. Null when it answers, or when that is unknown. */
async function providerSilentSince({ client, connection }: Temporal, workflowId: string): Promise<string | null> {
  try {
    const { provider_silent_since: since } = await within(connection, READ_WITHIN_MS, () =>
      client.workflow.getHandle(workflowId).query(view),
    );
    return since;
  } catch (error) {
    // The decision was carried out. Only this query failed.
    if (isTemporalFailure(error)) return null;
    throw error;
  }
}

function dryRunOf(stored: StoredCheckout, resolution: Resolution): Report {
  const { id } = stored.intent;
  return {
    exit: EXIT.ok,
    json: { dry_run: true, resolution, checkout: checkoutJson(stored) },
    lines: [`would: ${actionOf(resolution)} ${id}`, ...state(stored)],
  };
}

function reportOf(
  asked: RequestResult<CheckoutStatus>,
  resolution: Resolution,
  stored: StoredCheckout,
  silentSince: string | null,
): Report {
  const { id } = stored.intent;
  const checkout = checkoutJson(stored);
  switch (asked.kind) {
    case 'answered':
      if (silentSince !== null) return unanswered(resolution, stored, silentSince);
      if (resolution.action === 'adopt') {
        const why = whyNotAdopted(stored, resolution.id);
        if (why !== null) return notAdopted(resolution, stored, why);
      }
      return {
        exit: EXIT.ok,
        json: { outcome: 'done', resolution, checkout },
        lines: [`done: ${actionOf(resolution)} ${id}`, ...state(stored)],
      };
    case 'refused':
      return {
        exit: EXIT.finding,
        json: { outcome: 'refused', code: asked.code, message: asked.reason, checkout },
        lines: [`refused (${asked.code}): ${asked.reason}`, ...state(stored)],
      };
    case 'closed':
    case 'undecided':
      return {
        exit: EXIT.finding,
        json: { outcome: 'closed', checkout },
        lines: [`${id} has closed: it can no longer be resolved`, ...state(stored)],
      };
  }
}

function unanswered(resolution: Resolution, stored: StoredCheckout, since: string): Report {
  return {
    exit: EXIT.unreachable,
    json: { outcome: 'provider_silent', provider_silent_since: since, resolution, checkout: checkoutJson(stored) },
    lines: [
      `requested, but the provider has not answered since ${utc(since)}. This is the last known state:`,
      'Tillflow asks the provider again automatically.',
      ...state(stored),
    ],
  };
}

function notAdopted(
  resolution: Resolution & { readonly action: 'adopt' },
  stored: StoredCheckout,
  why: string,
): Report {
  return {
    exit: EXIT.finding,
    json: { outcome: 'not_adopted', resolution, checkout: checkoutJson(stored) },
    lines: [
      `not adopted: ${resolution.id} ${why}. Run \`pnpm tillflow show ${stored.intent.reference}\`.`,
      ...state(stored),
    ],
  };
}

/** Why the id was not adopted, or null when the checkout now has it as its own charge or refund. */
function whyNotAdopted({ intent, state: { attempts }, refunds, timeline }: StoredCheckout, id: string): string | null {
  const refund = refunds.find((entry) => entry.id === id);
  // A refund that was made elsewhere has its id for a key.
  if (refund?.key === id)
    return 'was recorded as made elsewhere: no requested refund of its amount is waiting for an outcome';
  const isRecorded =
    refund !== undefined ||
    attempts.some((attempt) => attempt.charge_id === id) ||
    refunds.some((entry) => entry.charge_id === id) ||
    // A second charge of one attempt.
    timeline.some(({ what, detail = '' }) => what === 'charge_created' && detail.split(',', 1)[0] === id);
  return isRecorded ? null : `does not exist at the provider, or does not belong to ${intent.id}`;
}

function actionOf(resolution: Resolution): string {
  switch (resolution.action) {
    case 'look':
      return 'look up';
    case 'abandon':
      return 'stop waiting for the unresolved charges and refunds of';
    case 'adopt':
      return `adopt ${resolution.id} into`;
  }
}

function state({ state: { status, attention } }: StoredCheckout): string[] {
  return [
    `status: ${status}`,
    attention === null ? 'attention: none' : `attention: ${attention.code}: ${attention.detail}`,
  ];
}
