import { createHash } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { apiSettings, startApi, type RunningApi } from '@tillflow/api';
import { programLogger } from '@tillflow/telemetry';
import { KEYS, SIGNING_KEY, type ProblemJson } from './stack.js';

/** An answer as it came over the wire. Header names are in lower case. */
export type RawAnswer = {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
};

/** The API alone. Neither Temporal nor the provider is there. */
export class EdgeApi {
  private constructor(
    private readonly api: RunningApi,
    readonly logs: readonly string[],
  ) {}

  static async start(settings: Readonly<Record<string, string>> = {}): Promise<EdgeApi> {
    const logs: string[] = [];
    const logger = programLogger('test', 'info', { write: (line: string) => void logs.push(line) });
    const api = await startApi(
      apiSettings({
        PORT: '0',
        TEMPORAL_ADDRESS: '127.0.0.1:1',
        PROVIDER_BASE_URL: 'http://127.0.0.1:1',
        PROVIDER_SECRET_KEY: 'skey_test_edge',
        PROVIDER_WEBHOOK_SECRET: Buffer.from('a secret').toString('base64'),
        URL_SIGNING_KEY: SIGNING_KEY,
        API_KEYS: Object.entries(KEYS)
          .map(([role, key]) => `${role}:${role}:${createHash('sha256').update(key).digest('hex')}`)
          .join(','),
        ...settings,
      }),
      logger,
    );
    return new EdgeApi(api, logs);
  }

  get url(): string {
    return this.api.url;
  }

  close(): Promise<void> {
    return this.api.close();
  }

  fetch(path: string, init: RequestInit = {}): Promise<Response> {
    return fetch(`${this.url}${path}`, init);
  }

  /** A request with the key of an operator. */
  asOperator(
    path: string,
    init: Omit<RequestInit, 'headers'> & { readonly headers?: Readonly<Record<string, string>> } = {},
  ): Promise<Response> {
    return this.fetch(path, { ...init, headers: { authorization: `Bearer ${KEYS.ops}`, ...init.headers } });
  }

  /** A connection of its own. */
  connect(): Socket {
    const { hostname, port } = new URL(this.url);
    return connect(Number(port), hostname);
  }

  /** Sends these bytes as they are, and returns the first answer. The connection is closed then. */
  raw(text: string): Promise<RawAnswer> {
    const socket = this.connect();
    socket.write(text);
    return answerOf(socket);
  }
}

/** Waits for the first whole answer. An answer that has no length ends with its connection. */
export function answerOf(socket: Socket): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    let received = '';
    const take = (isClosed: boolean): void => {
      const answer = parsed(received, isClosed);
      if (answer === null) return;
      resolve(answer);
      socket.destroy();
    };
    socket.setEncoding('utf8');
    socket.on('data', (chunk: string) => {
      received += chunk;
      take(false);
    });
    socket.on('close', () => {
      take(true);
      reject(new Error(`The connection closed after ${JSON.stringify(received)}`));
    });
    socket.on('error', (error) => {
      if (received === '') reject(error);
    });
  });
}

export function problemOf({ body }: RawAnswer): ProblemJson {
  return JSON.parse(body) as ProblemJson;
}

function parsed(text: string, isClosed: boolean): RawAnswer | null {
  const end = text.indexOf('\r\n\r\n');
  if (end === -1) return null;
  const [first = '', ...lines] = text.slice(0, end).split('\r\n');
  const headers = new Map(
    lines.map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const;
    }),
  );
  const body = text.slice(end + 4);
  const length = headers.get('content-length');
  if (!isClosed && (length === undefined || Buffer.byteLength(body) < Number(length))) return null;
  return { status: Number(first.split(' ')[1]), headers, body };
}
