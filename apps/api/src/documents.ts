import { pino } from 'pino';
import { startApi } from './app.js';
import { PROBLEMS, type ProblemCode } from './problems/catalog.js';
import { errorIndex, errorPage } from './problems/page.js';
import { apiSettings } from './settings.js';

/** Enough for the API to start and describe itself; nothing is called. */
const NOWHERE = {
  PORT: '0',
  TEMPORAL_ADDRESS: '127.0.0.1:1',
  PROVIDER_BASE_URL: 'http://127.0.0.1:1',
  PROVIDER_SECRET_KEY: 'skey_test_nowhere',
  PROVIDER_WEBHOOK_SECRET: 'off',
  URL_SIGNING_KEY: 'signs nothing that anyone ever opens',
  API_KEYS: `nobody:ops:${'0'.repeat(64)}`,
};

/** The committed documents that are made from the code: their paths in `docs`, and what they must read. */
export async function documents(): Promise<ReadonlyMap<string, string>> {
  const codes = Object.keys(PROBLEMS) as ProblemCode[];
  return new Map([
    ['openapi.json', await openApi()],
    ['errors/README.md', errorIndex()],
    ...codes.map((code) => [`errors/${code}.md`, errorPage(code)] as const),
  ]);
}

/** As it is served. */
async function openApi(): Promise<string> {
  const api = await startApi(apiSettings(NOWHERE), pino({ enabled: false }));
  try {
    const response = await fetch(`${api.url}/openapi.json`);
    return `${JSON.stringify(await response.json(), null, 2)}\n`;
  } finally {
    await api.close();
  }
}
