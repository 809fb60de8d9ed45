import type { Store } from '../checkout/types.js';

/** The workflow type. */
export const COUNTER_LINK_WORKFLOW = 'counterLink';

/** The id of the workflow whose open run means that a link of the counter is valid. */
export function counterLinkWorkflowId(account: string, id: string): string {
  return `counter-link/${account}/${id}`;
}

/** A link of the counter: its till, and who created it. Wire names; times are ISO 8601 UTC. */
export type CounterLink = {
  readonly id: string;
  /** The till that the link opens. */
  readonly terminal: string;
  readonly store: Store | null;
  readonly created_at: string;
  readonly expires_at: string;
  /** Who created it, as `Attributed` spells it. */
  readonly created_by: string;
};

/** The memo of a link, complete from its start, so that reading it needs no worker. */
export type CounterLinkMemo = { readonly link: CounterLink };
