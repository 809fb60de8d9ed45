import { readFileSync } from 'node:fs';
import { checkFaultPlan, type FaultPlan } from './faults/plan.js';
import { createSandbox } from './sandbox.js';
import { readSettings, type Settings } from './settings.js';

/** Exit code for wrong settings. */
const USAGE = 2;

async function run(settings: Settings): Promise<void> {
  const sandbox = createSandbox({
    seed: settings.SANDBOX_SEED,
    secretKey: settings.PROVIDER_SECRET_KEY,
    publicKey: settings.PROVIDER_PUBLIC_KEY,
    webhookSecrets: settings.PROVIDER_WEBHOOK_SECRET,
    webhookUrl: settings.WEBHOOK_URL,
    publicUrl: settings.SANDBOX_PUBLIC_URL,
    allowedHosts: settings.SANDBOX_ALLOWED_HOSTS,
    faultPlan: settings.SANDBOX_FAULT_PLAN === undefined ? undefined : readFaultPlan(settings.SANDBOX_FAULT_PLAN),
    ...(settings.SANDBOX_RATE_LIMIT !== undefined && { assumptions: { rateLimit: settings.SANDBOX_RATE_LIMIT } }),
  });
  const { url } = await sandbox.listen({ port: settings.SANDBOX_PORT, host: settings.SANDBOX_HOST });

  // Prints only keys that the sandbox made itself, never a key from the settings.
  if (settings.SANDBOX_SEED === undefined) say(`SANDBOX_SEED=${sandbox.seed}`);
  if (settings.PROVIDER_SECRET_KEY === undefined) say(`PROVIDER_SECRET_KEY=${sandbox.keys.secret}`);
  if (settings.PROVIDER_PUBLIC_KEY === undefined) say(`PROVIDER_PUBLIC_KEY=${sandbox.keys.public}`);
  if (settings.PROVIDER_WEBHOOK_SECRET === undefined)
    say(`PROVIDER_WEBHOOK_SECRET=${sandbox.keys.webhookSecrets.join(',')}`);
  process.stdout.write(`sandbox ready ${url}\n`);

  await new Promise((resolve) => {
    process.once('SIGTERM', resolve);
    process.once('SIGINT', resolve);
  });
  await sandbox.close();
}

function readFaultPlan(file: string): FaultPlan {
  try {
    return checkFaultPlan(JSON.parse(readFileSync(file, 'utf8')));
  } catch (error) {
    throw new Error(`SANDBOX_FAULT_PLAN=${file}: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
}

/** Standard output carries only the `ready` line, for programs that wait for it. */
function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

const read = readSettings(process.env);
if ('mistakes' in read) {
  say(`The sandbox cannot start:\n${read.mistakes}`);
  process.exitCode = USAGE;
} else {
  try {
    await run(read.settings);
  } catch (error) {
    say(`The sandbox cannot start: ${error instanceof Error ? error.message : String(error)}`);
    process.exitCode = 1;
  }
}
