import { createServer, type IncomingMessage, type Server as HttpServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { formatInstant } from '@tillflow/domain';
import { ApiError, codeOfStatus, renderError } from './api-error.js';
import type { Assumptions } from '../assumptions.js';
import { requireJson, type BrowserGuard } from './browser-guard.js';
import type { Clock } from '../clock.js';
import type { ControlRoute } from '../control/routes.js';
import { readBody, type Body, type DecodedForm } from './body.js';
import { FAULT_EFFECTS, type Fault, type FaultAction, type Faults } from '../faults/faults.js';
import { decodeForm, type FormMap } from './form.js';
import { JsonStream } from './json-stream.js';
import type { RateLimiter } from '../faults/rate-limit.js';
import type { DocumentRecord } from '../records/records.js';
import { sendPage, type PageAnswer } from '../pages/answer.js';
import type { PageRoute } from '../pages/page-context.js';
import { errorPage } from '../pages/layout.js';
import type { Match, Router } from './router.js';
import type { ApiRoute } from '../api/routes.js';

/** Which key a request came with. */
export type KeyUsed = 'secret' | 'public' | 'none' | 'wrong';

/** One request to the API, as `/__sandbox/state` and observers see it. */
export type RequestRecord = {
  readonly id: string;
  readonly at: string;
  readonly method: string;
  /** Template such as `/charges/{id}`; null when no route has the path. */
  readonly route: string | null;
  readonly path: string;
  readonly query: string;
  readonly key: KeyUsed;
  /** The decoded body; null when it is no form. */
  readonly form: FormMap | null;
  /** Null until answered, and for ever when the answer never came. */
  status: number | null;
  /** The action and the id of the fault that struck it. */
  fault: FaultAction | null;
  fault_id: number | null;
};

/** `request`: arrived; `committed`: its change is in the records; `response`: just before its answer, or its fault. */
export type Moment = 'request' | 'committed' | 'response';

export type ServerOptions = {
  readonly api: Router<ApiRoute>;
  readonly pages: Router<PageRoute>;
  readonly control: Router<ControlRoute>;
  readonly clock: Clock;
  readonly faults: Faults;
  readonly guard: BrowserGuard;
  readonly rateLimiter: RateLimiter;
  /** The document that a download address names. */
  readonly downloadOf: (token: string) => DocumentRecord | undefined;
  readonly assumptions: Assumptions;
  readonly keys: { readonly secret: string; readonly public: string };
  readonly nextRequestId: () => string;
  readonly observe: (moment: Moment, request: RequestRecord) => void;
  /** Told about an error of the sandbox itself, which is answered with 500. */
  readonly onError: (error: unknown) => void;
};

type Incoming = {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly body: Body;
};

type Answer = {
  readonly status: number;
  readonly body: string;
  readonly retryAfter?: number | undefined;
  /** In place of a body that would be too large. */
  readonly stream?: JsonStream;
};

const CONTROL = '/__sandbox';
const CONTROL_BODY_BYTES = 1_024 * 1_024;
const DOWNLOAD = /^\/download\/([0-9a-z]+)\//;
const GARBAGE = '{"object":"charge","id":"chrg_\u0000<html>';
/** Longer than any client's idle time, so that a kept connection is not closed under a request. */
const KEEP_ALIVE_MS = 65_000;
const CLOSE_GRACE_MS = 2_000;

/** The life of a request: read, noted, struck by a fault or worked on, answered. */
export class Server {
  readonly #options: ServerOptions;
  readonly #http: HttpServer;
  /** Answers that a fault withholds. */
  readonly #hanging = new Set<ServerResponse>();
  /** Requests that a fault delays; each is told whether it may go on. */
  readonly #pauses = new Set<(goOn: boolean) => void>();

  constructor(options: ServerOptions) {
    this.#options = options;
    this.#http = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (request, response) => {
      void this.#serve(request, response);
    });
    this.#http.on('clientError', (_error, socket) => {
      if (socket.writable) socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n');
    });
  }

  /** @param port 0 for a free one. @throws when the port is taken. */
  async listen(port: number, host: string): Promise<AddressInfo> {
    await new Promise<void>((resolve, reject) => {
      this.#http.once('error', reject);
      this.#http.listen(port, host, () => {
        this.#http.off('error', reject);
        resolve();
      });
    });
    return this.#http.address() as AddressInfo;
  }

  /** Breaks off every request that a fault delays or withholds. */
  release(): void {
    for (const goOn of this.#pauses) goOn(false);
    for (const response of this.#hanging) response.destroy();
    this.#pauses.clear();
    this.#hanging.clear();
  }

  /** Answers what is being worked on, then closes; breaks off what takes longer than two seconds. */
  async close(): Promise<void> {
    this.release();
    if (!this.#http.listening) return;
    const force = setTimeout(() => this.#http.closeAllConnections(), CLOSE_GRACE_MS);
    await new Promise<void>((resolve) => {
      this.#http.close(() => resolve());
      this.#http.closeIdleConnections();
    });
    clearTimeout(force);
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const incoming = await this.#read(request, response);
      if (incoming === null) return;
      if (incoming.method === 'OPTIONS') return this.#serveOptions(incoming);
      if (incoming.path === CONTROL || incoming.path.startsWith(`${CONTROL}/`))
        return await this.#serveControl(incoming);
      const [, token] = DOWNLOAD.exec(incoming.path) ?? [];
      if (token !== undefined) return this.#serveDownload(incoming, token);
      const page = this.#matchPage(incoming);
      if (page !== null) return this.#servePage(incoming, page);
      await this.#serveApi(incoming);
    } catch (error) {
      this.#options.onError(error);
      if (response.headersSent) response.destroy();
      else
        sendJson(response, { status: 500, body: JSON.stringify(renderError('internal_error', 'The sandbox failed.')) });
    }
  }

  /** Null when the caller went away before the end of the body. */
  async #read(request: IncomingMessage, response: ServerResponse): Promise<Incoming | null> {
    const url = request.url ?? '/';
    const mark = url.indexOf('?');
    const path = mark === -1 ? url : url.slice(0, mark);
    const method = request.method ?? 'GET';
    const { api, assumptions } = this.#options;
    const isControl = path === CONTROL || path.startsWith(`${CONTROL}/`);
    const takesFile = !isControl && attempt(() => api.match(method, path)).value?.target.takesFile === true;
    const maximumBodyBytes = isControl ? CONTROL_BODY_BYTES : assumptions.maximumBodyBytes;
    const maximumFileBytes = takesFile ? assumptions.maximumFileBytes : null;
    const body = await readBody(request, { maximumBodyBytes, maximumFileBytes });
    const query = mark === -1 ? '' : url.slice(mark + 1);
    return body === null ? null : { request, response, method, path, query, body };
  }

  async #serveControl({ request, response, method, path, query, body }: Incoming): Promise<void> {
    const { clock, guard } = this.#options;
    clock.tick();
    response.setHeader('Cross-Origin-Resource-Policy', 'same-origin');
    const answer = this.#answerOf(() => {
      guard.checkHost(request.headers);
      guard.checkOrigin(request.headers);
      if (method === 'POST') requireJson(request.headers);
      const match = this.#options.control.match(method, path.slice(CONTROL.length) || '/');
      if (match === null) throw new ApiError('not_found', `There is no ${method} ${path}.`);
      const [id = ''] = match.params;
      return match.target({ id, query: decodeForm(query), body: parseJson(body.text()) });
    });
    if (answer.stream === undefined) sendJson(response, answer);
    else await answer.stream.send(response, method !== 'HEAD');
  }

  /** What the path takes. A browser may use what the public key opens, from any page. */
  #serveOptions({ request, response, path }: Incoming): void {
    const { api, assumptions, control, guard, pages } = this.#options;
    const isControl = path === CONTROL || path.startsWith(`${CONTROL}/`);
    const methods = attempt(() => {
      if (!isControl) return [...pages.methods(path), ...api.methods(path)];
      guard.checkHost(request.headers);
      guard.checkOrigin(request.headers);
      return control.methods(path.slice(CONTROL.length) || '/');
    });
    if (methods.value === null || methods.value.length === 0) {
      const { status, code, message } = methods.error ?? new ApiError('not_found', `There is no ${path}.`);
      sendJson(response, { status, body: JSON.stringify(renderError(code, message)) });
      return;
    }
    const allow = [...new Set([...methods.value, 'OPTIONS'])].join(', ');
    response.setHeader('Allow', allow);
    const asked = request.headers['access-control-request-method'];
    if (!isControl && asked !== undefined && api.match(asked, path)?.target.publicKey === true) {
      response.setHeader('Access-Control-Allow-Origin', '*');
      response.setHeader('Access-Control-Allow-Methods', allow);
      response.setHeader('Access-Control-Allow-Headers', `Authorization, Content-Type, ${assumptions.versionHeader}`);
    }
    sendJson(response, { status: 204, body: '' });
  }

  /** A document of a dispute: whoever has its address may read it. */
  #serveDownload({ response, method, path }: Incoming, token: string): void {
    this.#options.clock.tick();
    const document = method === 'GET' || method === 'HEAD' ? this.#options.downloadOf(token) : undefined;
    if (document === undefined) {
      sendJson(response, { status: 404, body: JSON.stringify(renderError('not_found', `There is no ${path}.`)) });
      return;
    }
    response
      .writeHead(200, {
        'Content-Type': document.contentType,
        'Content-Length': document.content.length,
        'Content-Disposition': `inline; filename*=UTF-8''${encodeURIComponent(document.filename)}`,
        'Content-Security-Policy': "default-src 'none'; sandbox",
        'X-Content-Type-Options': 'nosniff',
        'Cache-Control': 'no-store',
      })
      .end(document.content);
  }

  #matchPage({ method, path }: Incoming): Match<PageRoute> | null {
    try {
      return this.#options.pages.match(method, path);
    } catch {
      // A malformed path is refused by the API, with a request id.
      return null;
    }
  }

  #servePage({ request, response, query, body }: Incoming, match: Match<PageRoute>): void {
    this.#options.clock.tick();
    const [id = ''] = match.params;
    let answer: PageAnswer;
    try {
      const { headers } = request;
      answer = match.target({ id, query: decodeForm(query), form: body.form().form, headers });
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      answer = errorPage(error);
    }
    sendPage(response, answer);
  }

  async #serveApi(incoming: Incoming): Promise<void> {
    const { faults, observe } = this.#options;
    const { request, response, method, path } = incoming;
    this.#options.clock.tick();
    const work = this.#prepare(incoming);
    const { record } = work;
    response.setHeader('X-Request-Id', record.id);
    // The provider's clock is the sandbox's: whoever compares it with their own finds what it was set to.
    response.setHeader('Date', new Date(this.#options.clock.now()).toUTCString());
    observe('request', record);

    const fault = faults.strike({ method, route: record.route, path });
    const { works, ends } = fault === null ? ({ works: true, ends: 'answer' } as const) : FAULT_EFFECTS[fault.action];
    record.fault = fault?.action ?? null;
    record.fault_id = fault?.id ?? null;
    const delayMs = fault === null ? 0 : (fault.delay_ms ?? (ends === 'answer' ? 1_000 : 0));
    const delaysWork = fault?.action === 'delay' || !works;
    if (delayMs > 0 && delaysWork && !(await this.#pause(delayMs))) return abort(request);
    const answer = works ? this.#answerOf(() => work.run(), record) : null;
    if (delayMs > 0 && !delaysWork && !(await this.#pause(delayMs))) return abort(request);
    this.#end(incoming, record, ends, fault, answer);
  }

  #end(
    { request, response }: Incoming,
    record: RequestRecord,
    ends: (typeof FAULT_EFFECTS)[FaultAction]['ends'],
    fault: Fault | null,
    answer: Answer | null,
  ): void {
    const send = (toSend: Answer, type?: string): void => {
      record.status = toSend.status;
      this.#options.observe('response', record);
      sendJson(response, toSend, type);
    };
    switch (ends) {
      case 'answer':
        if (answer !== null) send(answer);
        return;
      case 'status': {
        const status = fault?.status ?? 500;
        const code = fault?.code ?? codeOfStatus(status);
        const body = fault?.body ?? JSON.stringify(renderError(code, 'This answer was asked for by a fault.'));
        send({ status, body, retryAfter: fault?.retry_after }, body.startsWith('<') ? 'text/html' : undefined);
        return;
      }
      case 'garbage':
        send({ status: fault?.status ?? 200, body: fault?.body ?? GARBAGE });
        return;
      case 'truncated':
        if (answer === null) return;
        record.status = answer.status;
        this.#options.observe('response', record);
        sendTruncated(response, answer);
        return;
      case 'replaced':
        if (answer !== null) send({ ...answer, body: withRecords(answer.body, fault?.records ?? {}) });
        return;
      case 'reset':
        this.#options.observe('response', record);
        abort(request);
        return;
      case 'hang':
        this.#options.observe('response', record);
        this.#hanging.add(response);
        response.once('close', () => this.#hanging.delete(response));
    }
  }

  /** Notes the request and binds the work, so that a fault can stand between the two. */
  #prepare({ request, response, method, path, query, body }: Incoming): { record: RequestRecord; run: () => unknown } {
    const { api, clock, keys, nextRequestId, observe } = this.#options;
    const matched = attempt(() => api.match(method, path));
    const decoded = attempt(body.form);
    if (matched.value?.target.publicKey === true) response.setHeader('Access-Control-Allow-Origin', '*');
    const record: RequestRecord = {
      id: nextRequestId(),
      at: formatInstant(clock.now()),
      method,
      route: matched.value?.template ?? null,
      path,
      query,
      key: keyUsed(request.headers.authorization, keys),
      form: decoded.value === null ? null : withoutFile(decoded.value, matched.value?.target.takesFile === true),
      status: null,
      fault: null,
      fault_id: null,
    };
    const run = (): unknown => {
      const at = clock.tick();
      this.#authenticate(record.key, matched.value);
      this.#options.rateLimiter.take();
      this.#checkVersion(request);
      if (matched.error !== null) throw matched.error;
      if (matched.value === null) throw new ApiError('not_found', `There is no ${method} ${path}.`);
      if (decoded.value === null) throw decoded.error;
      const [id = '', innerId = ''] = matched.value.params;
      const call = { id, innerId, ...decoded.value, query: decodeForm(query), path, at };
      const told = matched.value.target.handle(call);
      if (method !== 'GET' && method !== 'HEAD') observe('committed', record);
      return told;
    };
    return { record, run };
  }

  /** Source: assumption, "Keys": the secret key opens everything, the public key what a client's side needs. */
  #authenticate(key: KeyUsed, match: Match<ApiRoute> | null): void {
    if (key === 'secret' || (key === 'public' && match?.target.publicKey === true)) return;
    const reason = {
      none: 'A key is needed.',
      wrong: 'The key is not known.',
      public: 'The public key may not do this.',
    }[key];
    throw new ApiError('authentication_failure', reason);
  }

  #checkVersion(request: IncomingMessage): void {
    const { versionHeader, versions } = this.#options.assumptions;
    const version = request.headers[versionHeader.toLowerCase()];
    if (version === undefined || (typeof version === 'string' && versions.includes(version))) return;
    throw new ApiError('bad_request', `${versionHeader} must be one of ${versions.join(', ')}.`);
  }

  /** The answer of some work: 200, a refusal, or 500 for an error of our own. */
  #answerOf(work: () => unknown, record?: RequestRecord): Answer {
    try {
      const told = work();
      if (told instanceof JsonStream) return { status: 200, body: '', stream: told };
      return { status: 200, body: JSON.stringify(told) };
    } catch (error) {
      if (error instanceof ApiError) {
        const { status, code, message, retryAfter } = error;
        return { status, body: JSON.stringify(renderError(code, message)), retryAfter };
      }
      this.#options.onError(error);
      const message = `The sandbox failed${record === undefined ? '' : ` at ${record.id}`}.`;
      return { status: 500, body: JSON.stringify(renderError('internal_error', message)) };
    }
  }

  /** False when it was broken off. */
  async #pause(ms: number): Promise<boolean> {
    return await new Promise<boolean>((resolve) => {
      const end = (goOn: boolean): void => {
        clearTimeout(timer);
        this.#pauses.delete(end);
        resolve(goOn);
      };
      const timer = setTimeout(() => end(true), ms);
      this.#pauses.add(end);
    });
  }
}

