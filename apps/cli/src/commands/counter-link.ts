import { counterAddress, COUNTER_LINK, CounterLinks, newCounterLink, signature, signingKey } from '@tillflow/temporal';
import type { CounterLink } from '@tillflow/workflows';
import { command, EXIT, UsageError, type Report } from '../command.js';
import { operator } from '../operator.js';
import { cliSettings, linkSettings } from '../settings.js';
import { READ_WITHIN_MS, withTemporal } from '../temporal.js';
import { columns, utc } from '../text.js';

const DAY_S = 86_400;
const DEFAULT_DAYS = 30;
const MOST_DAYS = 366;
/** As the API's. */
const TERMINAL = /^[^\p{Cs}\p{Cc}]{1,64}$/u;
const STORE = /^[A-Za-z0-9._-]{1,64}$/;
const STORE_NAME = /^[^\p{Cs}\p{Cc}]{1,100}$/u;

export const counterLink = command({
  name: 'counter-link',
  synopsis: '[--terminal <name> [--store <id> [--store-name <text>]] [--days <n>] | --revoke <id>] [--dry-run]',
  summary: 'Creates a link that opens the counter of one till. Without options, lists the valid links.',
  details: [
    '  --terminal <name>     the till, by a name of your own',
    '  --store <id>          the shop of the till, by an id of your own',
    '  --store-name <text>   its name, for people',
    `  --days <n>            how long the link and its sessions are valid, in days; default: ${DEFAULT_DAYS}`,
    '  --revoke <id>         ends a link, and every session that it opened, within 5 s',
    '  --dry-run             checks the command, and changes nothing',
    '',
    'Anyone with this address can sell at this till, and see its sales. It permits no refunds. Needs no worker.',
  ],
  takes: 0,
  options: {
    terminal: { type: 'string' },
    store: { type: 'string' },
    'store-name': { type: 'string' },
    days: { type: 'string' },
    revoke: { type: 'string' },
    'dry-run': { type: 'boolean' },
  },
  async run({ values, environment }) {
    const { terminal, revoke, 'dry-run': dryRun = false } = values;
    if (terminal !== undefined && revoke !== undefined) throw new UsageError('Use one of --terminal and --revoke');
    const wanted = terminal === undefined ? null : linkFor(terminal, values);
    if (wanted === null && [values.store, values['store-name'], values.days].some((one) => one !== undefined)) {
      throw new UsageError('--store, --store-name and --days need --terminal');
    }
    const settings = cliSettings(environment);
    const links = wanted === null ? null : linkSettings(environment);
    return withTemporal(settings, async ({ temporal }) => {
      const all = new CounterLinks(temporal, {
        taskQueue: settings.TEMPORAL_TASK_QUEUE,
        readWithinMs: READ_WITHIN_MS,
      });
      if (wanted !== null && links !== null) {
        if (!dryRun) await all.create(wanted);
        return created(wanted, dryRun ? null : addressOf(wanted, links));
      }
      if (revoke === undefined) return listed(await all.list());
      const isValid = dryRun ? await all.isOpen(revoke) : await all.revoke(revoke, operator());
      return revoked(revoke, { isValid, dryRun });
    });
  },
});

type LinkOptions = { readonly store?: string; readonly 'store-name'?: string; readonly days?: string };

/** @throws {UsageError} */
function linkFor(terminal: string, { store, 'store-name': name, days }: LinkOptions): CounterLink {
  if (!TERMINAL.test(terminal)) throw new UsageError('--terminal must be one line of 1 to 64 characters');
  if (store !== undefined && !STORE.test(store)) throw new UsageError('--store must be 1 to 64 of A-Z a-z 0-9 . _ -');
  if (name !== undefined && (store === undefined || !STORE_NAME.test(name))) {
    throw new UsageError('--store-name needs --store, and must be one line of 1 to 100 characters');
  }
  const count = Number(days ?? DEFAULT_DAYS);
  if (!Number.isInteger(count) || count < 1 || count > MOST_DAYS) {
    throw new UsageError(`--days must be a whole number from 1 to ${MOST_DAYS}`);
  }
  const till = { terminal, store: store === undefined ? null : { id: store, name: name ?? null } };
  return newCounterLink(till, count * DAY_S, operator());
}

function addressOf(link: CounterLink, { base, secret, account }: ReturnType<typeof linkSettings>): string {
  const sign = (parts: readonly unknown[]): string => signature(signingKey(secret, account), COUNTER_LINK, parts);
  return counterAddress(base, link, sign, account);
}

function created(link: CounterLink, url: string | null): Report {
  const lines =
    url === null
      ? [`would create a link to the counter of ${tillOf(link)}, until ${utc(link.expires_at)}`]
      : [url, `opens the counter of ${tillOf(link)} until ${utc(link.expires_at)}. To revoke it: ${link.id}`];
  return { exit: EXIT.ok, json: url === null ? { dry_run: true } : { ...link, url }, lines };
}

function listed(links: readonly CounterLink[]): Report {
  const rows = links.map((link) => [link.id, tillOf(link), utc(link.expires_at), link.created_by]);
  return {
    exit: EXIT.ok,
    json: { links },
    lines: links.length === 0 ? ['No valid links.'] : columns([['ID', 'TILL', 'EXPIRES', 'CREATED BY'], ...rows]),
  };
}

function revoked(id: string, { isValid, dryRun }: { readonly isValid: boolean; readonly dryRun: boolean }): Report {
  const line = isValid ? `${dryRun ? 'would revoke' : 'revoked'}: ${id}` : `No valid link has the id ${id}`;
  return { exit: isValid ? EXIT.ok : EXIT.finding, json: { id, revoked: isValid && !dryRun }, lines: [line] };
}

function tillOf({ terminal, store }: CounterLink): string {
  return store === null ? terminal : `${terminal} in ${store.name ?? store.id}`;
}
