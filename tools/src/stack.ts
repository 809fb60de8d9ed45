import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import { SupervisedChild } from './supervised-child.js';
import { chooseSettings, type StackSettings } from './stack-settings.js';
import { startTemporalServer, type TemporalServer } from './temporal-server.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const readyWithinMs = 90_000;
const tries = 3;
/** So often in a row a service that ended is started again, with a pause between. */
const revivals = 10;
const revivalPauseMs = 500;

export interface StackOptions {
  readonly env: NodeJS.ProcessEnv;
  /** Each line of a service's output. */
  readonly onLine: (service: string, line: string) => void;
  /** What a person should see while it starts. */
  readonly log: (line: string) => void;
  /** Starts a service again that ends by itself. What keeps nothing in memory only: worker and API. */
  readonly revives?: boolean;
  /** Stops what has been started when it fires. */
  readonly signal: AbortSignal;
}

/** A running Temporal, sandbox, worker and API. */
export interface Stack {
  readonly settings: StackSettings;
  readonly apiUrl: string;
  /** Undefined when the provider is not the sandbox. */
  readonly sandboxUrl: string | undefined;
  readonly temporal: TemporalServer;
  /** Rejects, with its last output, when a service ends by itself. */
  readonly broken: Promise<never>;
  /**
   * Runs the operator's command line on this stack, and answers with what it printed.
   * @throws {Error} when it does not end with exit code 0.
   */
  tillflow(...args: readonly string[]): Promise<readonly string[]>;
  /** Stops all, in the reverse order of their start. */
  stop(): Promise<void>;
}

/**
 * Starts all services as child processes, each told of the others by its environment, and waits until all are ready.
 * @throws {Error} with the last output of the service that failed; nothing is left running.
 */
export async function startStack(options: StackOptions): Promise<Stack> {
  for (let attempt = 1; ; attempt += 1) {
    const settings = await chooseSettings(options.env);
    try {
      return await startOnce(settings, options);
    } catch (error) {
      const isTaken = error instanceof Error && error.message.includes('EADDRINUSE');
      if (!isTaken || !settings.portsAreChosen || attempt === tries) throw error;
      options.log('Another process took a port first: trying others.');
    }
  }
}

