import type { Temporal } from '@tillflow/temporal';
import type { CheckoutMemo } from '@tillflow/workflows';
import type { SimulatedApi } from '../installation/api.js';
import type { Provider } from '../installation/provider.js';

/** Where a life is lived: a simulated world, or real processes on a real clock. */
export type Surroundings = {
  /** Decides what people do at random. */
  readonly seed: string;
  /** Milliseconds. */
  readonly time: {
    readonly now: number;
    sleep(milliseconds: number): Promise<void>;
    after(milliseconds: number, run: () => void, machine: undefined): unknown;
  };
  readonly trace: { readonly note: (what: string) => void };
  readonly api: Pick<SimulatedApi, 'ask'>;
  readonly provider: Pick<Provider, 'at' | 'ask' | 'chargesOf' | 'recordsOf' | 'hasShownWrongTime' | 'hasLateEffects'>;
  /** A client of the engine that no fault affects. */
  readonly operator: Temporal;
  /** The memo of the newest run; null: there is none. */
  memoOf(workflowId: string): CheckoutMemo | null;
};
