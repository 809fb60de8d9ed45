import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import { chooseSettings, type StackSettings } from './stack-settings.js';
import { SupervisedChild } from './supervised-child.js';
import { startTemporalServer, type TemporalServer } from './temporal-server.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const readyWithinMs = 90_000;
const portTries = 3;
/** How often in a row a service is started again when it ends before it is ready. */
const restartTries = 10;
const restartPauseMs = 500;

export interface StackOptions {
  readonly env: NodeJS.ProcessEnv;
  /** Called with each line of a service's output. */
  readonly onLine: (service: string, line: string) => void;
  /** Receives messages for the user. */
  readonly log: (line: string) => void;
  /**
   * Restarts the worker and the API when they end unexpectedly. The sandbox is not restarted: its state is in memory.
   */
  readonly restarts?: boolean;
  /** Stops the start, and what was started, when it aborts. */
  readonly signal: AbortSignal;
}

/** A running Temporal, sandbox, worker and API. */
export interface Stack {
  readonly settings: StackSettings;
  readonly apiUrl: string;
  /** Undefined when the provider is not the sandbox. */
  readonly sandboxUrl: string | undefined;
  readonly temporal: TemporalServer;
  /** Rejects, with the last output, when a service ends unexpectedly. */
  readonly failure: Promise<never>;
  /**
   * Runs the operators' command line against this stack. Resolves with the printed lines.
   * @throws {Error} when the exit code is not 0.
   */
  tillflow(...args: readonly string[]): Promise<readonly string[]>;
  /** Stops every service, in the reverse order of the start. */
  stop(): Promise<void>;
}

/**
 * Starts all services as child processes, passes each the addresses of the others, and waits until all are ready.
 * @throws {Error} with the last output of the service that failed. No process is left running then.
 */
export async function startStack(options: StackOptions): Promise<Stack> {
  for (let attempt = 1; ; attempt += 1) {
    const settings = await chooseSettings(options.env);
    const services = new Services(options);
    try {
      return await Promise.race([
        startServices(services, settings, options),
        services.failure,
        rejectWhenAborted(options.signal),
      ]);
    } catch (error) {
      await services.stop();
      const isTaken = error instanceof Error && error.message.includes('EADDRINUSE');
      if (!isTaken || !settings.portsAreChosen || attempt === portTries) throw error;
      options.log('Another process took a port. Trying other ports.');
    }
  }
}

async function startServices(services: Services, settings: StackSettings, options: StackOptions): Promise<Stack> {
  const apiUrl = `http://${settings.apiHost === '0.0.0.0' ? '127.0.0.1' : settings.apiHost}:${settings.apiPort}`;
  const temporal = await startTemporalServer({ env: options.env, ui: true, log: options.log });
  await services.add('Temporal server', temporal, temporal.ended);
  if (temporal.pid === undefined) warnAboutSharedQueue(settings, options);
  // The settings for another server, such as its TLS files, must not be used with the started one.
  const env = temporal.pid === undefined ? options.env : withoutTemporal(options.env);
  await setUpTemporal(env, options, temporal.address);

  const keys = settings.providerKeys;
  if (settings.sandboxPort !== undefined) {
    const webhooks = { SANDBOX_PORT: String(settings.sandboxPort), WEBHOOK_URL: `${apiUrl}/webhooks/provider` };
    await services.start('sandbox', { ...env, ...keys, ...webhooks });
  }
  const links = { PUBLIC_URL: env['PUBLIC_URL'] || apiUrl, URL_SIGNING_KEY: settings.urlSigningKey };
  const shared = {
    ...env,
    // Where traces are on, one person wants to see the trace of each payment.
    OTEL_TRACES_SAMPLER_ARG: env['OTEL_TRACES_SAMPLER_ARG'] || '1',
    ...keys,
    PROVIDER_BASE_URL: settings.providerBaseUrl,
    TEMPORAL_ADDRESS: temporal.address,
  };
  await Promise.all([
    services.startRestarting('worker', { ...shared, SHUTDOWN_GRACE_MS: '5000' }),
    services.startRestarting('api', {
      ...shared,
      ...links,
      ...(temporal.uiUrl !== undefined && { TEMPORAL_UI_URL: temporal.uiUrl }),
      HOST: settings.apiHost,
      PORT: String(settings.apiPort),
      API_KEYS: settings.apiKeys,
    }),
  ]);
  return {
    settings,
    apiUrl,
    sandboxUrl: settings.sandboxPort === undefined ? undefined : settings.providerBaseUrl,
    temporal,
    failure: services.failure,
    tillflow: async (...args) => {
      const printed: string[] = [];
      await runTillflow(args, { ...shared, ...links }, (line) => printed.push(line));
      return printed;
    },
    stop: () => services.stop(),
  };
}

/** The child processes of one stack. */
class Services {
  /** Rejects, with the last output, when a service ends unexpectedly. */
  readonly failure: Promise<never>;
  readonly #options: StackOptions;
  readonly #started: { stop(): Promise<void> }[] = [];
  #fail: (error: Error) => void = () => undefined;
  #isStopping = false;

