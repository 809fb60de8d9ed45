import { connect as connectTcp } from 'node:net';
import { resolve as resolvePath } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import { Connection } from '@temporalio/client';

import { dynamicConfig } from './dynamic-config.js';
import { SupervisedChild } from './supervised-child.js';
import { freePorts } from './ports.js';
import { findTemporalCli } from './temporal-cli.js';

const searchAttributes: Readonly<Record<string, 'Keyword' | 'KeywordList' | 'Int' | 'Datetime'>> = {
  CheckoutStatus: 'Keyword',
  CheckoutReference: 'Keyword',
  Currency: 'Keyword',
  ChangedAt: 'Datetime',
  Terminal: 'Keyword',
  Store: 'Keyword',
  Attention: 'Keyword',
  ChargeId: 'KeywordList',
  Amount: 'Int',
  CreatedAt: 'Datetime',
  PaidAt: 'Datetime',
};

const startWithinMs = 60_000;
const answerWithinMs = 2_000;
const portTries = 5;

export interface TemporalServerOptions {
  /** Turns on time skipping, and does not sync the database to disk. */
  readonly forTests?: boolean;
  /** Lets a caller fast-forward one workflow. */
  readonly timeSkipping?: boolean;
  /** With Temporal's web UI, on a free port. */
  readonly ui?: boolean;
  /** File that keeps the state. Default: in memory. */
  readonly dbFilename?: string;
  /** Port of the gRPC service, so that a restarted server has the same address. Default: a free port. */
  readonly port?: number;
  /** Receives messages for the user, such as the progress of a download. Default: standard error. */
  readonly log?: (line: string) => void;
  /** Settings (`TEMPORAL_ADDRESS`, `TEMPORAL_CLI_PATH`, PATH, the cache's place). Default: the process's. */
  readonly env?: NodeJS.ProcessEnv;
}

export interface TemporalServer {
  /** `host:port` of the gRPC service. */
  readonly address: string;
  /** Undefined without a UI, and for a server at `TEMPORAL_ADDRESS`. */
  readonly uiUrl: string | undefined;
  /** The server's process. Undefined for a server at `TEMPORAL_ADDRESS`. */
  readonly pid: number | undefined;
  /** Resolves with the last output when the server ends. Never resolves for a server at `TEMPORAL_ADDRESS`. */
  readonly ended: Promise<string>;
  /** Ends the server. Does nothing to a server at `TEMPORAL_ADDRESS`. */
  stop(): Promise<void>;
}

/**
 * Returns the server at `TEMPORAL_ADDRESS` if that is set. Otherwise starts a development server on free ports, with
 * the search attributes registered. The started server always ends with this process.
 * @throws {Error} when the server does not answer, or cannot be found, downloaded or started.
 */
export async function startTemporalServer(options: TemporalServerOptions = {}): Promise<TemporalServer> {
  const env = options.env ?? process.env;
  const log = options.log ?? ((line: string) => process.stderr.write(`${line}\n`));

  const given = env['TEMPORAL_ADDRESS'];
  if (given !== undefined && given !== '') {
    await assertReachable(given);
    return {
      address: given,
      uiUrl: undefined,
      pid: undefined,
      ended: new Promise(() => undefined),
      stop: () => Promise.resolve(),
    };
  }
  const cli = await findTemporalCli({ env, log });
  for (let tries = 1; ; tries += 1) {
    try {
      return await startDevServer(cli, options, env);
    } catch (error) {
      const isTaken = error instanceof Error && PORT_TAKEN.test(error.message);
      if (!isTaken || options.port !== undefined || tries === portTries) throw error;
      log('Another process took the port. Trying another one.');
    }
  }
}

/** What the server prints when a port is taken: it says so, or serves without a listener and panics. */
const PORT_TAKEN = /address already in use|panic: runtime error: invalid memory address/;