async function startOnce(settings: StackSettings, options: StackOptions): Promise<Stack> {
  const started: { stop(): Promise<void> }[] = [];
  let stopping = false;
  let inherited = options.env;
  let reportBroken: (error: Error) => void;
  const broken = new Promise<never>((_, reject) => {
    reportBroken = reject;
  });
  // Whoever holds the stack may not be waiting for it yet.
  broken.catch(() => undefined);

  const stop = async (): Promise<void> => {
    stopping = true;
    for (const service of started.splice(0).toReversed()) await service.stop();
  };
  const watch = async (name: string, ended: Promise<string>): Promise<void> => {
    const output = await ended;
    if (!stopping) reportBroken(new Error(`The ${name} ended by itself. Its last output:\n${output}`));
  };
  const forget = (child: SupervisedChild): void => {
    if (started.includes(child)) started.splice(started.indexOf(child), 1);
  };
  const run = async (name: string, app: string, env: NodeJS.ProcessEnv): Promise<SupervisedChild> => {
    if (stopping) throw new Error('Stopped while starting.');
    const child = new SupervisedChild(process.execPath, [`apps/${app}/dist/main.js`], {
      cwd: root,
      env: { ...inherited, ...env },
      onLine: (line) => options.onLine(name, line),
    });
    started.push(child);
    try {
      await child.waitForLine(new RegExp(`\\b${name} ready`), readyWithinMs);
    } catch (error) {
      await child.stop();
      forget(child);
      throw error;
    }
    return child;
  };
  /** What is killed while it starts is started once more; what does not come up at all breaks the stack. */
  const runAgain = async (name: string, app: string, env: NodeJS.ProcessEnv): Promise<SupervisedChild> => {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await run(name, app, env);
      } catch (error) {
        if (stopping || attempt === revivals) throw error;
        options.log(`The ${name} ended while it started, and is started again.`);
        await sleep(revivalPauseMs);
      }
    }
  };
  const service = async (name: string, app: string, env: NodeJS.ProcessEnv): Promise<void> => {
    const child = await run(name, app, env);
    void watch(
      name,
      child.exited.then(() => child.tail()),
    );
  };
  const revivedService = async (name: string, app: string, env: NodeJS.ProcessEnv): Promise<void> => {
    if (options.revives !== true) return service(name, app, env);
    let child = await run(name, app, env);
    const revive = async (): Promise<void> => {
      for (;;) {
        const code = await child.exited;
        if (stopping) return;
        forget(child);
        options.log(`The ${name} ended by itself (${code}) and is started again.`);
        child = await runAgain(name, app, env);
      }
    };
    revive().catch((error: unknown) => {
      if (!stopping) reportBroken(error instanceof Error ? error : new Error(String(error)));
    });
  };

  const start = async (): Promise<Stack> => {
    const apiUrl = `http://${settings.apiHost === '0.0.0.0' ? '127.0.0.1' : settings.apiHost}:${settings.apiPort}`;
    const temporal = await startTemporalServer({ env: options.env, ui: true, log: options.log });
    started.push(temporal);
    if (stopping) await stop();
    void watch('Temporal server', temporal.ended);

    if (temporal.pid === undefined) warnOfOthers(settings, options);
    // How to reach another server is of no use on our own.
    else inherited = withoutTemporal(options.env);
    await setUpTemporal(inherited, options, temporal.address);
    const keys = settings.providerKeys;
    if (settings.sandboxPort !== undefined) {
      await service('sandbox', 'sandbox', {
        ...keys,
        SANDBOX_PORT: String(settings.sandboxPort),
        WEBHOOK_URL: `${apiUrl}/webhooks/provider`,
      });
    }
    const shared = {
      ...keys,
      PROVIDER_BASE_URL: settings.providerBaseUrl,
      TEMPORAL_ADDRESS: temporal.address,
      TEMPORAL_NAMESPACE: inherited['TEMPORAL_NAMESPACE'],
    };
    await Promise.all([
      revivedService('worker', 'worker', { SHUTDOWN_GRACE_MS: '5000', ...shared }),
      revivedService('api', 'api', {
        PUBLIC_URL: (inherited['PUBLIC_URL'] ?? '') === '' ? apiUrl : inherited['PUBLIC_URL'],
        ...(temporal.uiUrl === undefined ? {} : { TEMPORAL_UI_URL: temporal.uiUrl }),
        ...shared,
        HOST: settings.apiHost,
        PORT: String(settings.apiPort),
        API_KEYS: settings.apiKeys,
        URL_SIGNING_KEY: settings.urlSigningKey,
      }),
    ]);
    const sandboxUrl = settings.sandboxPort === undefined ? undefined : settings.providerBaseUrl;
    const tillflow = async (...args: readonly string[]): Promise<readonly string[]> => {
      const printed: string[] = [];
      const child = new SupervisedChild(process.execPath, ['apps/cli/dist/main.js', ...args], {
        cwd: root,
        env: { ...inherited, ...shared, PUBLIC_URL: apiUrl },
        onLine: (line) => printed.push(line),
      });
      const code = await child.exited;
      if (code !== 0) throw new Error(`tillflow ${args.join(' ')} ended with exit code ${code}:\n${child.tail()}`);
      return printed;
    };
    return { settings, apiUrl, sandboxUrl, temporal, broken, tillflow, stop };
  };

  try {
    return await Promise.race([start(), broken, rejectWhenAborted(options.signal)]);
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Workers of two stacks on one queue would take each other's checkouts to their own providers. */
function warnOfOthers(settings: StackSettings, { env, log }: StackOptions): void {
  if (settings.sandboxPort === undefined || (env['TEMPORAL_TASK_QUEUE'] ?? '') !== '') return;
  log(
    'This stack shares the task queue "tillflow" of a Temporal server that is not its own, and pays at its own sandbox.',
  );
  log('If any other stack uses that queue, stop, and set TEMPORAL_TASK_QUEUE.');
}

/** The settings that say how to reach Temporal, all but the name of the queue. */
function withoutTemporal(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const kept = Object.entries(env).filter(([name]) => !name.startsWith('TEMPORAL_') || name === 'TEMPORAL_TASK_QUEUE');
  return Object.fromEntries(kept);
}

/** By the operators' own command, which knows what is missing, and reaches Temporal only: it is told of no provider. */
async function setUpTemporal(env: NodeJS.ProcessEnv, { onLine }: StackOptions, address: string): Promise<void> {
  const own = Object.entries(env).filter(([name]) => !name.startsWith('PROVIDER_'));
  const setup = new SupervisedChild(process.execPath, ['apps/cli/dist/main.js', 'setup'], {
    cwd: root,
    env: { ...Object.fromEntries(own), TEMPORAL_ADDRESS: address },
    onLine: (line) => onLine('setup', line),
  });
  const code = await setup.exited;
  if (code !== 0) throw new Error(`The setup of ${address} ended with exit code ${code}:\n${setup.tail()}`);
}

function rejectWhenAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const fail = (): void => reject(new Error('Interrupted while starting.'));
    if (signal.aborted) fail();
    else signal.addEventListener('abort', fail, { once: true });
  });
}
