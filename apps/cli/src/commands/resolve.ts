import { checkoutWorkflowId, type CheckoutStatus } from '@tillflow/domain';
import { isTemporalFailure, livenessOf, UnheardError, within } from '@tillflow/temporal';
import type { Asked, StoredCheckout, Temporal } from '@tillflow/temporal';
import { view, type Resolution } from '@tillflow/workflows';
import { checkoutJson, findCheckout } from '../checkouts.js';
import { command, type Report } from '../command.js';
import { EXIT, UnreachableError } from '../exit.js';
import { resolutionOf } from '../resolution.js';
import { cliSettings } from '../settings.js';
import { utc } from '../text.js';
import { READ_WITHIN_MS, withTemporal } from '../with-temporal.js';

/** A look at a provider that is down takes up to 45 s. */
const WITHIN_MS = 60_000;
const ADOPTABLE = /^(?:chrg|rfnd)_\w+$/;

export const resolve = command({
  name: 'resolve',
  synopsis: '<id|reference> --look | --adopt <charge or refund id> | --abandon --reason <text> [--dry-run]',
  summary: 'Decides where the machine cannot. Nothing here can declare a checkout paid.',
  details: [
    '  --look            ask the provider about all of it again, now, and try refused returns again',
    '  --adopt <id>      this charge (chrg_…) or refund (rfnd_…) is ours; it is verified like any other before it counts',
    '  --abandon         wait no longer for what is unresolved; what shows up later is still taken in',
    '  --reason <text>   why; it is written to the timeline',
    '  --dry-run         say what would be asked, and of what',
    '',
    'Waits until it was carried out. 1: refused, or what was to be adopted was not. 3: no worker took it, and nothing',
    'waits, so repeat it; or the provider did not answer, and it is looked at again by itself.',
  ],
  takes: 1,
  options: {
    look: { type: 'boolean' },
    adopt: { type: 'string' },
    abandon: { type: 'boolean' },
    reason: { type: 'string' },
    'dry-run': { type: 'boolean' },
  },
  async run({ values, positionals: [text = ''], environment }) {
    const resolution = resolutionOf(values, 'resolve', ADOPTABLE, 'of a charge (chrg_…) or a refund (rfnd_…)');
    return withTemporal(cliSettings(environment), async ({ temporal, checkouts }) => {
      const before = await findCheckout(checkouts, text);
      if (before.closed) return told({ kind: 'closed' }, resolution, before, null);
      if (values['dry-run'] === true) return wouldAsk(before, resolution);
      const workflowId = checkoutWorkflowId(before.intent);
      if ((await livenessOf(temporal, [{ workflowId }])) === 'silent') {
        throw new UnreachableError('No worker answers: nothing was asked. pnpm tillflow doctor, then repeat it.');
      }
      try {
        const asked = await checkouts.resolve(before.intent, resolution, WITHIN_MS);
        const silentSince = resolution.action === 'abandon' ? null : await silence(temporal, workflowId);
        return told(asked, resolution, await checkouts.get(before.intent), silentSince);
      } catch (error) {
        if (!(error instanceof UnheardError)) throw error;
        throw new UnreachableError(
          'No worker answered in time. The decision may still be carried out; look at the timeline, then repeat it.',
        );
      }
    });
  },
});

/** Since when the provider has not answered the checkout, ISO 8601; null while it does, or where nobody can tell. */
async function silence({ client, connection }: Temporal, workflowId: string): Promise<string | null> {
  try {
    const { provider_silent_since: since } = await within(connection, READ_WITHIN_MS, () =>
      client.workflow.getHandle(workflowId).query(view),
    );
    return since;
  } catch (error) {
    // The decision was carried out all the same.
    if (isTemporalFailure(error)) return null;
    throw error;
  }
}

function wouldAsk(stored: StoredCheckout, resolution: Resolution): Report {
  const { id } = stored.intent;
  return {
    exit: EXIT.ok,
    json: { dry_run: true, resolution, checkout: checkoutJson(stored) },
    lines: [`would: ${words(resolution)} ${id}`, ...state(stored)],
  };
}

function told(
  asked: Asked<CheckoutStatus>,
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
        lines: [`done: ${words(resolution)} ${id}`, ...state(stored)],
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
        lines: [`${id} has closed: nothing can be decided about it any more`, ...state(stored)],
      };
  }
}

function unanswered(resolution: Resolution, stored: StoredCheckout, since: string): Report {
  return {
    exit: EXIT.unreachable,
    json: { outcome: 'provider_silent', provider_silent_since: since, resolution, checkout: checkoutJson(stored) },
    lines: [
      `asked, and the provider has not answered since ${utc(since)}: this is what was known before.`,
      'It is looked at again by itself.',
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
    lines: [`not adopted: ${resolution.id} ${why}. pnpm tillflow show ${stored.intent.reference}`, ...state(stored)],
  };
}

/** Null where the checkout has it in its books as its own. */
function whyNotAdopted({ intent, state: { attempts }, refunds, timeline }: StoredCheckout, id: string): string | null {
  const refund = refunds.find((entry) => entry.id === id);
  // A refund that was made elsewhere has its id for a key.
  if (refund?.key === id) return 'is in the books as made elsewhere: no refund of ours over its amount is looked for';
  const isTakenIn =
    refund !== undefined ||
    attempts.some((attempt) => attempt.charge_id === id) ||
    refunds.some((entry) => entry.charge_id === id) ||
    // A second charge of one attempt.
    timeline.some(({ what, detail = '' }) => what === 'charge_created' && detail.split(',', 1)[0] === id);
  return isTakenIn ? null : `is not shown by the provider, or is not of ${intent.id}`;
}

function words(resolution: Resolution): string {
  switch (resolution.action) {
    case 'look':
      return 'look again at';
    case 'abandon':
      return 'abandon what is unresolved of';
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
