import { connect as connectHttp2 } from 'node:http2';
import { connect as connectTcp } from 'node:net';
import { execFile } from 'node:child_process';
import { resolve as resolvePath } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { GuardedChild } from './guarded-child.js';
import { freePorts } from './ports.js';
import { findTemporalCli } from './temporal-cli.js';

const run = promisify(execFile);

const searchAttributes: Readonly<Record<string, 'Keyword' | 'KeywordList' | 'Int' | 'Datetime'>> = {
  CheckoutStatus: 'Keyword',
  CheckoutReference: 'Keyword',
  Currency: 'Keyword',
  Terminal: 'Keyword',
  Attention: 'Keyword',
  ChargeId: 'KeywordList',
  Amount: 'Int',
  CreatedAt: 'Datetime',
  PaidAt: 'Datetime',
};

/** The dev server's defaults throttle a burst and hold each workflow task for up to 50 ms; measured: p50 95 → 35 ms. */
const speed: Readonly<Record<string, string>> = {
  'frontend.namespaceRPS': '20000',
  'frontend.namespaceCount': '5000',
  'history.rps': '20000',
  'matching.rps': '20000',
  'matching.numTaskqueueReadPartitions': '1',
  'matching.numTaskqueueWritePartitions': '1',
  'history.transferProcessorMaxPollRPS': '5000',
  'history.timerProcessorMaxPollRPS': '5000',
  'history.visibilityProcessorMaxPollRPS': '5000',
  'history.workflowIdReuseMinimalInterval': '"0s"',
};

/** Lets a test fast-forward one workflow; without the second each skip takes a second. */
const timeSkipping: Readonly<Record<string, string>> = {
  'frontend.WorkflowTimeSkippingEnabled': 'true',
  'history.timerProcessorMaxTimeShift': '"1ms"',
};

const startWithinMs = 60_000;
const portTries = 5;

export interface TemporalServerOptions {
  /** Time skipping on, retention as it is, nothing synced to disk. */
  readonly forTests?: boolean;
  /** With Temporal's web UI, on a free port. */
  readonly ui?: boolean;
  /** Keeps the state in this file; default in memory. */
  readonly dbFilename?: string;
  /** A port for the gRPC service, so that a restarted server is found again; default a free one. */
  readonly port?: number;
  /** What a person should see: a download, a retry. Default: standard error. */
  readonly log?: (line: string) => void;
  /** Settings (`TEMPORAL_ADDRESS`, `TEMPORAL_CLI_PATH`, PATH, the cache's place). Default: the process's. */
  readonly env?: NodeJS.ProcessEnv;
}

export interface TemporalServer {
  /** `host:port` of the gRPC service. */
  readonly address: string;
  /** Undefined without a UI and when the server is somebody else's. */
  readonly uiUrl: string | undefined;
  /** The server's process, undefined when it is somebody else's. */
  readonly pid: number | undefined;
  /** Resolves with the last output when the server ends; never for somebody else's. */
  readonly ended: Promise<string>;
  /** Ends the server; does nothing to somebody else's. */
  stop(): Promise<void>;
}

/**
 * The Temporal server to work with: the one of `TEMPORAL_ADDRESS` if set, else a dev server of its own on free ports,
 * with the search attributes registered, which ends with this process however this process ends.
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
      const isTaken = error instanceof Error && error.message.includes('address already in use');
      if (!isTaken || options.port !== undefined || tries === portTries) throw error;
      log('Another process took the port first: trying others.');
    }
  }
}

async function startDevServer(
  cli: string,
  options: TemporalServerOptions,
  env: NodeJS.ProcessEnv,
): Promise<TemporalServer> {
  const [freePort = 0, uiPort = 0] = await freePorts(2);
  const port = options.port ?? freePort;
  const address = `127.0.0.1:${port}`;
  const child = new GuardedChild(cli, serverArguments(options, port, uiPort), {
    env: withoutTemporalSettings(env),
    graceMs: 5_000,
  });
  const interrupted = new AbortController();
  try {
    // Its own word first: another server may answer on a port that this one could not have.
    await child.waitForLine(/Server:\s+\S+:\d+/, startWithinMs);
    await Promise.race([
      untilNamespaceAnswers(address, interrupted.signal),
      child.exited.then((code) => {
        throw new Error(`The Temporal server ended with exit code ${code}:\n${child.tail()}`);
      }),
    ]);
    if (options.forTests !== true) {
      const update = [
        'operator',
        'namespace',
        'update',
        '--namespace',
        'default',
        '--retention',
        '30d',
        '--address',
        address,
      ];
      await run(cli, update, { env: withoutTemporalSettings(env) });
    }
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
  const dynamicConfig = { ...speed, ...(options.forTests === true ? timeSkipping : {}) };
  const args = ['server', 'start-dev', '--ip', '127.0.0.1', '--port', String(port)];
  args.push(...(options.ui === true ? ['--ui-port', String(uiPort), '--ui-disable-news-fetch'] : ['--headless']));
  for (const [name, type] of Object.entries(searchAttributes)) args.push('--search-attribute', `${name}=${type}`);
  for (const [key, value] of Object.entries(dynamicConfig)) args.push('--dynamic-config-value', `${key}=${value}`);
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

/** The CLI reads `TEMPORAL_*` too: settings for another server must not reach this one. */
function withoutTemporalSettings(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('TEMPORAL_')));
}

async function untilNamespaceAnswers(address: string, interrupted: AbortSignal): Promise<void> {
  const deadline = Date.now() + startWithinMs;
  while (!interrupted.aborted) {
    if (await namespaceAnswers(address)) return;
    if (Date.now() > deadline)
      throw new Error(`The Temporal server on ${address} did not become ready in ${startWithinMs / 1000} s.`);
    await sleep(25);
  }
}

/** DescribeNamespace for `default`, as gRPC by hand: one call is not worth a dependency. */
function namespaceAnswers(address: string): Promise<boolean> {
  return new Promise((resolve) => {
    const session = connectHttp2(`http://${address}`);
    const finish = (isReady: boolean): void => {
      session.destroy();
      resolve(isReady);
    };
    session.setTimeout(2_000, () => finish(false));
    session.once('error', () => finish(false));
    const call = session.request({
      ':method': 'POST',
      ':path': '/temporal.api.workflowservice.v1.WorkflowService/DescribeNamespace',
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    call.once('error', () => finish(false));
    // A refusal comes as headers alone, an answer ends with trailers.
    call.once('trailers', (trailers) => finish(trailers['grpc-status'] === '0'));
    call.once('end', () => finish(false));
    call.resume();
    const name = Buffer.from('default');
    // Field 1, length-delimited, after the frame's five bytes: not compressed, length.
    const message = Buffer.concat([Buffer.from([0x0a, name.length]), name]);
    call.end(Buffer.concat([Buffer.from([0, 0, 0, 0, message.length]), message]));
  });
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
        new Error(`TEMPORAL_ADDRESS is set to ${address}, where nothing answers (${reason}). Start it or unset it.`),
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
      'usage: temporal-server --fetch-only\nPrints the path of the Temporal CLI, which is fetched when it is missing.',
    );
    return 2;
  }
  // Leaving through exit lets a download clean up behind itself.
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
