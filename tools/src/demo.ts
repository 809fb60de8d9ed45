import { createWriteStream, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { demoSettings } from './demo-settings.js';
import { onInterruption } from './interruption.js';
import { formatLogLine, printable } from './log-line.js';
import { runScenarios } from './demo-scenarios.js';
import { startStack, type Stack } from './stack.js';

async function main(): Promise<number> {
  const signal = onInterruption();
  const folder = mkdtempSync(join(tmpdir(), 'tillflow-demo-'));
  const logPath = join(folder, 'services.log');
  const logFile = createWriteStream(logPath);
  const discard = (): void => rmSync(folder, { recursive: true, force: true });
  // Runs also when a second Ctrl-C ends the process at once. Removed when the demo fails, to keep the log.
  process.on('exit', discard);
  let stack: Stack | undefined;
  try {
    console.log('Starting Temporal, the provider sandbox, the worker and the API …');
    stack = await startStack({
      env: demoSettings(),
      onLine: (service, line) => logFile.write(`${formatLogLine(service, line)}\n`),
      log: (line) => console.log(line),
      signal,
    });
    const interrupted = new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(new Error('Interrupted.')), { once: true });
    });
    await Promise.race([runScenarios(stack, (text) => console.log(printable(text))), stack.failure, interrupted]);
    await stack.stop();
    console.log(
      'Everything has stopped. `pnpm dev` starts the same services and keeps them running, so that you can try them.',
    );
    return 0;
  } catch (error) {
    await stack?.stop();
    if (signal.aborted) return 130;
    process.off('exit', discard);
    console.error(printable(`\nThe demo failed. ${error instanceof Error ? error.message : String(error)}`));
    console.error(`The log of the services: ${logPath}`);
    return 1;
  }
}

process.exit(await main());
