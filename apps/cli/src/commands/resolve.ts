import type { Asked, StoredCheckout } from '@tillflow/temporal';
import { UnheardError } from '@tillflow/temporal';
import type { Resolution } from '@tillflow/workflows';
import type { CheckoutStatus } from '@tillflow/domain';
import { checkoutJson, findCheckout } from '../checkouts.js';
import { command, type Report } from '../command.js';
import { EXIT, UnreachableError, UsageError } from '../exit.js';
import { cliSettings } from '../settings.js';
import { withTemporal } from '../with-temporal.js';

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
    'Waits until it was carried out. 1: the checkout refused it. 3: no worker took it; nothing waits, so repeat it.',
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
    const resolution = resolutionOf(values);
    return withTemporal(cliSettings(environment), async ({ checkouts }) => {
      const before = await findCheckout(checkouts, text);
      if (values['dry-run'] === true) return wouldAsk(before, resolution);
      try {
        const asked = await checkouts.resolve(before.intent, resolution, WITHIN_MS);
        return told(asked, resolution, await checkouts.get(before.intent));
      } catch (error) {
        if (!(error instanceof UnheardError)) throw error;
        throw new UnreachableError(
          'No worker answered in time. The decision may still be carried out; look at the timeline, then repeat it.',
        );
      }
    });
  },
});

function resolutionOf(values: {
  readonly look?: boolean;
  readonly adopt?: string;
  readonly abandon?: boolean;
  readonly reason?: string;
}): Resolution {
  const { look, adopt, abandon, reason = '' } = values;
  const chosen = [look === true, adopt !== undefined, abandon === true].filter(Boolean).length;
  if (chosen !== 1) throw new UsageError('resolve wants exactly one of --look, --adopt and --abandon');
  if (reason.trim() === '') throw new UsageError('resolve wants a --reason');
  if (adopt === undefined) return { action: look === true ? 'look' : 'abandon', reason };
  if (!ADOPTABLE.test(adopt)) throw new UsageError('--adopt wants the id of a charge (chrg_…) or a refund (rfnd_…)');
  return { action: 'adopt', id: adopt, reason };
}

function wouldAsk(stored: StoredCheckout, resolution: Resolution): Report {
  const { id } = stored.intent;
  return {
    exit: EXIT.ok,
    json: { dry_run: true, resolution, checkout: checkoutJson(stored) },
    lines: [`would: ${words(resolution)} ${id}`, ...state(stored)],
  };
}

function told(asked: Asked<CheckoutStatus>, resolution: Resolution, stored: StoredCheckout): Report {
  const { id } = stored.intent;
  const checkout = checkoutJson(stored);
  switch (asked.kind) {
    case 'answered':
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
