/** The entry of the workflow bundle: every workflow type by the name it is started with. */
export { aftercare } from './aftercare/workflow.js';
export { checkout } from './checkout/workflow.js';
export { eventTail } from './event-tail/workflow.js';
export { reconcile } from './reconcile/workflow.js';
export { command } from './command/workflow.js';
export { planTurn } from './command/turn.js';
