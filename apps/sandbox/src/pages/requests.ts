import { parseInstant } from '@tillflow/domain';
import { textOf } from '../http/params.js';
import type { RequestRecord } from '../http/server.js';
import type { Desk } from './desk.js';
import { timeOf } from './layout.js';
import { markup, type Content } from './markup.js';
import { newestOf, offsetOf, pager } from './paging.js';
import { badge, choice, counted, field, jsonOf, short, table } from './parts.js';

/** The latest requests to the API, and which fault struck which. */
export function requestRoutes({ get, log, page, sandbox }: Desk): void {
  get('/dashboard/requests', ({ query }) => {
    const fault = textOf(query, 'fault') ?? '';
    const search = textOf(query, 'q')?.trim() ?? '';
    const offset = offsetOf(query);
    const fits =
      fault === '' && search === ''
        ? null
        : (request: RequestRecord) =>
            isStruckBy(request, fault) &&
            `${request.method} ${request.path} ${request.route ?? ''} ${request.id}`.includes(search);
    const { rows, total } = newestOf(log.requests, offset, fits);
    const columns = ['Request', 'At', short('Key'), short('Answer'), short('Fault'), 'Fields'];
    const body = markup`<form class="card fields" action="/dashboard/requests" role="search">
<div class="wide">${field({ id: 'search', name: 'q', label: 'Method, path or request id', type: 'search', value: search })}</div>
${choice({ id: 'fault', name: 'fault', label: 'Fault', chosen: fault }, [
  ['', 'any or none'],
  ['any', 'any fault'],
  ...sandbox.faults.list().map(({ id, action }) => [String(id), `#${id} ${action}`] as const),
])}<button>Show</button></form>
<section class="card stack" id="requests" data-live aria-label="Requests">
${rows.length === 0 ? markup`<p class="quiet">No requests.</p>` : table('Requests, the newest first', columns, rows.map(cellsOf))}
${pager('/dashboard/requests', { q: search, fault }, { offset, shown: rows.length, total, noun: 'request' })}
${log.forgotten > 0 && markup`<p class="quiet">${counted(log.forgotten, 'older request')} forgotten.</p>`}</section>`;
    return page({ title: 'Requests', section: 'requests', body });
  });
}

/** @param fault the id of one, `any`, or nothing when it does not matter. */
function isStruckBy({ fault_id }: RequestRecord, fault: string): boolean {
  return fault === '' || (fault === 'any' ? fault_id !== null : String(fault_id) === fault);
}

function cellsOf({ id, at, method, path, query, key, status, fault, fault_id, form }: RequestRecord): Content[] {
  return [
    markup`<strong>${method}</strong> ${path}${query !== '' && `?${query}`} <span class="id quiet">${id}</span>`,
    timeOf(parseInstant(at)),
    key,
    status ?? 'none',
    fault !== null && badge('struck', `#${fault_id} ${fault}`),
    form !== null && Object.keys(form).length > 0 && jsonOf('Show', form),
  ];
}
