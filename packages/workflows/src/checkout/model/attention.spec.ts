import { expect, it } from 'vitest';
import { START } from '../../testing/simulated-provider.js';
import { Attentions, shownAttention, type RaisedAttention } from './attention.js';
import { Timeline } from './timeline.js';

function empty() {
  const raised: RaisedAttention[] = [];
  const timeline = new Timeline([]);
  return { raised, timeline, attentions: new Attentions(raised, timeline) };
}

it('an attention is raised once for each charge and code, and settled for each', () => {
  const { raised, timeline, attentions } = empty();
  expect(attentions.isEmpty).toBe(true);
  for (const charge of ['chrg_1', 'chrg_2', 'chrg_1']) attentions.raise(START, 'unknown_status', charge, charge);
  attentions.raise(START, 'double_payment', 'paid twice', 'chrg_1');
  expect(raised.map(({ about }) => about)).toEqual(['chrg_1', 'chrg_2', 'chrg_1']);
  expect(timeline.all.map(({ what, detail }) => [what, detail])).toEqual([
    ['attention', 'unknown_status: chrg_1'],
    ['attention', 'unknown_status: chrg_2'],
    ['attention', 'double_payment: paid twice'],
  ]);
  attentions.settle('unknown_status', 'chrg_1');
  expect(shownAttention(raised)?.detail).toBe('chrg_2');
  expect(attentions.isEmpty).toBe(false);
});

it('an attention that is raised only once comes back neither while it lasts nor after an operator settled it', () => {
  const { raised, timeline, attentions } = empty();
  attentions.raise(START, 'late_payment', 'rfnd_2', 'chrg_1');
  timeline.note(START, 'resolve', 'refund_doubled: rfnd_2');
  for (const refund of ['rfnd_2', 'rfnd_3']) attentions.raiseOnce(START, 'refund_doubled', refund, refund);
  expect(raised.map(({ code, about }) => [code, about])).toEqual([
    ['late_payment', 'chrg_1'],
    ['refund_doubled', 'rfnd_2'],
    ['refund_doubled', 'rfnd_3'],
  ]);
  attentions.settleAll();
  attentions.raiseOnce(START, 'refund_doubled', 'rfnd_2', 'rfnd_2');
  expect(raised).toEqual([]);
});
