/**
 * Everything that the simulation imports from inside Temporal's library: it carries out workflow code and activities as
 * that library does, without its Core. These paths are no public interface: check each of them when Temporal's packages
 * are updated. The product's own are in `packages/temporal/src/connection/sdk-internals.ts`.
 */
export { Activity } from '@temporalio/worker/lib/activity.js';
export { parseWorkflowCode } from '@temporalio/worker/lib/worker.js';
export { ReusableVMWorkflowCreator } from '@temporalio/worker/lib/workflow/reusable-vm.js';
export { globalHandlers } from '@temporalio/worker/lib/workflow/vm-shared.js';
