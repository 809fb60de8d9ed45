import { createHmac } from 'node:crypto';
import type { LookupAddress, LookupOptions } from 'node:dns';
import { isIP } from 'node:net';
import { callbackify } from 'node:util';
import type { EventNetworks } from '@tillflow/temporal';
import { Agent, buildConnector, request } from 'undici';
import type { FreezeDetector } from './freeze-detector.js';
import { nameLookup } from './name-lookup.js';

/** The longest time that a receiver may take to answer. Source: the contract of events in docs/api.md. Milliseconds. */
const ANSWER_WITHIN_MS = 15_000;
/** The longest time to connect to one of several addresses. Milliseconds. */
const CONNECTED_WITHIN_MS = 4_000;
/** The part of an answer that is read. Bytes. */
const MOST_BYTES = 4_096;
/** A connection that is not used is closed after this. Milliseconds. */
const KEPT_MS = 10_000;

/** What became of one request. */
export type Sent = {
  /** Null when there was no answer. */
  readonly status: number | null;
  readonly ms: number;
  /** For people: why there was no answer. */
  readonly error?: string;
  /** The wait that the receiver asks for, in milliseconds. */
  readonly retryAfterMs?: number;
};

type LookupCallback = (error: Error | null, addresses: LookupAddress[]) => void;
/** As Node's `dns.lookup` with the option `all`. */
type Resolve = (name: string, options: LookupOptions & { readonly all: true }, done: LookupCallback) => void;

/** Events may not go to this address. */
class NetworkRefusedError extends Error {
  override readonly name = 'NetworkRefusedError';
}

/** What one request needs besides its body. */
export type Target = {
  /** Endpoints share no connections, so that none waits for another. */
  readonly endpoint: string;
  readonly url: string;
  /** Aborts when the delivery must not go on. */
  readonly signal?: AbortSignal;
};

/**
 * Sends events, and connects only where they may go: the check sees the address that the connection uses. It follows no
 * redirect, and reads at most 4 KB of an answer.
 */
export class EventSender {
  readonly #agents = new Map<string, Agent>();

  /**
   * @param resolve as Node's `dns.lookup` with the option `all`
   * @param freezes a request whose connection was made while the process was frozen is not sent
   */
  constructor(
    private readonly networks: EventNetworks,
    private readonly answerWithinMs = ANSWER_WITHIN_MS,
    private readonly resolve: Resolve = callbackify(nameLookup()),
    private readonly freezes: Pick<FreezeDetector, 'count'> = { count: 0 },
  ) {}

  /** Sends one event once. Never rejects. @param secrets each of them signs */
  async send(target: Target, id: string, body: string, secrets: readonly string[]): Promise<Sent> {
    const { url, endpoint, signal } = target;
    const beganAt = performance.now();
    const elapsed = (): number => Math.round(performance.now() - beganAt);
    const late = AbortSignal.timeout(this.answerWithinMs);
    try {
      const { protocol, hostname } = new URL(url);
      const isPlain = protocol === 'http:';
      this.#mustAllow(hostname.replace(/^\[|\]$/g, ''), isPlain);
      const answer = await request(url, {
        dispatcher: this.#agent(endpoint, isPlain),
        method: 'POST',
        headers: { 'content-type': 'application/json', 'user-agent': 'Tillflow', ...signed(id, body, secrets) },
        body,
        signal: signal === undefined ? late : AbortSignal.any([late, signal]),
      });
      const { statusCode: status, headers } = answer;
      await answer.body.dump({ limit: MOST_BYTES });
      const retryAfterMs = retryAfterOf(headers['retry-after']);
      return { status, ms: elapsed(), ...(retryAfterMs === null ? {} : { retryAfterMs }) };
    } catch (error) {
      return { status: null, ms: elapsed(), error: late.aborted ? 'No answer within 15 s' : reasonOf(error) };
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#agents.values()].map((agent) => agent.destroy()));
  }

  /** As many connections as deliveries, so that no request waits for one. */
  #agent(endpoint: string, isPlain: boolean): Agent {
    const name = `${endpoint} ${isPlain}`;
    const known = this.#agents.get(name);
    if (known !== undefined) return known;
    const connect = buildConnector({
      lookup: this.#lookup(isPlain),
      timeout: this.answerWithinMs,
      // Node gives each address but the last 250 ms, which is too short for a receiver far away.
      autoSelectFamily: true,
      autoSelectFamilyAttemptTimeout: CONNECTED_WITHIN_MS,
    });
    const agent = new Agent({
      pipelining: 1,
      keepAliveTimeout: KEPT_MS,
      connect: (options, done) => {
        const { count } = this.freezes;
        connect(options, (error, socket) => {
          if (error !== null) return done(error, null);
          if (this.freezes.count === count) return done(null, socket);
          socket.destroy();
          return done(new Error('The process was frozen'), null);
        });
      },
    });
    this.#agents.set(name, agent);
    return agent;
  }

  /** A name is checked when it is looked up, an address here: it is not looked up. */
  #mustAllow(address: string, isPlain: boolean): void {
    const refused = isIP(address) === 0 ? null : this.networks.refuse(address, isPlain);
    if (refused !== null) throw new NetworkRefusedError(refused);
  }

  #lookup(isPlain: boolean) {
    return (name: string, options: LookupOptions, done: LookupCallback): void => {
      this.resolve(name, { ...options, all: true }, (error, addresses) => {
        if (error !== null) return done(error, []);
        const allowed = addresses.filter(({ address }) => this.networks.refuse(address, isPlain) === null);
        const [first] = addresses;
        if (allowed.length > 0) return done(null, allowed);
        const why = first === undefined ? 'the name has no address' : this.networks.refuse(first.address, isPlain);
        return done(new NetworkRefusedError(why ?? ''), []);
      });
    };
  }
}

/** The headers of the Standard Webhooks specification. */
function signed(id: string, body: string, secrets: readonly string[]): Record<string, string> {
  const timestamp = String(Math.floor(Date.now() / 1_000));
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
  });
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') };
}

/** Seconds or a date. Source: RFC 9110, section 10.2.3. */
function retryAfterOf(value: string | string[] | undefined): number | null {
  if (typeof value !== 'string') return null;
  const ms = /^\d+$/.test(value) ? Number(value) * 1_000 : Date.parse(value) - Date.now();
  return Number.isFinite(ms) ? Math.max(ms, 0) : null;
}

const MOST_CHARS = 200;

function reasonOf(error: unknown): string {
  const { message = '', code } = error as { readonly message?: string; readonly code?: string };
  const isNamed = code === undefined || message.includes(code);
  return (isNamed ? message : `${code}: ${message}`).slice(0, MOST_CHARS);
}
