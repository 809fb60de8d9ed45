/** The entry of the workflow bundle: every workflow type by the name it is started with. */
export { aftercare } from './checkout/aftercare.js';
export { checkout } from './checkout/workflow.js';
export { eventTail } from './event-tail/workflow.js';
export { reconcile } from './reconciliation/workflow.js';
export { command } from './commands/workflow.js';
export { planTurn } from './commands/turn.js';
