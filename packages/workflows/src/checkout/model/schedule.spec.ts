import { plus } from '@tillflow/domain';
import { expect, it } from 'vitest';
import { SECOND, START } from '../../testing/simulated-provider.js';
import { nextStepOf, type Due, type Step } from './schedule.js';

const retrieve: Step = { do: 'retrieveCharge', chargeId: 'chrg_1' };
const later = plus(START, SECOND);
const wait = (why: string): Step => ({ do: 'wait', until: later, why });

it.each<[string, readonly Due[], readonly Due[], Step]>([
  [
    'is the first that is due',
    [
      { at: START, step: retrieve, why: '' },
      { at: START, step: { do: 'createSource' }, why: '' },
    ],
    [],
    retrieve,
  ],
  [
    'is a due step, although a time without a step has passed',
    [
      { at: START, why: '' },
      { at: START, step: retrieve, why: '' },
    ],
    [],
    retrieve,
  ],
  [
    'is to wait for the earliest time',
    [{ at: plus(later, 1), step: retrieve, why: 'step' }],
    [{ at: later, why: 'deadline' }],
    wait('deadline'),
  ],
  [
    'is to wait for the step when a deadline comes at the same time',
    [{ at: later, step: retrieve, why: 'step' }],
    [{ at: later, why: 'deadline' }],
    wait('step'),
  ],
  ['is to close when nothing follows', [{ at: START, why: '' }], [{ at: START, why: '' }], { do: 'close' }],
])('the next step %s', (_, steps, deadlines, step) => {
  expect(nextStepOf(steps, deadlines, START)).toEqual(step);
});
