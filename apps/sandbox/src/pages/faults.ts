import { FAULT_EFFECTS, type Fault, type FaultAction, type FaultState } from '../faults/faults.js';
import type { FormMap } from '../http/form.js';
import { integerOf, numberOf, textOf } from '../http/params.js';
import { carryOut, type Desk } from './desk.js';
import type { Problem } from './layout.js';
import { markup, type Content, type Markup } from './markup.js';
import { choice, counted, entered, field, postForm, table } from './parts.js';
import type { PageAnswer } from './answer.js';

const DONE: Readonly<Record<string, string>> = { added: 'The fault was added.', cleared: 'No fault is set any more.' };

const METHODS = ['GET', 'POST', 'PATCH', 'DELETE'] as const;

/** The faults that are set, and a form that sets one more. */
export function faultRoutes(desk: Desk): void {
  const { get, post, sandbox } = desk;
  get('/dashboard/faults', ({ query }) => faultsPage(desk, {}, DONE[entered(query, 'done')]));
  post('/dashboard/faults', ({ form }) =>
    carryOut(() => sandbox.faults.add(readFault(form)), {
      location: '/dashboard/faults?done=added',
      refused: (problem) => faultsPage(desk, form, null, problem),
    }),
  );
  post('/dashboard/faults/clear', () =>
    carryOut(() => sandbox.faults.clear(), {
      location: '/dashboard/faults?done=cleared',
      refused: (problem) => faultsPage(desk, {}, null, problem),
    }),
  );
}

/** Fields that were left empty are left out; the sandbox checks the rest. */
function readFault(form: FormMap): Omit<Fault, 'records'> {
  const fields = {
    action: textOf(form, 'action'),
    method: textOf(form, 'method'),
    path: textOf(form, 'path'),
    times: integerOf(form, 'times'),
    after: integerOf(form, 'after'),
    probability: numberOf(form, 'probability'),
    status: integerOf(form, 'status'),
    delay_ms: integerOf(form, 'delay_ms'),
    retry_after: integerOf(form, 'retry_after'),
    code: textOf(form, 'code'),
    body: textOf(form, 'body'),
  };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)) as Omit<Fault, 'records'>;
}

function faultsPage(desk: Desk, form: FormMap, outcome?: string | null, problem?: Problem): PageAnswer {
  const faults = desk.sandbox.faults.list();
  const columns = ['Fault', 'Strikes', 'How', 'Matched', 'Struck'] as const;
  const body = markup`<section class="card stack" id="faults" data-live aria-labelledby="set"><h2 id="set">Set</h2>
${
  faults.length === 0
    ? markup`<p class="quiet">No fault is set: the sandbox behaves.</p>`
    : markup`${table('Faults, in the order in which they are tried', columns, faults.map(cellsOf))}
<div class="row">${postForm('/dashboard/faults/clear', markup`<button class="danger">Clear all faults</button>`)}
<a href="/dashboard/requests?fault=any">Requests that were struck</a></div>`
}</section>
<section class="card" aria-labelledby="add"><h2 id="add">Add one</h2>${addForm(form)}</section>`;
  return desk.page({ title: 'Faults', section: 'faults', body, outcome, problem });
}

function cellsOf({ id, action, method, path, matched, struck, ...rest }: FaultState): Content[] {
  const { times, ...how } = rest;
  const told = Object.entries(how).map(([name, value]) => `${name.replaceAll('_', ' ')} ${wordsFor(value)}`);
  return [
    markup`<strong>${action}</strong> <span class="quiet">#${id}</span>`,
    markup`<code>${method?.toUpperCase() ?? 'any method'} ${path ?? 'any route'}</code>`,
    told.join(', '),
    counted(matched, 'time'),
    markup`<a href="/dashboard/requests?fault=${id}">${counted(struck, 'time')}${times !== undefined && ` of ${times}`}</a>`,
  ];
}

/** Of records only which: what takes their place may be long. */
function wordsFor(value: unknown): string {
  return typeof value === 'object' && value !== null ? Object.keys(value).join(', ') : String(value);
}

function addForm(form: FormMap): Markup {
  const actions = (Object.keys(FAULT_EFFECTS) as FaultAction[])
    // Records are JSON: for the control route.
    .filter((action) => action !== 'replace_records')
    .map((action) => [action, wordsOf(action)] as const);
  const number = (name: string, label: string, hint: string): Markup =>
    field({ id: name, name, label, hint, value: entered(form, name), more: markup` inputmode="numeric"` });
  return postForm(
    '/dashboard/faults',
    markup`<div class="grid">
<div class="full">${choice({ id: 'action', name: 'action', label: 'What happens', chosen: entered(form, 'action', 'status') }, actions)}</div>
${choice({ id: 'method', name: 'method', label: 'Method', chosen: entered(form, 'method') }, [
  ['', 'any'],
  ...METHODS.map((method) => [method, method] as const),
])}
${field({ id: 'path', name: 'path', label: 'Path', value: entered(form, 'path'), hint: '/charges/{id}, or with *; empty: any', more: markup` list="paths"` })}
${number('times', 'Times', 'Empty: without end')}
${number('status', 'Status', 'Of the answer; 500')}
</div>
<datalist id="paths">${['/charges', '/charges/{id}', '/charges/{id}/expire', '/charges/{id}/refunds', '/sources'].map((path) => markup`<option value="${path}">`)}</datalist>
<details${isDetailed(form) && markup` open`}><summary>More</summary><div class="grid">
${number('after', 'After', 'Lets so many pass first')}
${field({ id: 'probability', name: 'probability', label: 'Probability', value: entered(form, 'probability'), hint: '0 to 1', more: markup` inputmode="decimal"` })}
${number('delay_ms', 'Delay in ms', 'Wall time')}
${number('retry_after', 'Retry-After in s', 'Header of the answer')}
${field({ id: 'code', name: 'code', label: 'Error code', value: entered(form, 'code'), hint: 'In the answer’s body' })}
${field({ id: 'body', name: 'body', label: 'Body', value: entered(form, 'body'), hint: 'Sent in place of the answer’s' })}
</div></details>
<button class="primary">Add fault</button>`,
  );
}

function isDetailed(form: FormMap): boolean {
  return ['after', 'probability', 'delay_ms', 'retry_after', 'code', 'body'].some((name) => entered(form, name) !== '');
}

/** What the caller sees. */
const ENDS: Readonly<Record<string, string>> = {
  answer: 'a late answer',
  status: 'an error status',
  reset: 'a broken connection',
  hang: 'no answer',
  garbage: 'an unreadable answer',
  truncated: 'half an answer',
  replaced: 'an answer with other records in it',
};

function wordsOf(action: FaultAction): string {
  const { works, ends } = FAULT_EFFECTS[action];
  return `${action}: ${works ? 'the work is done' : 'nothing is done'}, ${ENDS[ends] ?? ends}`;
}