async function startDevServer(
  cli: string,
  options: TemporalServerOptions,
  env: NodeJS.ProcessEnv,
): Promise<TemporalServer> {
  const [freePort = 0, uiPort = 0] = await freePorts(2);
  const port = options.port ?? freePort;
  const address = `127.0.0.1:${port}`;
  const child = new SupervisedChild(cli, serverArguments(options, port, uiPort), {
    env: withoutTemporalSettings(env),
    graceMs: 5_000,
  });
  const interrupted = new AbortController();
  try {
    // Wait for this server's own output first: another server may answer on a port that this one did not get.
    await child.waitForLine(/Server:\s+\S+:\d+/, startWithinMs);
    await Promise.race([
      untilNamespaceAnswers(address, interrupted.signal),
      child.exited.then((code) => {
        throw new Error(`The Temporal server ended with exit code ${code}:\n${child.tail()}`);
      }),
    ]);
    const uiUrl = options.ui === true ? `http://127.0.0.1:${uiPort}` : undefined;
    const ended = child.exited.then(() => child.tail());
    return { address, uiUrl, pid: await child.pid, ended, stop: () => child.stop() };
  } catch (error) {
    await child.stop();
    throw error;
  } finally {
    interrupted.abort();
  }
}

function serverArguments(options: TemporalServerOptions, port: number, uiPort: number): string[] {
  const args = ['server', 'start-dev', '--ip', '127.0.0.1', '--port', String(port)];
  args.push(...(options.ui === true ? ['--ui-port', String(uiPort), '--ui-disable-news-fetch'] : ['--headless']));
  for (const [name, type] of Object.entries(searchAttributes)) args.push('--search-attribute', `${name}=${type}`);
  for (const [key, value] of Object.entries(dynamicConfig(options)))
    args.push('--dynamic-config-value', `${key}=${value}`);
  if (options.dbFilename !== undefined) {
    const synchronous = options.forTests === true ? 'off' : 'normal';
    args.push(
      '--db-filename',
      options.dbFilename,
      '--sqlite-pragma',
      'journal_mode=wal',
      '--sqlite-pragma',
      `synchronous=${synchronous}`,
    );
  }
  return args;
}

/** The Temporal CLI reads `TEMPORAL_*` too. Settings for another server must not reach this one. */
function withoutTemporalSettings(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('TEMPORAL_')));
}

/** The server prints that it is ready before its namespace can be used. */
export async function untilNamespaceAnswers(address: string, interrupted: AbortSignal): Promise<void> {
  const connection = Connection.lazy({ address });
  const deadline = Date.now() + startWithinMs;
  try {
    while (!interrupted.aborted) {
      try {
        await connection.withDeadline(Date.now() + answerWithinMs, () =>
          connection.workflowService.describeNamespace({ namespace: 'default' }),
        );
        return;
      } catch (error) {
        if (Date.now() > deadline) {
          throw new Error(`The Temporal server on ${address} was not ready after ${startWithinMs / 1000} s.`, {
            cause: error,
          });
        }
        await sleep(25);
      }
    }
  } finally {
    await connection.close();
  }
}

async function assertReachable(address: string): Promise<void> {
  const { hostname, port } = new URL(`tcp://${address}`);
  await new Promise<void>((resolve, reject) => {
    const socket = connectTcp({
      host: hostname.replace(/^\[|\]$/g, ''),
      port: Number(port === '' ? 7233 : port),
      timeout: 5_000,
    });
    const fail = (reason: string): void => {
      socket.destroy();
      reject(
        new Error(
          `TEMPORAL_ADDRESS is set to ${address}, but nothing answers there (${reason}). Start that server, or unset TEMPORAL_ADDRESS.`,
        ),
      );
    };
    socket.once('connect', () => {
      socket.destroy();
      resolve();
    });
    socket.once('timeout', () => fail('timeout'));
    socket.once('error', (error) => fail(error.message));
  });
}

async function main(args: readonly string[]): Promise<number> {
  if (args.length !== 1 || args[0] !== '--fetch-only') {
    console.error(
      'usage: temporal-server --fetch-only\nPrints the path of the Temporal CLI, and downloads it first if it is missing.',
    );
    return 2;
  }
  // process.exit runs the exit handlers, which remove an unfinished download.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
  try {
    console.log(await findTemporalCli());
    return 0;
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    return 1;
  }
}

if (process.argv[1] !== undefined && resolvePath(process.argv[1]) === fileURLToPath(import.meta.url)) {
  process.exitCode = await main(process.argv.slice(2));
}
