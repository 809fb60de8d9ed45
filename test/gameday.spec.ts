import { findPrometheus } from '@tillflow/tools';
import { FAULTS, isPassed, runGameDay } from '@tillflow/tools/gameday';
import { expect, it } from 'vitest';
import { FULL } from './support/full.js';

it(
  'a game day sees the alert of a fault and compares the books after it, and fails where no alert fires',
  { ...FULL, timeout: 600_000 },
  async ({ skip }) => {
    const prometheus = await findPrometheus();
    if (prometheus === null) return skip('Prometheus is neither installed nor in the package registry of this system');
    const apiDown = FAULTS.filter(({ name }) => name === 'the API is down');
    const nothing = { name: 'nothing', alert: 'TillflowApiDown', begin: async () => {}, end: async () => {} };
    const { faults } = await runGameDay({
      prometheus,
      faults: [...apiDown, nothing],
      firesWithinMs: 20_000,
      calmMs: 0,
      log: () => {},
    });
    // Beside other campaigns the machine is too busy to say that no other alert fires.
    expect(faults.map((result) => [result.fault, result.firedAfterMs !== null, result.breaches])).toEqual([
      ['the API is down', true, []],
      ['nothing', false, []],
    ]);
    expect(faults.map(isPassed)[1]).toBe(false);
  },
);
