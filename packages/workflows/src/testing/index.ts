/** What the chaos campaign and the tests on real processes share with the simulation. */
export { AMOUNT, sampleIntent } from './sample-intent.js';
export { liveAction, type Action, type ActionOf, type Way } from './actions.js';
export {
  checkAlways,
  checkChange,
  checkSettled,
  GUARANTEES,
  isPaidStatus,
  type Breach,
  type Findings,
  type Guarantee,
} from './oracle.js';
export type { Answer, Observation, ProviderCharge } from './observation.js';
