/** The entry of the workflow bundle: every workflow type by the name it is started with. */
export { checkout } from './checkout/workflow.js';
