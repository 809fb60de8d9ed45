import { formatInstant, type Instant } from '@tillflow/domain';
import type { FormMap } from '../http/form.js';
import { choiceOf, numberOf, required, textOf } from '../http/params.js';
import type { ClockChange } from '../sandbox.js';
import { carryOut, type Desk } from './desk.js';
import { timeOf, type Problem } from './layout.js';
import { markup } from './markup.js';
import { choice, entered, field, hidden, postForm } from './parts.js';
import type { PageAnswer } from './answer.js';

const SECONDS = { seconds: 1, minutes: 60, hours: 3_600, days: 86_400 } as const;
const UNITS = Object.keys(SECONDS) as (keyof typeof SECONDS)[];

const DONE: Readonly<Record<string, string>> = {
  advance: 'The clock was moved; what fell due on the way has happened.',
  set: 'The clock was set; what fell due on the way has happened.',
  freeze: 'The clock stands still.',
  unfreeze: 'The clock moves with wall time.',
};

/** The sandbox's time, and ways to move it. */
export function clockRoutes(desk: Desk): void {
  const { get, post, sandbox, clock } = desk;
  get('/dashboard/clock', ({ query }) => clockPage(desk, {}, DONE[entered(query, 'done')]));
  post('/dashboard/clock', ({ form }) =>
    carryOut(() => sandbox.setClock(readChange(form, clock.now())), {
      location: `/dashboard/clock?done=${entered(form, 'do')}`,
      refused: (problem) => clockPage(desk, form, null, problem),
    }),
  );
}

function readChange(form: FormMap, now: Instant): ClockChange {
  const what = required(choiceOf(form, 'do', ['advance', 'set', 'freeze', 'unfreeze'] as const), 'do');
  switch (what) {
    case 'freeze':
    case 'unfreeze':
      return { frozen: what === 'freeze' };
    case 'set':
      return { now: withZone(required(textOf(form, 'now'), 'now')) };
    case 'advance':
      return readAdvance(form, now);
  }
}

function readAdvance(form: FormMap, now: Instant): ClockChange {
  switch (choiceOf(form, 'by', ['hour', 'day', 'month'])) {
    case 'hour':
      return { advance: SECONDS.hours };
    case 'day':
      return { advance: SECONDS.days };
    case 'month':
      return { advance: (nextMonth(now) - now) / 1_000 };
    default: {
      const count = required(numberOf(form, 'count'), 'count');
      return { advance: count * SECONDS[choiceOf(form, 'unit', UNITS) ?? 'seconds'] };
    }
  }
}

/** The same time of the same day a calendar month later, or of that month's last day. */
function nextMonth(now: Instant): number {
  const next = new Date(now);
  const day = next.getUTCDate();
  next.setUTCDate(1);
  next.setUTCMonth(next.getUTCMonth() + 1);
  const lastDay = new Date(Date.UTC(next.getUTCFullYear(), next.getUTCMonth() + 1, 0)).getUTCDate();
  return next.setUTCDate(Math.min(day, lastDay));
}

/** A browser's date-time has no zone: it is meant in UTC, as the page says. */
function withZone(text: string): string {
  return /^\d{4}-\d{2}-\d{2}T[\d:.]+$/.test(text) ? `${text}Z` : text;
}

function clockPage({ clock, page }: Desk, form: FormMap, outcome?: string | null, problem?: Problem): PageAnswer {
  const now = clock.now();
  const step = (by: string, label: string) => markup`<button name="by" value="${by}">${label}</button>`;
  const change = clock.frozen ? ['unfreeze', 'Let it move'] : ['freeze', 'Freeze it'];
  const units = UNITS.map((unit) => [unit, unit] as const);
  const chosen = entered(form, 'unit', 'hours');
  const body = markup`<section class="card stack" aria-labelledby="now"><h2 id="now">Now</h2>
<p class="amount" id="time" data-live>${timeOf(now)}</p>
<div class="row"><span>${clock.frozen ? 'Frozen: it stands until it is moved.' : 'Moving with wall time.'}</span>
${postForm(null, markup`<button name="do" value="${change[0] ?? ''}">${change[1] ?? ''}</button>`)}</div></section>
<section class="card" aria-labelledby="advance"><h2 id="advance">Advance</h2><div class="stack">
${postForm(null, markup`${hidden('do', 'advance')}<div class="row">${step('hour', '1 hour')}${step('day', '1 day')}${step('month', '1 month')}</div>`)}
${postForm(
  null,
  markup`${hidden('do', 'advance')}<div class="fields">
${field({ id: 'count', name: 'count', label: 'How many', value: entered(form, 'count'), required: true, more: markup` inputmode="decimal"` })}
${choice({ id: 'unit', name: 'unit', label: 'Unit', chosen }, units)}<button>Advance</button></div>`,
)}</div></section>
<section class="card" aria-labelledby="to"><h2 id="to">Set</h2>
${postForm(
  null,
  markup`${hidden('do', 'set')}<div class="fields">${field({
    id: 'at',
    name: 'now',
    label: 'Date and time in UTC',
    type: 'datetime-local',
    value: entered(form, 'now', formatInstant(now).slice(0, 19)),
    required: true,
    more: markup` step="1"`,
  })}<button>Set the clock</button></div><p class="hint">Forwards only. Expiry, webhook tries and everything else that falls due on the way happens, in order.</p>`,
)}</section>`;
  return page({ title: 'Clock', section: 'clock', body, outcome, problem });
}
