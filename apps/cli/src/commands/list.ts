import { CHECKOUT_STATUSES, formatMoney, isCheckoutStatus, isReference } from '@tillflow/domain';
import {
  CheckoutList,
  type CheckoutFilters,
  type Checkouts,
  type ListPage,
  type ListPlace,
  type StoredCheckout,
} from '@tillflow/temporal';
import { cannotBeRead, checkoutJson } from '../checkouts.js';
import { command, EXIT, UsageError } from '../command.js';
import { cliSettings } from '../settings.js';
import { ago, columns, utc } from '../text.js';
import { withTemporal } from '../temporal.js';

const PAGE = 100;
const MOST = 10_000;

/** The checkouts that were read, whether there are more, and the workflows that could not be read. */
type Listed = {
  readonly checkouts: readonly StoredCheckout[];
  readonly more: boolean;
  readonly unreadable: readonly string[];
};

export const list = command({
  name: 'list',
  synopsis: '[--attention] [--status <status>] [--store <id>] [--terminal <name>] [--limit <n>]',
  summary: 'Lists checkouts: first the open ones, then the others, each with the newest first.',
  details: [
    '  --attention         only checkouts that need a person now, or may need one soon',
    `  --status <status>   ${CHECKOUT_STATUSES.join(', ')}`,
    '  --store <id>        only those of one store',
    '  --terminal <name>   only those of one till',
    `  --limit <n>         how many, 1 to ${MOST}; default: 50`,
  ],
  takes: 0,
  options: {
    attention: { type: 'boolean' },
    status: { type: 'string' },
    store: { type: 'string' },
    terminal: { type: 'string' },
    limit: { type: 'string' },
  },
  async run({ values, environment }) {
    const { status, attention, store, terminal } = values;
    if (status !== undefined && !isCheckoutStatus(status)) {
      throw new UsageError(`--status must be one of ${CHECKOUT_STATUSES.join(', ')}`);
    }
    if (store !== undefined && !isReference(store)) throw new UsageError(`--store must be the id of a store`);
    const limit = limitOf(values.limit ?? '50');
    const listed = await withTemporal(cliSettings(environment), ({ checkouts }) =>
      readCheckouts(checkouts, { status, attention, store, terminal }, limit),
    );
    return {
      exit: EXIT.ok,
      json: { data: listed.checkouts.map(checkoutJson), more: listed.more, unreadable: listed.unreadable },
      lines: describe(listed, attention === true),
    };
  },
});

/** The first checkouts that match. */
export async function readCheckouts(checkouts: Checkouts, filters: CheckoutFilters, limit: number): Promise<Listed> {
  const unreadable: string[] = [];
  const list = new CheckoutList(checkouts, filters, (workflow) => unreadable.push(workflow));
  const found: StoredCheckout[] = [];
  let place: ListPlace | null = null;
  do {
    const page: ListPage = await list.page(Math.min(limit + 1 - found.length, PAGE), place);
    found.push(...page.data);
    place = page.next;
  } while (place !== null && found.length <= limit);
  return { checkouts: found.slice(0, limit), more: found.length > limit, unreadable: [...new Set(unreadable)] };
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
    ...(more ? ['… and more: set a higher --limit'] : []),
    ...unreadable.map(cannotBeRead),
  ];
}

function limitOf(text: string): number {
  const limit = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > MOST) throw new UsageError(`--limit must be a whole number from 1 to ${MOST}`);
  return limit;
}
