import { parseInstant } from '@tillflow/domain';
import {
  EndpointSealer,
  EventEndpoints,
  eventLinks,
  eventNetworks,
  readSettings,
  refuseEndpoint,
  Seal,
  temporalSettings,
  type DeliveryPage,
  type EventLinks,
} from '@tillflow/temporal';
import {
  CHECKOUT_EVENTS,
  MAX_ENDPOINTS,
  type CheckoutEvent,
  type DeliveryRecord,
  type EndpointSettings,
  type EventEndpointMemo,
} from '@tillflow/workflows';
import { z } from 'zod';
import { command, EXIT, UsageError, type Report } from '../command.js';
import { operator, requester } from '../operator.js';
import { linkSettings } from '../settings.js';
import { READ_WITHIN_MS, withTemporal } from '../temporal.js';
import { columns, utc } from '../text.js';

const DEFAULT_LIMIT = 20;
const MOST_SHOWN = 10_000;
/** The most deliveries of one page, as the API. */
const PAGE = 100;
/** Characters, as the API. */
const MAX_DESCRIPTION = 200;

const schema = z.object({
  ...temporalSettings,
  PROVIDER_SECRET_KEY: z.string('is needed'),
  EVENT_ENDPOINT_NETWORKS: eventNetworks,
});

const ACTIONS = ['add', 'change', 'enable', 'disable', 'delete', 'rotate', 'test', 'replay', 'deliveries'] as const;

export const endpoints = command({
  name: 'endpoints',
  synopsis: '[--add <url> | --<action> <id>] [--<field> <value>] [--dry-run]',
  summary: 'Lists the endpoints that events of checkouts go to, and changes them.',
  details: [
    '  --add <url>          creates an endpoint, and prints its secret, this one time',
    '  --change <id>        changes its --url, --events or --description',
    `  --events <types>     only these, comma-separated, or all: ${CHECKOUT_EVENTS.join(', ')}`,
    '  --description <text> for people; empty: none',
    '  --enable <id>        enables it, and sends what waits and what happened meanwhile',
    '  --disable <id>       sends nothing to it until it is enabled',
    '  --delete <id>        deletes it',
    '  --rotate <id>        makes a new secret, and prints it; for 24 hours, the old one signs too',
    '  --test <id>          sends a marked event',
    '  --replay <id>        sends the newest event of each checkout that had one --from … --to …',
    '  --deliveries <id>    lists the latest deliveries of seven days',
    `  --limit <n>          how many, 1 to ${MOST_SHOWN}; default: ${DEFAULT_LIMIT}`,
    '  --dry-run            checks the command, and changes nothing',
  ],
  takes: 0,
  options: {
    add: { type: 'string' },
    change: { type: 'string' },
    url: { type: 'string' },
    events: { type: 'string' },
    description: { type: 'string' },
    enable: { type: 'string' },
    disable: { type: 'string' },
    delete: { type: 'string' },
    rotate: { type: 'string' },
    test: { type: 'string' },
    replay: { type: 'string' },
    deliveries: { type: 'string' },
    limit: { type: 'string' },
    from: { type: 'string' },
    to: { type: 'string' },
    'dry-run': { type: 'boolean' },
  },
  async run({ values, environment }) {
    const given = ACTIONS.filter((action) => values[action] !== undefined);
    const [action] = given;
    if (given.length > 1) throw new UsageError(`Use one of ${given.map((one) => `--${one}`).join(', ')}`);
    const settings = settingsIn(values, action);
    const limit = limitIn(values.limit, action);
    const range = rangeIn(values);
    if ((range === null) === (action === 'replay')) throw new UsageError('--replay, --from and --to need one another');
    const configured = readSettings(schema, environment);
    return withTemporal(configured, async ({ temporal }) => {
      const all = new EventEndpoints(temporal, {
        taskQueue: configured.TEMPORAL_TASK_QUEUE,
        readWithinMs: READ_WITHIN_MS,
      });
      if (action === undefined) return listed((await all.running()).map(({ memo }) => memo));
      const sealer = new EndpointSealer(new Seal(configured.PROVIDER_SECRET_KEY));
      const context = { all, sealer, links: () => linksIn(environment), dryRun: values['dry-run'] === true };
      const id = values[action] ?? '';
      const url = action === 'add' ? id : settings.url;
      const why = url === undefined ? null : await refuseEndpoint(url, configured.EVENT_ENDPOINT_NETWORKS);
      if (why !== null) return finding(`Events cannot go there: ${why}`);
      if (action === 'add') return add(context, { events: null, description: null, ...settings, url: id });
      if (action === 'deliveries') return deliveries(all, id, limit);
      const memo = await all.get(id);
      if (memo === null) return missing(id);
      if (context.dryRun) return done(`would ${action} ${id} (${memo.endpoint.url})`, null);
      return act(context, action, memo, { range, settings });
    });
  },
});

