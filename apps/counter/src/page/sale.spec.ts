import { TillflowError, type Checkout, type ErrorDetails, type Tillflow } from '@tillflow/sdk';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { checkoutOf } from '../testing/fakes.js';
import type { StoredSale } from './device.js';
import { SaleRun } from './sale.js';

const NOW = Date.parse('2026-11-24T12:00:00Z');
const DAY_MS = 86_400_000;

beforeEach(() => void vi.useFakeTimers({ now: NOW }));
afterEach(() => void vi.useRealTimers());

/** An error of the API itself. */
function refused(status: number, code: string): TillflowError {
  const problem = { status, code, detail: 'Text' } as ErrorDetails['problem'];
  return new TillflowError({ code, detail: 'Text', money: 'not_moved', status, problem });
}

/** What a proxy, or a network that wants a person to sign in, answers. */
function foreign(status: number): TillflowError {
  return new TillflowError({ code: 'unexpected_answer', detail: 'Text', money: 'not_moved', status });
}

/** Answers of an API: the last one repeats. An error is thrown. */
type Answers = {
  readonly create?: readonly unknown[];
  readonly watch?: readonly unknown[];
  readonly cancel?: readonly unknown[];
  readonly listed?: Checkout[];
};

function follow(sale: Partial<StoredSale>, { create = [], watch = [], cancel = [], listed = [] }: Answers) {
  const answers = { create: [...create], watch: [...watch], cancel: [...cancel] };
  const next = (name: keyof typeof answers): Checkout => {
    const answer = answers[name].length > 1 ? answers[name].shift() : answers[name][0];
    if (answer instanceof Error) throw answer;
    return answer as Checkout;
  };
  const creates = vi.fn<(params: object, options: object) => Promise<Checkout>>(async () => next('create'));
  const sdk = {
    checkouts: {
      create: creates,
      async *watch() {
        yield next('watch');
      },
      cancel: async () => next('cancel'),
      list: async () => ({ data: listed }),
    },
  };
  const [refusals, closed] = [vi.fn<(code: string) => void>(), vi.fn<() => void>()];
  const run = new SaleRun(
    { reference: 'r', amount: 100, currency: 'THB', note: '', startedAt: NOW, id: null, ...sale },
    {
      sdk: sdk as unknown as Tillflow,
      now: () => NOW,
      keep: () => undefined,
      changed: () => undefined,
      refused: (code) => {
        refusals(code);
        run.stop();
      },
      closed,
    },
    sale.id !== undefined,
  );
  void run.follow();
  return { run, creates, refusals, closed };
}

describe('a sale whose checkout the API accepted and never began', () => {
  it('is sent again with the same reference', async () => {
    const { run, creates } = follow(
      { id: 'a' },
      { watch: [refused(404, 'not_found'), checkoutOf('a')], create: [checkoutOf('a')] },
    );
    await vi.advanceTimersByTimeAsync(2_000);
    expect(creates).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ reference: 'r' }), expect.anything());
    expect(run.checkout?.id).toBe('a');
  });

  it.each([
    ['not_made', DAY_MS],
    ['gone', 31 * DAY_MS],
  ])('is only looked for when the customer may be gone, and ends as %s', async (code, age) => {
    const { creates, refusals } = follow({ id: 'a', startedAt: NOW - age }, { watch: [refused(404, 'not_found')] });
    await vi.advanceTimersByTimeAsync(10_000);
    expect([refusals.mock.calls, creates.mock.calls]).toEqual([[[code]], []]);
  });
});

describe('a cancel that waits', () => {
  it('is shown until the checkout has ended', async () => {
    const { run } = follow({ id: 'a' }, { watch: [checkoutOf('a')], cancel: [refused(202, 'outcome_pending')] });
    await vi.advanceTimersByTimeAsync(1);
    await run.cancel();
    run.show(checkoutOf('a', { qr: null, version: 2 }));
    expect(run.trouble).toBe('cancel_waits');
    run.show(checkoutOf('a', { status: 'paid', version: 3 }));
    expect(run.trouble).toBeNull();
  });
});

describe('a sale', () => {
  it('goes on when another program than the API answers with 4xx', async () => {
    const { run, closed, refusals } = follow(
      {},
      { create: [foreign(404), foreign(401), checkoutOf('a')], watch: [foreign(401), checkoutOf('a')] },
    );
    await vi.advanceTimersByTimeAsync(5_000);
    expect(run.checkout?.id).toBe('a');
    expect([closed.mock.calls, refusals.mock.calls]).toEqual([[], []]);
  });

  it('ends with the session when the API refuses it', async () => {
    const { closed } = follow({ id: 'a' }, { watch: [refused(401, 'unauthorized')] });
    await vi.advanceTimersByTimeAsync(1);
    expect(closed).toHaveBeenCalledOnce();
  });

  it('does not begin when the API refuses it', async () => {
    const { refusals } = follow({}, { create: [refused(422, 'amount_out_of_range')] });
    await vi.advanceTimersByTimeAsync(1);
    expect(refusals).toHaveBeenCalledExactlyOnceWith('amount_out_of_range');
  });
});
