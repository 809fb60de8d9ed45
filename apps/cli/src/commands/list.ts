import { CHECKOUT_STATUSES, formatMoney, isCheckoutStatus } from '@tillflow/domain';
import { checkoutQueries, type Checkouts, type CheckoutFilters, type StoredCheckout } from '@tillflow/temporal';
import { checkoutJson } from '../checkouts.js';
import { command } from '../command.js';
import { EXIT, UsageError } from '../exit.js';
import { cliSettings } from '../settings.js';
import { ago, columns, utc } from '../text.js';
import { withTemporal } from '../with-temporal.js';

const PAGE = 100;
const MOST = 10_000;

/** Some checkouts: what was read, whether there are more, and what could not be read. */
type Listed = {
  readonly checkouts: readonly StoredCheckout[];
  readonly more: boolean;
  readonly unreadable: readonly string[];
};

export const list = command({
  name: 'list',
  synopsis: '[--attention] [--status <status>] [--limit <n>]',
  summary: 'Checkouts: open ones first, then those that ended, the newest first in each.',
  details: [
    '  --attention         only those that need a person, or may soon',
    `  --status <status>   ${CHECKOUT_STATUSES.join(', ')}`,
    `  --limit <n>         how many, 1 to ${MOST}; default 50`,
  ],
  takes: 0,
  options: { attention: { type: 'boolean' }, status: { type: 'string' }, limit: { type: 'string' } },
  async run({ values, environment }) {
    const { status, attention } = values;
    if (status !== undefined && !isCheckoutStatus(status)) {
      throw new UsageError(`--status must be one of ${CHECKOUT_STATUSES.join(', ')}`);
    }
    const limit = limitOf(values.limit ?? '50');
    const listed = await withTemporal(cliSettings(environment), ({ checkouts }) =>
      read(checkouts, { status, attention }, limit),
    );
    return {
      exit: EXIT.ok,
      json: { data: listed.checkouts.map(checkoutJson), more: listed.more, unreadable: listed.unreadable },
      lines: describe(listed, attention === true),
    };
  },
});

async function read(checkouts: Checkouts, filters: CheckoutFilters, limit: number): Promise<Listed> {
  const found = new Map<string, StoredCheckout>();
  const unreadable: string[] = [];
  for (const query of checkoutQueries(filters)) {
    let token: Uint8Array | null = null;
    do {
      // Whole pages: of some statuses only a few of what is found are meant.
      const page = await checkouts.page(query, PAGE, token, (workflow) => unreadable.push(workflow));
      for (const stored of page.data) {
        // The attribute does not tell creating from awaiting_payment, and may lag; the memo decides.
        const isMeant = filters.status === undefined || stored.state.status === filters.status;
        // One that ended between two searches is found by both.
        if (isMeant) found.set(stored.intent.id, stored);
      }
      token = page.nextPageToken;
    } while (token !== null && found.size <= limit);
    if (found.size > limit) break;
  }
  const all = [...found.values()];
  return { checkouts: all.slice(0, limit), more: all.length > limit, unreadable };
}

function describe({ checkouts, more, unreadable }: Listed, attention: boolean): string[] {
  const now = Date.now();
  const rows = checkouts.map(({ intent, state, closed }) => [
    intent.reference,
    closed && state.attention !== null ? `${state.status}, closed` : state.status,
    formatMoney(intent),
    utc(intent.created_at),
    ...(state.attention === null
      ? []
      : [`${state.attention.code} for ${ago(state.attention.since, now)}: ${state.attention.detail}`]),
  ]);
  const nothing = attention ? 'No checkout needs attention.' : 'No checkout found.';
  return [
    ...(rows.length === 0 ? [nothing] : columns([['REFERENCE', 'STATUS', 'AMOUNT', 'CREATED', 'ATTENTION'], ...rows])),
    ...(more ? ['… and more: set --limit'] : []),
    ...unreadable.map((workflow) => `${workflow} cannot be read: a key of PAYLOAD_KEYS is missing`),
  ];
}

function limitOf(text: string): number {
  const limit = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > MOST) throw new UsageError(`--limit must be a whole number from 1 to ${MOST}`);
  return limit;
}
