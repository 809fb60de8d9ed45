import { Injectable } from '@nestjs/common';
import { parseInstant, returnedOn, toCsv, type Break } from '@tillflow/domain';
import {
  ReconciliationNotFoundError,
  Reconciliations,
  type FullReconciliation,
  type StoredReconciliation,
} from '@tillflow/temporal';
import type { Asker } from '../auth/caller.js';
import { Cursors } from '../shared/cursors.js';
import { unavailable } from '../temporal/failures.js';
import { Problem } from '../problems/problem.js';
import { Settings } from '../providers.js';
import { TemporalAccess } from '../temporal/temporal.provider.js';
import type {
  AcknowledgeBreak,
  BreakPath,
  BreakReply,
  ListReconciliations,
  ReconciliationReply,
  ReconciliationsReply,
  ReconciliationStarted,
  StartReconciliation,
} from './reconciliations.schema.js';

const READ_WITHIN_MS = 2_000;

/** The rules of the API for reconciliations. One workflow carries out each run. */
@Injectable()
export class ReconciliationsService {
  readonly #reconciliations: Reconciliations;

  constructor(
    temporal: TemporalAccess,
    private readonly settings: Settings,
    private readonly cursors: Cursors,
  ) {
    const taskQueue = settings.values.TEMPORAL_TASK_QUEUE;
    this.#reconciliations = new Reconciliations(temporal, {
      taskQueue,
      readWithinMs: READ_WITHIN_MS,
      bounded: temporal.within,
    });
  }

  async start({ from, to, dry_run }: StartReconciliation, { by }: Asker): Promise<ReconciliationStarted> {
    const window = { from: parseInstant(from), to: parseInstant(to) };
    const policy = { youngMs: this.settings.values.RECONCILE_MIN_AGE_MS };
    const { id, status } = await temporal(
      this.#reconciliations.start({ account: this.settings.account, ...window, dry_run, policy }, by),
    );
    return { id, status, location: locationOf(id) };
  }

  /** @throws {Problem} `not_found`. */
  async get(id: string): Promise<ReconciliationReply> {
    return toReply(await this.#full(id));
  }

  async list({ limit, cursor }: ListReconciliations): Promise<ReconciliationsReply> {
    const searches = [this.#reconciliations.query];
    const token = cursor === undefined ? null : this.cursors.read(cursor, searches).token;
    const page = await temporal(this.#reconciliations.page(limit, token));
    return {
      data: page.data.map((stored) => ({
        ...toSummary(stored),
        breaks_count: stored.summary.breaks,
        healed_count: stored.summary.healed,
        acknowledged_count: stored.summary.acknowledged ?? 0,
      })),
      next_cursor:
        page.nextPageToken === null ? null : this.cursors.write({ search: 0, token: page.nextPageToken }, searches),
    };
  }

  /**
   * Repeated, it answers with the first acknowledgement. @throws {Problem} `not_found`, `reconciliation_incomplete`.
   */
  async acknowledge({ id, n }: BreakPath, { reason }: AcknowledgeBreak, { by }: Asker): Promise<BreakReply> {
    const { result, status } = await this.#full(id);
    if (result === null) throw incomplete(status);
    const one = /^[1-9]\d*$/.test(n) ? result.found[Number(n) - 1] : undefined;
    if (one === undefined) throw new Problem('not_found', 'The reconciliation has no break of this number');
    const acknowledged = await temporal(this.#reconciliations.acknowledge(one, { by, reason }));
    return toBreakReply({ ...one, acknowledged }, Number(n) - 1);
  }

  /** All findings as one table. @throws {Problem} `not_found`, `reconciliation_incomplete`. */
  async csv(id: string): Promise<string> {
    return toCsv(await this.completed(id));
  }

  /** @throws {Problem} `not_found`, `reconciliation_incomplete`. */
  async completed(id: string): Promise<ReconciliationReply> {
    const reply = await this.get(id);
    if (reply.status === 'completed') return reply;
    throw incomplete(reply.status);
  }

  async #full(id: string): Promise<FullReconciliation> {
    return temporal(this.#reconciliations.get(id));
  }
}

async function temporal<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof ReconciliationNotFoundError) throw new Problem('not_found', 'No reconciliation has this id');
    throw unavailable(error);
  }
}

function incomplete(status: string): Problem {
  return new Problem('reconciliation_incomplete', `The reconciliation is ${status}`);
}

/** @param index of the break in its reconciliation */
export function toBreakReply(one: Break, index: number): BreakReply {
  return { ...one, n: index + 1, made_by: one.made_by ?? null, acknowledged: one.acknowledged ?? null };
}

function toReply({ result, failure, ...stored }: FullReconciliation): ReconciliationReply {
  return {
    ...toSummary(stored),
    returned: returnedOn(result?.days ?? []),
    breaks: (result?.found ?? []).map(toBreakReply),
    acknowledged_count: result?.acknowledged ?? 0,
    foreign: [...(result?.foreign ?? [])],
    omitted: result?.omitted ?? { breaks: 0, foreign: 0 },
    not_compared: [...(result?.not_compared ?? [])],
    failure,
  };
}

function toSummary({ id, status, summary, createdAt }: StoredReconciliation) {
  const { from, to, compared_until = null, dry_run, totals } = summary;
  const window = { from, to, compared_until };
  return { id, status, ...window, dry_run, totals: [...totals], created_at: createdAt, location: locationOf(id) };
}

function locationOf(id: string): string {
  return `/v1/reconciliations/${id}`;
}
