import { once } from 'node:events';

import { onInterruption } from './interruption.js';
import { formatLogLine, printable } from './log-line.js';
import { startStack, type Stack } from './stack.js';

/** Runs the stack until it is interrupted (exit code 0) or a service fails (exit code 1). */
async function main(): Promise<number> {
  const signal = onInterruption();
  const output = new Output();
  let stack: Stack | undefined;
  try {
    stack = await startStack({
      env: process.env,
      onLine: (service, line) => output.line(formatLogLine(service, line)),
      log: (line) => output.notice(formatLogLine('tillflow', line)),
      restarts: true,
      signal,
    });
    await introduce(stack);
    output.begin();
    if (!signal.aborted) await Promise.race([once(signal, 'abort'), stack.failure]);
    console.log('Stopping …');
    await stack.stop();
    return 0;
  } catch (error) {
    output.begin();
    await stack?.stop();
    if (signal.aborted) return 0;
    console.error(printable(error instanceof Error ? error.message : String(error)));
    return 1;
  }
}

/** What `dev` prints. It begins with the address of the counter, which the API makes after the first log lines. */
class Output {
  #early: string[] | null = [];

  line(text: string): void {
    if (this.#early === null) console.log(text);
    else this.#early.push(text);
  }

  /** For the person who waits, such as the progress of a download. */
  notice(text: string): void {
    if (this.#early === null) console.log(text);
    else console.error(text);
  }

  /** Prints the lines of before, and from now on each line at once. */
  begin(): void {
    const early = this.#early ?? [];
    this.#early = null;
    for (const text of early) console.log(text);
  }
}

/** The settings that `pnpm tillflow` needs for this stack, as one line for a shell. */
function operatorSettings({ settings, apiUrl, temporal }: Stack): string {
  const own = { TEMPORAL_ADDRESS: temporal.address, PROVIDER_BASE_URL: settings.providerBaseUrl, PUBLIC_URL: apiUrl };
  const generated = settings.generatedProviderKeys.map((name) => [name, settings.providerKeys[name]]);
  return ['export', ...[...Object.entries(own), ...generated].map(([name, value]) => `${name}=${value}`)].join(' ');
}

async function introduce(stack: Stack): Promise<void> {
  const { settings, apiUrl, sandboxUrl, temporal } = stack;
  const [counter] = await stack.tillflow('counter-link', '--terminal', 'till-1');
  console.log(`counter: open this page to sell ${counter}`);
  for (const { role, secret } of settings.generatedKeys) console.log(`API key (${role})`.padEnd(28), secret);
  for (const name of settings.generatedProviderKeys) console.log(name.padEnd(28), settings.providerKeys[name]);
  console.log(`for pnpm tillflow             ${operatorSettings(stack)}`);
  const ready = {
    api: apiUrl,
    docs: `${apiUrl}/docs`,
    sandbox: sandboxUrl === undefined ? settings.providerBaseUrl : `${sandboxUrl}/dashboard`,
    temporal: temporal.address,
    ui: temporal.uiUrl ?? '(the UI of that server)',
  };
  console.log(
    `ready ${Object.entries(ready)
      .map(([name, address]) => `${name}=${address}`)
      .join(' ')}`,
  );
}

process.exit(await main());
