import { describe, expect, it } from 'vitest';
import type { Resolution } from '../../shared/resolution.js';
import { refuseResolution } from './resolution.js';

const reason = 'seen in the dashboard';

describe("an operator's decision", () => {
  it.each([
    ['approve the checkout', { action: 'approve', reason }, 'The action must be one of look, adopt, abandon'],
    ['look without a reason', { action: 'look', reason: ' ' }, 'A reason is required'],
    ['adopt a schedule', { action: 'adopt', id: 'schd_1', reason }, 'Only a charge or a refund can be adopted'],
    ['abandon when nothing is unresolved', { action: 'abandon', reason }, 'This checkout has nothing to resolve'],
  ])("an operator's decision to %s is refused", (_, decision, message) => {
    // The update can be sent by hand, so a decision can have any action.
    expect(refuseResolution(decision as Resolution, false)).toEqual({ code: 'invalid_resolution', message });
  });

  it.each<[string, Resolution, boolean]>([
    ['look', { action: 'look', reason }, false],
    ['adopt a charge', { action: 'adopt', id: 'chrg_1', reason }, false],
    ['adopt a refund', { action: 'adopt', id: 'rfnd_1', reason }, false],
    ['abandon what is unresolved', { action: 'abandon', reason }, true],
    ['look at what is unresolved', { action: 'look', reason }, true],
  ])("an operator's decision to %s is accepted", (_, decision, isUnresolved) => {
    expect(refuseResolution(decision, isUnresolved)).toBeNull();
  });
});
