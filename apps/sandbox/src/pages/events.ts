import { ApiError } from '../http/api-error.js';
import type { EventRecord } from '../records/records.js';
import { mischiefOf, responseOf, summaryOf, waysOf, type Way } from './deliveries.js';
import { carryOut, type Desk } from './desk.js';
import { timeOf, type Problem } from './layout.js';
import { markup, type Content, type Markup } from './markup.js';
import { newestOf, offsetOf, pager } from './paging.js';
import { badge, counted, entered, facts, jsonOf, postForm, short, table } from './parts.js';
import type { PageAnswer } from './answer.js';

const SENT = 'The event is sent again.';

/** What happened, and whether the merchant was told. */
export function eventRoutes(desk: Desk): void {
  const { get, post, sandbox } = desk;
  get('/dashboard/events', ({ query }) => listPage(desk, offsetOf(query)));
  get('/dashboard/events/{id}', ({ id, query }) =>
    eventPage(desk, id, entered(query, 'done') === 'sent' ? SENT : null),
  );
  post('/dashboard/events/{id}/send', ({ id }) =>
    carryOut(
      () => {
        if (sandbox.resend(id).length === 0) throw new ApiError('bad_request', 'There is no address to send it to.');
      },
      {
        location: `/dashboard/events/${encodeURIComponent(id)}?done=sent`,
        refused: (problem) => eventPage(desk, id, null, problem),
      },
    ),
  );
}

function listPage(desk: Desk, offset: number): PageAnswer {
  const { rows, total } = newestOf(desk.provider.books.events.rows, offset, null);
  const columns = [short('Event'), 'At', 'About', short('Delivery'), 'Next try', short('Action')];
  const lines = rows.map((event) => {
    const ways = waysOfEvent(desk, event);
    return [
      markup`<a href="/dashboard/events/${event.id}">${event.key}</a>`,
      timeOf(event.createdAt),
      subjectOf(event),
      summaryOf(ways),
      nextTryOf(ways),
      sendForm(event, 'small'),
    ];
  });
  return desk.page({
    title: 'Events',
    section: 'events',
    body: markup`<section class="card stack" id="events" data-live aria-label="Events">
${lines.length === 0 ? markup`<p class="quiet">No events yet.</p>` : table('Events, the newest first', columns, lines)}
${pager('/dashboard/events', {}, { offset, shown: rows.length, total, noun: 'event' })}</section>
${settingsSection(desk)}`,
  });
}

function eventPage(desk: Desk, id: string, outcome: string | null, problem?: Problem): PageAnswer {
  const event = desk.provider.event(id);
  const deliveries = desk.provider.books.deliveriesOfEvent.get(id) ?? [];
  const ways = waysOfEvent(desk, event);
  const columns = ['At', 'Address', short('Try'), 'Response', 'On purpose'];
  const rows = deliveries.map((delivery) => [
    timeOf(delivery.createdAt),
    delivery.uri,
    delivery.attempt,
    markup`${badge(isGood(delivery.status) ? 'delivered' : 'failed', responseOf(delivery))}`,
    mischiefOf(delivery),
  ]);
  return desk.page({
    title: event.key,
    section: 'events',
    aside: summaryOf(ways),
    outcome,
    problem,
    body: markup`<section class="card stack">${facts([
      ['Event', markup`<span class="id">${event.id}</span>`],
      ['At', timeOf(event.createdAt)],
      ['About', subjectOf(event)],
    ])}<div>${sendForm(event, 'primary')}</div></section>
<section class="card stack" id="deliveries" data-live aria-labelledby="tries"><h2 id="tries">Deliveries</h2>
${rows.length === 0 ? markup`<p class="quiet">No try has ended yet.</p>` : table('Deliveries, in their order', columns, rows)}
${ways.some(({ nextTry }) => nextTry !== null) && markup`<p>Next try: ${nextTryOf(ways)}</p>`}</section>
<section class="card">${jsonOf('As it is sent', JSON.parse(desk.render.webhookBody(event, desk.provider.books.account)))}</section>`,
  });
}

function settingsSection({ sandbox }: Desk): Markup {
  const { url, ...rates } = sandbox.webhooks.settings();
  return markup`<section class="card" aria-labelledby="webhooks"><h2 id="webhooks">Webhook settings</h2>
${facts([
  ['Sent to', url ?? 'no address: nothing is sent, except where a charge names one'],
  ...Object.entries(rates).map(([name, value]) => [name.replaceAll('_', ' '), JSON.stringify(value)] as const),
])}
<p class="hint">Changed by POST /__sandbox/webhooks. Rates go from 0, never, to 1, always.</p></section>`;
}

function sendForm(event: EventRecord, kind: string): Markup {
  return postForm(
    `/dashboard/events/${encodeURIComponent(event.id)}/send`,
    markup`<button class="${kind}">Send again<span class="unseen"> ${event.key} ${event.id}</span></button>`,
  );
}

function nextTryOf(ways: readonly Way[]): Content {
  const next = ways.flatMap(({ nextTry }) => (nextTry === null ? [] : [nextTry])).toSorted((a, b) => a - b);
  const first = next[0];
  return first === undefined
    ? null
    : markup`${timeOf(first)}${next.length > 1 && `, and ${counted(next.length - 1, 'more', 'more')}`}`;
}

function subjectOf({ chargeId, subject }: EventRecord): Content {
  const { id } = subject.record;
  if (chargeId === null) return markup`<span class="id">${id}</span>`;
  return markup`<a class="id" href="/dashboard/charges/${chargeId}">${chargeId}</a>${id !== chargeId && markup` <span class="id">${id}</span>`}`;
}

function waysOfEvent({ provider, assumptions }: Desk, event: EventRecord): Way[] {
  return waysOf(provider.books.deliveriesOfEvent.get(event.id) ?? [], assumptions);
}

function isGood(status: number | null): boolean {
  return status !== null && status >= 200 && status < 300;
}