type Range = { readonly from: number; readonly to: number };
type Context = {
  readonly all: EventEndpoints;
  readonly sealer: EndpointSealer;
  /** @throws {SettingsError} */
  readonly links: () => EventLinks;
  readonly dryRun: boolean;
};

async function add({ all, sealer, links, dryRun }: Context, wanted: EndpointSettings): Promise<Report> {
  const { secret, sealed } = await sealer.create(links());
  if (dryRun) return done(`would add ${wanted.url}`, null);
  const memo = await all.create({ ...wanted, by: operator() }, sealed);
  if (memo === null) return finding(`There are ${MAX_ENDPOINTS} endpoints already`);
  return done(`added: ${memo.endpoint.id}\nsecret: ${secret}`, { id: memo.endpoint.id, secret });
}

async function act(
  { all, sealer, links }: Context,
  action: Exclude<(typeof ACTIONS)[number], 'add' | 'deliveries'>,
  { endpoint: { id } }: EventEndpointMemo,
  { range, settings }: { readonly range: Range | null; readonly settings: Partial<EndpointSettings> },
): Promise<Report> {
  const by = operator();
  switch (action) {
    case 'change':
      await all.change(id, { ...requester(), settings });
      return done(`changed: ${id}`, { id });
    case 'enable':
    case 'disable':
      await all.change(id, { ...requester(), enabled: action === 'enable' });
      return done(`${action}d: ${id}`, { id });
    case 'delete':
      await all.remove(id, by);
      return done(`deleted: ${id}`, { id });
    case 'rotate': {
      const rotated = await all.rotate(id, sealer, links(), requester());
      return rotated === null ? missing(id) : done(`secret: ${rotated.secret}`, { id, secret: rotated.secret });
    }
    case 'test': {
      const event = await all.test(id, by);
      return done(`sent: ${event ?? ''}. \`tillflow endpoints --deliveries ${id}\` shows the answer`, { id, event });
    }
    case 'replay':
      if (range !== null) await all.replay(id, range, by);
      return done(`Tillflow sends the events, to a disabled endpoint once it is enabled: ${id}`, { id });
  }
}

export async function deliveries(all: Pick<EventEndpoints, 'deliveries'>, id: string, limit: number): Promise<Report> {
  const data: DeliveryRecord[] = [];
  let place: string | null = null;
  do {
    const page: DeliveryPage | null = await all.deliveries(id, Math.min(limit - data.length, PAGE), place);
    if (page === null) return missing(id);
    data.push(...page.data);
    place = page.next;
  } while (place !== null && data.length < limit);
  const rows = data.map(({ at, event, checkout, status, ms, error, tries, next }) => [
    utc(new Date(at).toISOString()),
    event,
    checkout ?? '-',
    String(status ?? error ?? '-'),
    `${ms} ms`,
    String(tries + 1),
    next === undefined || next === null ? '-' : utc(new Date(next).toISOString()),
  ]);
  const header = ['AT', 'EVENT', 'CHECKOUT', 'ANSWER', 'TOOK', 'TRY', 'NEXT TRY'];
  return {
    exit: EXIT.ok,
    json: { deliveries: data },
    lines: data.length === 0 ? ['No deliveries.'] : columns([header, ...rows]),
  };
}