function attempt<T>(work: () => T): { value: T; error: null } | { value: null; error: ApiError } {
  try {
    return { value: work(), error: null };
  } catch (error) {
    if (error instanceof ApiError) return { value: null, error };
    throw error;
  }
}

/** HTTP Basic, the key as user name, the password empty. Source: API reference, "Authentication". */
function keyUsed(header: string | undefined, keys: ServerOptions['keys']): KeyUsed {
  if (header === undefined) return 'none';
  const [, encoded] = /^Basic +([A-Za-z0-9+/]+=*)$/i.exec(header) ?? [];
  if (encoded === undefined) return 'wrong';
  const credentials = Buffer.from(encoded, 'base64').toString('utf8');
  if (credentials === `${keys.secret}:`) return 'secret';
  return credentials === `${keys.public}:` ? 'public' : 'wrong';
}

/** What is remembered of a form: of a file only how large it was. */
function withoutFile({ form, file }: DecodedForm, takesFile: boolean): FormMap {
  if (!takesFile) return form;
  const { file: text, ...rest } = form;
  if (file !== null) return { ...rest, file: `${file.filename}, ${file.content.length} bytes` };
  return typeof text === 'string' ? { ...rest, file: `${text.length} characters` } : form;
}

function parseJson(text: string): unknown {
  if (text.trim() === '') return {};
  try {
    return JSON.parse(text);
  } catch {
    throw new ApiError('bad_request', 'The body is not JSON.');
  }
}

