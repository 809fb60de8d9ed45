import type { ReconcileInput } from './messages.js';

/** The id of the workflow that compares this window: while one runs, another request for the same window joins it. */
export function reconcileWorkflowId({ account, from, to, dry_run }: ReconcileInput): string {
  return `reconcile/${account}/${from}-${to}${dry_run ? '-dry' : ''}`;
}
