import { AccountApi, apiSettings, Neighbours, type Shared } from '@tillflow/api';
import { ConfiguredKeys } from '@tillflow/temporal';
import { createHash } from 'node:crypto';
import { pino } from 'pino';
import type { HttpAnswer, HttpRequest, HttpServer } from '../network/http.js';
import type { Network } from '../network/network.js';
import { Machine, running, type VirtualTime } from '../virtual/time.js';
import { SECRET_KEY, WEBHOOK_SECRET } from './provider.js';
import { ENGINE } from './settings.js';

/** The API's keys: of the tills, and of a second person who decides about refunds. */
const KEYS = { tills: 'the-key-of-the-simulated-tills', supervisor: 'the-key-of-a-second-person' } as const;
/** Another process takes the place of one that was killed. Milliseconds. */
const RESTART_MS = 500;
const ANSWER_WITHIN_MS = 15_000;
const silent = pino({ level: 'silent' });

export type TillAnswer = { readonly status: number; readonly json: unknown };

/** The API process, and the tills' requests to it. */
export class SimulatedApi {
  machine = new Machine('api-0');
  #account: AccountApi | null = null;
  #started = 0;
  /** Each ends the answer of a request that the process has not answered. */
  readonly #open = new Set<() => void>();

  constructor(
    private readonly parts: {
      readonly time: VirtualTime;
      readonly network: Network;
      readonly note: (what: string) => void;
    },
  ) {}

  async start(): Promise<void> {
    this.#started += 1;
    const machine = new Machine(`api-${this.#started}`);
    // Nest draws ids from a supply that outlasts a world: how many numbers a start draws must not matter to what follows.
    machine.stream = `start of ${machine.name}`;
    const values = apiSettings({
      ...ENGINE,
      PROVIDER_BASE_URL: 'http://provider',
      PROVIDER_SECRET_KEY: SECRET_KEY,
      PROVIDER_WEBHOOK_SECRET: WEBHOOK_SECRET,
      API_KEYS: Object.entries(KEYS)
        .map(([name, key]) => `${name}:ops:${createHash('sha256').update(key).digest('hex')}`)
        .join(','),
      URL_SIGNING_KEY: 'the key that signs all links of a simulation',
      PUBLIC_URL: 'http://api',
      RATE_LIMIT: '100000',
      OPEN_RATE_LIMIT: '100000',
      DOCS_OPEN: 'false',
    });
    const keys = new ConfiguredKeys(values, silent);
    const shared: Shared = { keys, neighbours: new Neighbours(), logger: silent, tracer: undefined };
    await running.run(machine, async () => {
      this.#account = await AccountApi.open(values, shared);
      await this.#account.app.getHttpAdapter().getInstance().ready();
    });
    machine.stream = machine.name;
    this.machine = machine;
    this.parts.note(`${machine.name} started`);
  }

  /** The process ends without a word; another one takes its place. */
  async kill(): Promise<void> {
    this.parts.note(`${this.machine.name} killed`);
    this.machine.isDead = true;
    for (const end of this.#open) end();
    this.#open.clear();
    await this.parts.time.sleep(RESTART_MS);
    await this.start();
  }

  /** What a till sends. Null: no answer came. */
  ask(
    method: 'GET' | 'POST',
    path: string,
    body?: object,
    headers: Readonly<Record<string, string>> = {},
    by: keyof typeof KEYS = 'tills',
  ): Promise<TillAnswer | null> {
    const { network, time } = this.parts;
    return new Promise((resolve) => {
      const type: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' };
      const request = {
        method,
        path,
        headers: { host: 'api', authorization: `Bearer ${KEYS[by]}`, ...type, ...headers },
        body: body === undefined ? '' : JSON.stringify(body),
      };
      let leave = (): void => undefined;
      const cancel = network.exchange(
        'till-api',
        this.server.machine,
        () => this.server.answer(request, (close) => (leave = close)),
        (result) => {
          end();
          resolve('broken' in result ? null : read(result.answer));
        },
      );
      const giveUp = (): void => {
        cancel();
        leave();
        resolve(null);
      };
      const end = time.after(ANSWER_WITHIN_MS, giveUp, undefined);
    });
  }

  readonly server: HttpServer = {
    machine: () => this.machine,
    answer: (request, onOpen) => this.#inject(request, onOpen),
  };

  async #inject(request: HttpRequest, onOpen: (close: () => void) => void): Promise<HttpAnswer | null> {
    const gone = new AbortController();
    let end = (): void => undefined;
    const died = new Promise<null>((resolve) => {
      end = () => resolve(null);
      this.#open.add(end);
      gone.signal.addEventListener('abort', end);
    });
    onOpen(() => gone.abort());
    try {
      return await Promise.race([this.#answer(request, gone.signal), died]);
    } finally {
      this.#open.delete(end);
    }
  }

  async #answer({ method, path: url, headers, body }: HttpRequest, signal: AbortSignal): Promise<HttpAnswer | null> {
    if (this.#account === null) throw new Error('The API has not started');
    try {
      const payload = body === '' ? {} : { payload: body };
      const answer = await this.#account.app.inject({ method: method as 'GET', url, headers, ...payload, signal });
      return { status: answer.statusCode, headers: {}, body: answer.rawPayload, isCut: false };
    } catch {
      return null;
    }
  }
}

function read(answer: HttpAnswer | null): TillAnswer | null {
  if (answer === null) return null;
  const text = answer.body.toString('utf8');
  return { status: answer.status, json: text === '' ? null : (JSON.parse(text) as unknown) };
}
