import { ADOPTABLE_ID, type Resolution } from '../../shared/resolution.js';
import type { Refused } from '../messages.js';

/** The update can be sent by hand, with anything in it. */
const ACTIONS: readonly Resolution['action'][] = ['look', 'adopt', 'abandon'];

/** @returns why an operator's decision is refused, for people; null when it is not. */
export function refuseResolution(resolution: Resolution, isUnresolved: boolean): Refused | null {
  const refuse = (message: string): Refused => ({ code: 'invalid_resolution', message });
  if (!ACTIONS.includes(resolution.action)) return refuse(`The action must be one of ${ACTIONS.join(', ')}`);
  if (resolution.reason.trim() === '') return refuse('A reason is required');
  if (resolution.action === 'adopt' && !ADOPTABLE_ID.test(resolution.id)) {
    return refuse('Only a charge or a refund can be adopted');
  }
  if (resolution.action === 'abandon' && !isUnresolved) return refuse('This checkout has nothing to resolve');
  return null;
}
