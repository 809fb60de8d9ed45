import { afterAll, beforeAll, describe, expect, it, type TestContext } from 'vitest';
import { CHARGE_ROWS } from '../test/conformance/charge-rows.js';
import { ENDPOINT_ROWS } from '../test/conformance/endpoint-rows.js';
import { FIELD_ROWS } from '../test/conformance/field-rows.js';
import { LIST_ROWS, SEARCH_ROWS } from '../test/conformance/list-rows.js';
import { MUTATIONS, unnoticed } from '../test/conformance/mutations.js';
import { NotShown, ProviderUnderTest } from '../test/conformance/provider.js';
import { RECORD_ROWS } from '../test/conformance/record-rows.js';
import { Samples } from '../test/conformance/samples.js';
import type { Row } from '../test/conformance/row.js';
import { SCHEDULE_ROWS } from '../test/conformance/schedule-rows.js';
import { WEBHOOK_ROWS } from '../test/conformance/webhook-rows.js';
import { WINDOW_ROWS, YEAR_ROWS } from '../test/conformance/window-rows.js';
import { WIRE_ROWS } from '../test/conformance/wire-rows.js';

let samples: Samples;

beforeAll(async () => {
  samples = new Samples(await ProviderUnderTest.open(process.env));
});
afterAll(async () => {
  await samples.provider.close();
});

/** What a provider cannot be brought to show is skipped with the reason; the sandbox in this process shows all. */
async function expectFact({ shows }: Pick<Row, 'shows'>, { skip }: TestContext): Promise<void> {
  try {
    await shows(samples);
  } catch (error) {
    if (error instanceof NotShown && !samples.provider.where.complete) skip(error.message);
    throw error;
  }
}

const TABLE = {
  fields: FIELD_ROWS,
  endpoints: ENDPOINT_ROWS,
  lists: LIST_ROWS,
  searches: SEARCH_ROWS,
  wire: WIRE_ROWS,
  charges: CHARGE_ROWS,
  records: RECORD_ROWS,
  webhooks: WEBHOOK_ROWS,
  // These rows move the clock by years, so they come last.
  windows: WINDOW_ROWS,
  schedules: SCHEDULE_ROWS,
  years: YEAR_ROWS,
};

/** One row of the table, one test. */
describe('the provider conforms to the reference', () => {
  for (const [part, rows] of Object.entries(TABLE)) {
    for (const row of rows) {
      it(`${part}: ${row.fact}`, async (context) => {
        await expectFact(row, context);
      });
    }
  }
});

/** Otherwise a table that looks at nothing would pass. */
describe('the conformance table', () => {
  for (const mutation of MUTATIONS) {
    it(`notices when a field of any resource ${mutation.name}`, async (context) => {
      await expectFact({ shows: async () => expect(await unnoticed(mutation, samples)).toEqual([]) }, context);
    });
  }
});
