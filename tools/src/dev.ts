import { once } from 'node:events';

import { onInterruption } from './interruption.js';
import { formatLogLine, printable } from './log-line.js';
import { startStack, type Stack } from './stack.js';

/** Runs the stack until it is interrupted (exit code 0) or a service fails (exit code 1). */
async function main(): Promise<number> {
  const signal = onInterruption();
  let stack: Stack | undefined;
  try {
    stack = await startStack({
      env: process.env,
      onLine: (service, line) => console.log(formatLogLine(service, line)),
      log: (line) => console.log(formatLogLine('tillflow', line)),
      restarts: true,
      signal,
    });
    await introduce(stack);
    if (!signal.aborted) await Promise.race([once(signal, 'abort'), stack.failure]);
    console.log('Stopping …');
    await stack.stop();
    return 0;
  } catch (error) {
    await stack?.stop();
    if (signal.aborted) return 0;
    console.error(printable(error instanceof Error ? error.message : String(error)));
    return 1;
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