  constructor(options: StackOptions) {
    this.#options = options;
    this.failure = new Promise<never>((_, reject) => {
      this.#fail = reject;
    });
    // The caller may not be waiting for it yet.
    this.failure.catch(() => undefined);
  }

  /** Takes a started service. @param ended resolves with its last output when it ends. */
  async add(name: string, service: { stop(): Promise<void> }, ended: Promise<string>): Promise<void> {
    this.#started.push(service);
    void this.#watch(name, ended);
    if (this.#isStopping) await this.stop();
  }

  /** Starts the program of `apps/<name>` and waits until it is ready. */
  async start(name: string, env: NodeJS.ProcessEnv): Promise<void> {
    const child = await this.#run(name, env);
    void this.#watch(
      name,
      child.exited.then(() => child.tail()),
    );
  }

  /** As {@link start}. With {@link StackOptions.restarts}, starts the program again each time it ends unexpectedly. */
  async startRestarting(name: string, env: NodeJS.ProcessEnv): Promise<void> {
    if (this.#options.restarts !== true) return this.start(name, env);
    const child = await this.#run(name, env);
    this.#keepRunning(name, env, child).catch((error: unknown) => {
      if (!this.#isStopping) this.#fail(error instanceof Error ? error : new Error(String(error)));
    });
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    for (const service of this.#started.splice(0).toReversed()) await service.stop();
  }

  async #watch(name: string, ended: Promise<string>): Promise<void> {
    const output = await ended;
    if (!this.#isStopping) this.#fail(new Error(`The ${name} ended unexpectedly. Its last output:\n${output}`));
  }

  async #keepRunning(name: string, env: NodeJS.ProcessEnv, first: SupervisedChild): Promise<void> {
    for (let child = first; ;) {
      const code = await child.exited;
      if (this.#isStopping) return;
      this.#forget(child);
      this.#options.log(`The ${name} ended unexpectedly (exit code ${code}). Starting it again.`);
      child = await this.#runAgain(name, env);
    }
  }

  /** Tries again when the service ends while it starts. @throws {Error} after {@link restartTries}. */
  async #runAgain(name: string, env: NodeJS.ProcessEnv): Promise<SupervisedChild> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#run(name, env);
      } catch (error) {
        if (this.#isStopping || attempt === restartTries) throw error;
        this.#options.log(`The ${name} ended while it was starting. Starting it again.`);
        await sleep(restartPauseMs);
      }
    }
  }

  async #run(name: string, env: NodeJS.ProcessEnv): Promise<SupervisedChild> {
    if (this.#isStopping) throw new Error('Stopped while starting.');
    const child = new SupervisedChild(process.execPath, [`apps/${name}/dist/main.js`], {
      cwd: root,
      env,
      onLine: (line) => this.#options.onLine(name, line),
    });
    this.#started.push(child);
    try {
      await child.waitForLine(new RegExp(`\\b${name} ready`), readyWithinMs);
    } catch (error) {
      await child.stop();
      this.#forget(child);
      throw error;
    }
    return child;
  }

  #forget(child: SupervisedChild): void {
    if (this.#started.includes(child)) this.#started.splice(this.#started.indexOf(child), 1);
  }
}

/** Workers of two stacks on one task queue would send checkouts to each other's provider. */
function warnAboutSharedQueue(settings: StackSettings, { env, log }: StackOptions): void {
  if (settings.sandboxPort === undefined || (env['TEMPORAL_TASK_QUEUE'] ?? '') !== '') return;
  log(
    'This stack uses its own sandbox, but shares the task queue "tillflow" of the Temporal server at TEMPORAL_ADDRESS.',
  );
  log('If another stack uses that queue, stop this one and set TEMPORAL_TASK_QUEUE.');
}

/** Removes the settings for reaching Temporal. Keeps the name of the task queue. */
function withoutTemporal(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const kept = Object.entries(env).filter(([name]) => !name.startsWith('TEMPORAL_') || name === 'TEMPORAL_TASK_QUEUE');
  return Object.fromEntries(kept);
}

/** Runs `tillflow setup` without the provider's settings, so that it changes Temporal only. */
async function setUpTemporal(env: NodeJS.ProcessEnv, { onLine }: StackOptions, address: string): Promise<void> {
  const kept = Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('PROVIDER_')));
  await runTillflow(['setup'], { ...kept, TEMPORAL_ADDRESS: address }, (line) => onLine('setup', line));
}

/** @throws {Error} with the last output when the exit code is not 0. */
async function runTillflow(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  onLine: (line: string) => void,
): Promise<void> {
  const child = new SupervisedChild(process.execPath, ['apps/cli/dist/main.js', ...args], { cwd: root, env, onLine });
  const code = await child.exited;
  if (code !== 0) throw new Error(`tillflow ${args.join(' ')} ended with exit code ${code}:\n${child.tail()}`);
}

function rejectWhenAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const fail = (): void => reject(new Error('Interrupted while starting.'));
    if (signal.aborted) fail();
    else signal.addEventListener('abort', fail, { once: true });
  });
}