function sendJson(response: ServerResponse, { status, body, retryAfter }: Answer, type = 'application/json'): void {
  if (response.destroyed) return;
  const headers: Record<string, string | number> = {};
  if (retryAfter !== undefined) headers['Retry-After'] = retryAfter;
  if (status === 401) headers['WWW-Authenticate'] = 'Basic realm="sandbox"';
  if (status === 204 || status === 205 || status === 304) {
    response.writeHead(status, headers).end();
    return;
  }
  headers['Content-Type'] = `${type}; charset=utf-8`;
  headers['Content-Length'] = Buffer.byteLength(body);
  response.writeHead(status, headers).end(body);
}

/** The answer with others in place of some of its records: of those in a list, or of the one that it is. */
function withRecords(body: string, records: Readonly<Record<string, unknown>>): string {
  const shown = (record: unknown): unknown => {
    const { id } = (record ?? {}) as { readonly id?: unknown };
    return typeof id === 'string' && Object.hasOwn(records, id) ? records[id] : record;
  };
  const answer: unknown = JSON.parse(body);
  const { data } = answer as { readonly data?: unknown };
  return JSON.stringify(Array.isArray(data) ? { ...(answer as object), data: data.map(shown) } : shown(answer));
}

/** Announces the whole body, sends half of it, and ends the connection. */
function sendTruncated(response: ServerResponse, { status, body }: Answer): void {
  const bytes = Buffer.from(body);
  response.writeHead(status, { 'Content-Type': 'application/json; charset=utf-8', 'Content-Length': bytes.length });
  response.write(bytes.subarray(0, bytes.length >> 1), () => response.destroy());
}

/** The connection breaks: the caller sees a reset, not an end. */
function abort(request: IncomingMessage): void {
  request.socket.resetAndDestroy();
}
