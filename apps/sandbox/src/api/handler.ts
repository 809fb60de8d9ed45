import type { IncomingMessage } from 'node:http';
import { formatInstant } from '@tillflow/domain';
import type { Assumptions } from '../assumptions.js';
import type { Clock } from '../clock.js';
import { FaultedAnswers } from '../faults/faulted-answers.js';
import type { Faults } from '../faults/faults.js';
import { FAULT_EFFECTS } from '../faults/plan.js';
import type { RateLimiter } from '../faults/rate-limit.js';
import { answerOf, attempt, refusalOf, sendJson, sendOptions, type Answer } from '../http/answer.js';
import { ApiError } from '../http/api-error.js';
import type { BodyLimits, DecodedForm } from '../http/body.js';
import { decodeForm, type FormMap } from '../http/form.js';
import type { Match, Router } from '../http/router.js';
import type { Handler, Incoming } from '../http/server.js';
import type { KeyUsed, RequestRecord } from './request-log.js';
import type { ApiRoute } from './routes.js';

/** `request`: it arrived; `committed`: its change is recorded; `response`: just before its answer or its fault. */
export type Moment = 'request' | 'committed' | 'response';

export type ApiHandlerOptions = {
  readonly routes: Router<ApiRoute>;
  readonly clock: Clock;
  readonly faults: Faults;
  readonly rateLimiter: RateLimiter;
  readonly assumptions: Assumptions;
  readonly keys: { readonly secret: string; readonly public: string };
  readonly nextRequestId: () => string;
  readonly observe: (moment: Moment, request: RequestRecord) => void;
  readonly onError: (error: unknown) => void;
};

/** Answers the provider's API: logs the request, applies a fault or does the work, and answers. */
export class ApiHandler implements Handler {
  readonly #options: ApiHandlerOptions;
  readonly #faulted = new FaultedAnswers();

  constructor(options: ApiHandlerOptions) {
    this.#options = options;
  }

  /** Accepts every request: it is the last handler. */
  accept = (method: string, path: string): BodyLimits => {
    const { assumptions, routes } = this.#options;
    const { maximumBodyBytes, maximumFileBytes } = assumptions;
    const takesFile = attempt(() => routes.match(method, path)).value?.target.takesFile === true;
    return { maximumBodyBytes, maximumFileBytes: takesFile ? maximumFileBytes : null };
  };

  handle = async (incoming: Incoming): Promise<void> => {
    const { clock, faults, observe } = this.#options;
    const { method, path, request, response } = incoming;
    if (method === 'OPTIONS') return this.#serveOptions(incoming);
    clock.tick();
    const { record, work } = this.#prepare(incoming);
    response.setHeader('X-Request-Id', record.id);
    // The provider's clock is the sandbox's, so that a caller who compares clocks finds the one that was set.
    response.setHeader('Date', new Date(clock.now()).toUTCString());
    observe('request', record);

    const answer = (): Answer => {
      const made = answerOf(work, this.#options.onError);
      if (!('status' in made)) throw new TypeError('An API route does not stream.');
      return made;
    };
    const send = (status: number | null, write: () => void): void => {
      record.status = status;
      observe('response', record);
      write();
    };
    const fault = faults.strike({ method, route: record.route, path });
    if (fault === null) {
      const made = answer();
      send(made.status, () => sendJson(response, made));
      return;
    }
    record.fault = fault.action;
    record.fault_id = fault.id;
    await this.#faulted.answer({ request, response, fault, effect: FAULT_EFFECTS[fault.action], answer, send });
  };

  /** Breaks off every request that a fault delays or leaves without an answer. */
  release(): void {
    this.#faulted.release();
  }

  /** Lists the methods of a path. A browser may use the routes of the public key from any page. */
  #serveOptions({ request, response, path }: Incoming): void {
    const { routes, assumptions } = this.#options;
    const { value: methods, error } = attempt(() => routes.methods(path));
    if (error !== null) return sendJson(response, refusalOf(error));
    const asked = request.headers['access-control-request-method'];
    if (asked !== undefined && methods.length > 0 && routes.match(asked, path)?.target.publicKey === true) {
      response.setHeader('Access-Control-Allow-Origin', '*');
      response.setHeader('Access-Control-Allow-Methods', [...methods, 'OPTIONS'].join(', '));
      response.setHeader('Access-Control-Allow-Headers', `Authorization, Content-Type, ${assumptions.versionHeader}`);
    }
    sendOptions(response, methods, path);
  }

  /** The record of the request, and its work, which a fault may prevent. */
  #prepare(incoming: Incoming): { record: RequestRecord; work: () => unknown } {
    const { clock, keys, nextRequestId, observe, rateLimiter, routes } = this.#options;
    const { request, response, method, path, query, body } = incoming;
    const matched = attempt(() => routes.match(method, path));
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
    const work = (): unknown => {
      const at = clock.tick();
      authenticate(record.key, matched.value);
      rateLimiter.take();
      this.#checkVersion(request);
      if (matched.error !== null) throw matched.error;
      if (matched.value === null) throw new ApiError('not_found', `There is no ${method} ${path}.`);
      if (decoded.value === null) throw decoded.error;
      const [id = '', innerId = ''] = matched.value.params;
      const result = matched.value.target.handle({ id, innerId, ...decoded.value, query: decodeForm(query), path, at });
      if (method !== 'GET' && method !== 'HEAD') observe('committed', record);
      return result;
    };
    return { record, work };
  }

  #checkVersion(request: IncomingMessage): void {
    const { versionHeader, versions } = this.#options.assumptions;
    const version = request.headers[versionHeader.toLowerCase()];
    if (version === undefined || (typeof version === 'string' && versions.includes(version))) return;
    throw new ApiError('bad_request', `${versionHeader} must be one of ${versions.join(', ')}.`);
  }
}

/** Source: assumption, "Keys". @throws {ApiError} `authentication_failure`. */
function authenticate(key: KeyUsed, match: Match<ApiRoute> | null): void {
  if (key === 'secret' || (key === 'public' && match?.target.publicKey === true)) return;
  const reason = {
    none: 'A key is required.',
    wrong: 'The key is unknown.',
    public: 'This request requires the secret key.',
  }[key];
  throw new ApiError('authentication_failure', reason);
}

/** HTTP Basic: the key is the user name, the password is empty. Source: API reference, "Authentication". */
function keyUsed(header: string | undefined, keys: ApiHandlerOptions['keys']): KeyUsed {
  if (header === undefined) return 'none';
  const [, encoded] = /^Basic +([A-Za-z0-9+/]+=*)$/i.exec(header) ?? [];
  if (encoded === undefined) return 'wrong';
  const credentials = Buffer.from(encoded, 'base64').toString('utf8');
  if (credentials === `${keys.secret}:`) return 'secret';
  return credentials === `${keys.public}:` ? 'public' : 'wrong';
}

/** The form for the log: a file is replaced by its size. */
function withoutFile({ form, file }: DecodedForm, takesFile: boolean): FormMap {
  if (!takesFile) return form;
  const { file: text, ...rest } = form;
  if (file !== null) return { ...rest, file: `${file.filename}, ${file.content.length} bytes` };
  return typeof text === 'string' ? { ...rest, file: `${text.length} characters` } : form;
}
