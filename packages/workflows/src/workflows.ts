/** The entry of the workflow bundle: every workflow type by the name it is started with. */
export { aftercare } from './aftercare/workflow.js';
export { checkout } from './checkout/workflow.js';
