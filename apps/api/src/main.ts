import 'reflect-metadata';
import { logReady, programLogger } from '@tillflow/telemetry';
import { Accounts, SettingsError } from '@tillflow/temporal';
import { startApi } from './app.js';
import { apiSettings } from './settings.js';

async function main(): Promise<void> {
  const accounts = new Accounts(process.env, apiSettings);
  const { settings } = accounts.default;
  const logger = programLogger('api', settings.LOG_LEVEL);
  const api = await startApi(settings, logger, accounts);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      logger.info({ signal }, 'stopping');
      // An export of spans that gets no answer must not keep the program running.
      void api
        .close()
        .catch((err: unknown) => {
          logger.error({ err }, 'the API did not stop cleanly');
          process.exitCode = 1;
        })
        .then(() => process.exit());
    });
  }
  logReady(logger, { url: api.url });
}

try {
  await main();
} catch (error) {
  process.stderr.write(`${error instanceof SettingsError ? error.message : String(error)}\n`);
  process.exitCode = error instanceof SettingsError ? 2 : 1;
}