function listed(memos: readonly EventEndpointMemo[]): Report {
  const rows = memos.map(({ endpoint, health }) => [
    endpoint.id,
    endpoint.url,
    endpoint.events?.join(',') ?? 'all',
    health?.disabled ? `disabled (${health.disabled.because})` : 'enabled',
    utc(health?.failing_since ?? null),
    endpoint.description ?? '-',
  ]);
  return {
    exit: EXIT.ok,
    json: { endpoints: memos.map(({ endpoint, health = null }) => ({ ...endpoint, health })) },
    lines:
      memos.length === 0
        ? ['No endpoints.']
        : columns([['ID', 'ADDRESS', 'EVENTS', 'STATE', 'FAILING SINCE', 'DESCRIPTION'], ...rows]),
  };
}

/** @throws {SettingsError} */
function linksIn(environment: Readonly<Record<string, string | undefined>>): EventLinks {
  const { base, secret, account } = linkSettings(environment);
  return eventLinks(base, secret, account);
}

type Values = { readonly [name in 'url' | 'events' | 'description']?: string };

/** What an endpoint is created with, or changed to. */
function settingsIn({ url, events, description }: Values, action: string | undefined): Partial<EndpointSettings> {
  if (url !== undefined && action !== 'change') throw new UsageError('--url needs --change');
  for (const [name, value] of Object.entries({ events, description })) {
    if (value !== undefined && action !== 'add' && action !== 'change') {
      throw new UsageError(`--${name} needs --add or --change`);
    }
  }
  if (description !== undefined && description.length > MAX_DESCRIPTION) {
    throw new UsageError(`--description has at most ${MAX_DESCRIPTION} characters`);
  }
  const settings = {
    ...(url === undefined ? {} : { url }),
    ...(events === undefined ? {} : { events: eventsIn(events) }),
    ...(description === undefined ? {} : { description: description === '' ? null : description }),
  };
  if (action === 'change' && Object.keys(settings).length === 0) {
    throw new UsageError('--change needs --url, --events or --description');
  }
  return settings;
}

function limitIn(text: string | undefined, action: string | undefined): number {
  if (text === undefined) return DEFAULT_LIMIT;
  if (action !== 'deliveries') throw new UsageError('--limit needs --deliveries');
  const limit = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= MOST_SHOWN) return limit;
  throw new UsageError(`--limit must be a whole number from 1 to ${MOST_SHOWN}`);
}

function eventsIn(text: string): CheckoutEvent[] | null {
  if (text === 'all') return null;
  const names = text.split(',').map((name) => name.trim().replace(/^checkout\./, ''));
  const unknown = names.find((name) => !CHECKOUT_EVENTS.some((event) => event === name));
  if (unknown !== undefined) throw new UsageError(`${unknown} is not one of ${CHECKOUT_EVENTS.join(', ')}`);
  return CHECKOUT_EVENTS.filter((event) => names.includes(event));
}

function rangeIn({ from, to }: { readonly from?: string; readonly to?: string }): Range | null {
  if (from === undefined && to === undefined) return null;
  try {
    const range = { from: parseInstant(from ?? ''), to: parseInstant(to ?? '') };
    if (range.from <= range.to) return range;
  } catch {
    // One of them is missing, or is not a time.
  }
  throw new UsageError('--from and --to are two times in ISO 8601 UTC, and --from is not the later one');
}

function done(line: string, json: unknown): Report {
  return { exit: EXIT.ok, json, lines: line.split('\n') };
}

function missing(id: string): Report {
  return finding(`No event endpoint has the id ${id}`);
}

function finding(line: string): Report {
  return { exit: EXIT.finding, json: null, lines: [line] };
}
