import { createWriteStream, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { onInterruption } from './interruption.js';
import { formatLogLine, printable } from './log-line.js';
import { runScenarios } from './demo-scenarios.js';
import { startStack, type Stack } from './stack.js';

/** The demo has ports and keys of its own, so that it runs beside anything; Temporal may be a given one. */
function ownSettings(): NodeJS.ProcessEnv {
  const foreign = /^(PORT|HOST|PUBLIC_URL|SANDBOX_PORT|API_KEYS|URL_SIGNING_KEY|PROVIDER_.*)$/;
  const kept = Object.entries(process.env).filter(([name]) => !foreign.test(name));
  return {
    // Of a given Temporal server another worker must not take the demo's tasks.
    TEMPORAL_TASK_QUEUE: `tillflow-demo-${process.pid}`,
    ...Object.fromEntries(kept),
    // It compares what was paid a moment ago.
    RECONCILE_MIN_AGE_MS: '0',
  };
}

async function main(): Promise<number> {
  const signal = onInterruption();
  const folder = mkdtempSync(join(tmpdir(), 'tillflow-demo-'));
  const logPath = join(folder, 'services.log');
  const logFile = createWriteStream(logPath);
  const discard = (): void => rmSync(folder, { recursive: true, force: true });
  // Also when a second Ctrl-C cuts the stopping short; cleared when the log is worth keeping.
  process.on('exit', discard);
  let stack: Stack | undefined;
  try {
    console.log('Starting Temporal, the provider sandbox, the worker and the API …');
    stack = await startStack({
      env: ownSettings(),
      onLine: (service, line) => logFile.write(`${formatLogLine(service, line)}\n`),
      log: (line) => console.log(line),
      signal,
    });
    const interrupted = new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(new Error('Interrupted.')), { once: true });
    });
    await Promise.race([runScenarios(stack, (text) => console.log(printable(text))), stack.broken, interrupted]);
    await stack.stop();
    console.log('Everything is stopped. `pnpm dev` starts the same and keeps it running, to look around and to try.');
    return 0;
  } catch (error) {
    await stack?.stop();
    if (signal.aborted) return 130;
    process.off('exit', discard);
    console.error(printable(`\nThe demo failed. ${error instanceof Error ? error.message : String(error)}`));
    console.error(`What the services said: ${logPath}`);
    return 1;
  }
}

process.exit(await main());
