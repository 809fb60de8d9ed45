import { expect, it } from 'vitest';
import { FULL } from './support/full.js';
import { Stack } from './support/stack.js';

/** Each call takes so long, and a QR code takes two. */
const CALL_MS = 4_000;
const CALLERS = 8;
const PLACES = 2;
/** If each kept its place for as long as its QR code takes, half of the callers would wait longer than this. */
const ANSWER_WITHIN_MS = 15_000;

it(
  'a slow provider makes the API refuse no checkout, although more of them begin than it has places at Temporal',
  FULL,
  async () => {
    const api = { TEMPORAL_MAX_WRITES: String(PLACES), ANSWER_WITHIN_MS: String(ANSWER_WITHIN_MS) };
    const stack = await Stack.start({ api });
    try {
      stack.sandbox.faults.add({ method: 'POST', action: 'delay', delay_ms: CALL_MS });
      const answers = await Promise.all(Array.from({ length: CALLERS }, () => stack.create()));
      expect(answers.map(({ status }) => status).filter((status) => status !== 201 && status !== 202)).toEqual([]);
      stack.sandbox.faults.clear();
      for (const { body } of answers) {
        await stack.untilStatus(body.id, 'awaiting_payment', 60_000);
        expect(stack.chargesOf(body.id)).toHaveLength(1);
      }
    } finally {
      await stack.stop();
    }
  },
);
