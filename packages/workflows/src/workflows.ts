/** The entry of the workflow bundle: every workflow type, under the name that starts it. */
export { aftercare, checkout } from './checkout/workflow.js';
export { eventTail } from './event-tail/workflow.js';
export { acknowledgement } from './reconciliation/acknowledgement.js';
export { reconcile } from './reconciliation/workflow.js';
export { command } from './commands/workflow.js';
export { planTurn } from './commands/plan-turn.js';
export { counterLink } from './counter-links/workflow.js';
export { pause } from './pause/workflow.js';
export { eventEndpoint } from './outgoing-events/endpoint-workflow.js';
export { eventFeed } from './outgoing-events/feed-workflow.js';
