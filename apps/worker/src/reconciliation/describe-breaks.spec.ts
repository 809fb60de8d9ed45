import { instant, plus, type Break, type Instant } from '@tillflow/domain';
import { expect, it } from 'vitest';
import { describeBreaks } from './describe-breaks.js';

const NOW = instant(Date.parse('2026-03-10T10:00:00Z'));
const BY = { actor_uid: 'user_1', user_uid: 'user_1', team_uid: 'acct_1' };
const ACKNOWLEDGED = { by: 'cli:nan', at: '2026-03-10T09:00:00.000Z', reason: 'known' };

const found = (type: Break['type'], refund_id: string | null): Break => ({
  type,
  checkout_id: 'chk_default_a',
  charge_id: 'chrg_1',
  refund_id,
  transaction_id: null,
  receipt_id: null,
  expected: null,
  actual: { status: 'refunded', amount: 20_000, currency: 'THB' },
  age_seconds: 3_600,
  suggested_action: '',
  healed: false,
});

const describe = async (...breaks: readonly Break[]) => {
  const asked: [string, Instant][] = [];
  const described = await describeBreaks(breaks, {
    now: NOW,
    provider: {
      madeBy: (id, at) => {
        asked.push([id, at]);
        return Promise.resolve(id === 'rfnd_1' ? BY : null);
      },
    },
    acknowledgements: {
      mark: (all) =>
        Promise.resolve(all.map((one) => (one.type === 'amount' ? { ...one, acknowledged: ACKNOWLEDGED } : one))),
    },
  });
  return { described, asked };
};

it('a refund made outside names who made it, by the event of the time when it was made', async () => {
  const { described, asked } = await describe(found('refund_made_outside', 'rfnd_1'));
  expect(described).toEqual([{ ...found('refund_made_outside', 'rfnd_1'), made_by: BY }]);
  expect(asked).toEqual([['rfnd_1', plus(NOW, -3_600_000)]]);
});

it('a refund made outside names no one when the provider has no event of it', async () => {
  const { described } = await describe(found('refund_made_outside', 'rfnd_2'));
  expect(described).toEqual([found('refund_made_outside', 'rfnd_2')]);
});

it('any other break costs no request to the provider, and says who has acknowledged it', async () => {
  const { described, asked } = await describe(found('amount', 'rfnd_1'), found('status', 'rfnd_1'));
  expect(described.map(({ acknowledged }) => acknowledged)).toEqual([ACKNOWLEDGED, undefined]);
  expect(asked).toEqual([]);
});
