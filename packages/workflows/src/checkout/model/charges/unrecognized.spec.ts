import { plus } from '@tillflow/domain';
import { describe, expect, it } from 'vitest';
import type { NotShown } from '../../../shared/lookup.js';
import { DAY, HOUR, intent, MINUTE, SECOND, START } from '../../../testing/simulated-provider.js';
import { DEFAULT_POLICY } from '../../policy.js';
import { partsOf } from '../parts.js';
import { emptyState } from '../state.js';

const absent: NotShown = { unseen: 'not found', code: 'not_found' };
const otherCharge: NotShown = { unseen: 'another charge', code: 'integrity_mismatch' };
const silent: NotShown = { unseen: 'no answer', code: 'timeout' };

/** Hints have named these charges. */
function named(...ids: string[]) {
  const { unrecognized, timeline } = partsOf(intent, DEFAULT_POLICY, emptyState());
  for (const id of ids) unrecognized.add(START, id);
  const dueIn = () =>
    unrecognized.due().map(({ at, step }) => [step?.do === 'retrieveCharge' ? step.chargeId : '', at - START]);
  return { unrecognized, timeline, dueIn };
}

describe('a charge that a hint names', () => {
  it('a charge that a hint names is retrieved at once', () => {
    expect(named('chrg_7').unrecognized.due()).toEqual([
      {
        at: START,
        step: { do: 'retrieveCharge', chargeId: 'chrg_7' },
        why: 'then retrieve a charge that a hint named',
      },
    ]);
  });

  it('a charge that a hint names twice is retrieved once, and hints can name five charges', () => {
    const { dueIn } = named('a', 'b', 'a', 'c', 'd', 'e', 'f');
    expect(dueIn().map(([id]) => id)).toEqual(['a', 'b', 'c', 'd', 'e']);
  });

  it('a charge that a hint names is retrieved after longer and longer delays while the provider does not answer', () => {
    const { unrecognized, timeline, dueIn } = named('a', 'b');
    const delays = Array.from({ length: 7 }, () => {
      unrecognized.miss(START, 'b', silent);
      return dueIn()[1]?.[1];
    });
    expect(delays).toEqual([5 * SECOND, 30 * SECOND, 5 * MINUTE, HOUR, HOUR, HOUR, HOUR]);
    expect(DEFAULT_POLICY.lookupDelaysMs.at(-1)).toBe(DAY);
    expect(dueIn()[0]).toEqual(['a', 0]);
    expect(timeline.all).toEqual([]);
  });

  it.each([
    ['does not exist', absent, 'a: not_found'],
    ['is another one', otherCharge, 'a: integrity_mismatch'],
  ])('a charge that a hint names is forgotten when the provider answers four times that it %s', (_, why, detail) => {
    const { unrecognized, timeline, dueIn } = named('b', 'a');
    for (let count = 0; count < 3; count += 1) unrecognized.miss(START, 'a', why);
    expect(dueIn()).toEqual([
      ['b', 0],
      ['a', 5 * MINUTE],
    ]);
    expect(timeline.all).toEqual([]);
    unrecognized.miss(START, 'a', why);
    expect(dueIn()).toEqual([['b', 0]]);
    expect(timeline.all).toMatchObject([{ what: 'charge_not_shown', detail }]);
  });

  it('a charge that a hint names is forgotten only once, however late another answer comes', () => {
    const { unrecognized, timeline, dueIn } = named('a');
    unrecognized.remove('a');
    unrecognized.remove('a');
    unrecognized.miss(START, 'a', absent);
    expect(dueIn()).toEqual([]);
    expect(timeline.all).toEqual([]);
  });
});

describe('a charge that an operator names', () => {
  it('a charge that an operator names comes first, and the last of five others gives way', () => {
    const { unrecognized, dueIn } = named('a', 'b', 'c', 'd', 'e');
    unrecognized.addFirst(plus(START, SECOND), 'f');
    expect(dueIn().map(([id]) => id)).toEqual(['f', 'a', 'b', 'c', 'd']);
    const few = named('a', 'b');
    few.unrecognized.addFirst(START, 'f');
    expect(few.dueIn().map(([id]) => id)).toEqual(['f', 'a', 'b']);
  });

  it('a charge that an operator names is retrieved at once, also when a hint had named it before', () => {
    const { unrecognized, dueIn } = named('a', 'b');
    unrecognized.miss(START, 'b', silent);
    unrecognized.addFirst(plus(START, SECOND), 'b');
    expect(dueIn()).toEqual([
      ['b', SECOND],
      ['a', 0],
    ]);
  });
});
