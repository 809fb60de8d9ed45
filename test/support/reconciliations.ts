import { eventually } from './eventually.js';
import { KEYS, type Answer, type Stack } from './stack.js';

export type BreakJson = {
  n: number;
  type: string;
  checkout_id: string | null;
  charge_id: string | null;
  refund_id: string | null;
  suggested_action: string;
  healed: boolean;
  actual: { status: string | null; amount: number; currency: string } | null;
  made_by: { actor_uid: string | null; user_uid: string | null; team_uid: string | null } | null;
  acknowledged: { by: string; at: string; reason: string } | null;
};
type TotalsJson = { currency: string; [figure: string]: number | string } & Record<
  'checkouts' | 'charges' | 'paid_here' | 'paid_there' | 'refunded_here' | 'refunded_there' | 'fees' | 'breaks',
  number
>;
export type ReconciliationJson = {
  id: string;
  status: string;
  from: string;
  to: string;
  compared_until: string | null;
  not_compared: { what: string; code: string }[];
  breaks: BreakJson[];
  acknowledged_count: number;
  foreign: { charge_id: string }[];
  totals: TotalsJson[];
  returned: { currency: string; amount: number; fees: number }[];
  failure: { code: string } | null;
};
type Body = { from: string; to: string; dry_run?: boolean };

const DAY_MS = 86_400_000;

/** Reconciliations as an operator asks for them. */
export class Reconciliations {
  constructor(private readonly stack: Stack) {}

  /** A window that everything of a test is in. */
  body({ days = 1 }: { readonly days?: number } = {}): Body {
    const now = Date.now();
    return { from: new Date(now - days * DAY_MS).toISOString(), to: new Date(now + DAY_MS).toISOString() };
  }

  async start(body: Partial<Body> = {}): Promise<string> {
    const answer = await this.#request<{ id: string; location: string }>('POST', '/v1/reconciliations', {
      ...this.body(),
      ...body,
    });
    if (answer.status !== 202) throw new Error(`Refused: ${JSON.stringify(answer.body)}`);
    return answer.body.id;
  }

  async get(id: string): Promise<ReconciliationJson> {
    return (await this.#request<ReconciliationJson>('GET', `/v1/reconciliations/${id}`)).body;
  }

  async list(): Promise<ReconciliationJson[]> {
    return (await this.#request<{ data: ReconciliationJson[] }>('GET', '/v1/reconciliations')).body.data;
  }

  async completed(id: string): Promise<ReconciliationJson> {
    return eventually(
      async () => {
        const reconciliation = await this.get(id);
        if (reconciliation.status !== 'completed') throw new Error(`Not yet: ${JSON.stringify(reconciliation)}`);
        return reconciliation;
      },
      { timeoutMs: 120_000 },
    );
  }

  async run(): Promise<ReconciliationJson> {
    return this.completed(await this.start());
  }

  /** The time until which payments were compared, in ms, from the worker's last heartbeat; 0 before it. */
  async comparedUntil(id: string): Promise<number> {
    const [, name, runId] = /^rec_(.+)_([0-9a-f-]+)$/.exec(id) ?? [];
    const { pendingActivities } = await this.stack.temporal.connection.workflowService.describeWorkflowExecution({
      namespace: 'default',
      execution: { workflowId: `reconcile/default/${name}`, runId: runId ?? '' },
    });
    const payload = pendingActivities?.[0]?.heartbeatDetails?.payloads?.[0]?.data;
    if (payload === undefined || payload === null) return 0;
    const { next } = JSON.parse(Buffer.from(payload).toString()) as { next: { at: number } | null };
    return next?.at ?? 0;
  }

  export(id: string, format: 'csv' | 'json'): Promise<Answer<unknown>> {
    return this.#request('GET', `/v1/reconciliations/${id}/export?format=${format}`);
  }

  #request<T>(method: string, path: string, body?: unknown): Promise<Answer<T>> {
    return this.stack.request<T>(method, path, { key: KEYS.ops, ...(body === undefined ? {} : { body }) });
  }
}
