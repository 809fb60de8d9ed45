import { Injectable } from '@nestjs/common';
import { PaymentsClient, type Occurrence, type Schedule } from '@tillflow/payments-client';
import type { Asker } from '../auth/caller.js';
import { Commands } from '../commands/commands.service.js';
import { contentKey, planKey } from '../commands/order.js';
import { Problem } from '../problems/problem.js';
import { FAR_AHEAD, ProviderReads } from '../provider/provider-reads.js';
import type { ListQuery, Page } from '../provider/lists.schema.js';
import { ProviderLists } from '../provider/provider-lists.js';
import { isSearch, type CreatePlan, type ListPlans, type PendingPlan } from './plans.schema.js';

export type AskedPlan =
  | { readonly plan: Schedule; readonly status: 200 | 201 }
  | { readonly plan: PendingPlan; readonly status: 202 };

/** The newest occurrences in the answer for a plan. Another route lists all. */
const SHOWN_OCCURRENCES = 100;

/** The limit of plans with the same content and without a key, each created after the one before has ended. */
const MAX_GENERATIONS = 20;

/** Recurring charges and transfers: the provider's schedules, one for each key. */
@Injectable()
export class PlansService {
  constructor(
    private readonly provider: PaymentsClient,
    private readonly commands: Commands,
    private readonly reads: ProviderReads,
    private readonly lists: ProviderLists,
  ) {}

  /**
   * The plan of this key. Without a key, the running plan with the same content, or a new one, so that a repeated
   * request never charges twice.
   * @throws {Problem} as `#make` does; `idempotency_key_required` when too many plans with this content have ended.
   */
  async create(key: string | null, body: CreatePlan, asker: Asker): Promise<AskedPlan> {
    if (key !== null) return this.#make(key, body, asker);
    for (let generation = 1; generation <= MAX_GENERATIONS; generation += 1) {
      const asked = await this.#make(contentKey(body, generation), body, asker);
      if (asked.status !== 200 || !hasEnded(asked.plan)) return asked;
    }
    throw new Problem(
      'idempotency_key_required',
      `This plan has ended ${MAX_GENERATIONS} times. Send an Idempotency-Key for the next one`,
    );
  }

  /**
   * The plan of this key: 201 for a new one, 200 for an existing one, 202 while the outcome is not known.
   * @throws {Problem} `idempotency_conflict`; `provider_refused`: nothing was made, and the key can be used again.
   */
  async #make(key: string, body: CreatePlan, asker: Asker): Promise<AskedPlan> {
    const carried = await this.commands.carryOut({ kind: 'create_plan', key, params: withKey(body, key) }, asker);
    if (carried.kind === 'pending') {
      const { end_date: end_on, start_date: start_on, ...asked } = body;
      const { detail } = carried;
      return {
        plan: { object: 'schedule', id: null, status: 'pending', detail, ...asked, start_on, end_on },
        status: 202,
      };
    }
    const { id, reply, isFirst } = carried;
    // The worker's reply shows a new plan as it is. An older plan may have changed.
    if (isFirst && isPlan(reply)) return { plan: reply, status: 201 };
    const plan = await this.#fresh(id ?? '', reply);
    return { plan, status: isFirst ? 201 : 200 };
  }

  async get(id: string): Promise<Schedule> {
    const { schedules } = this.provider;
    const order = 'reverse_chronological';
    const [plan, data] = await this.reads.read((options) =>
      Promise.all([
        schedules.retrieve(id, options),
        schedules.iterateOccurrences(id, { order, to: FAR_AHEAD }, options).toArray({ limit: SHOWN_OCCURRENCES }),
      ]),
    );
    return { ...plan, occurrences: { object: 'list', total: plan.occurrences?.total, order, data } };
  }

  list({ kind, ...query }: ListPlans): Promise<Page<Schedule>> {
    const { chargeSchedules, transferSchedules, schedules } = this.provider;
    if (isSearch(query)) return this.#search(query);
    const list = { charge: chargeSchedules, transfer: transferSchedules, both: schedules }[kind ?? 'both'];
    return this.lists.page(`plans ${kind ?? ''}`, query, (params, options) => list.list(params, options));
  }

  occurrences(id: string, query: ListQuery): Promise<Page<Occurrence>> {
    const { schedules } = this.provider;
    return this.lists.page(`occurrences ${id}`, query, (params, options) =>
      schedules.listOccurrences(id, params, options),
    );
  }

  /** Ends the plan. Charges and transfers that it made stay. A second call changes nothing. */
  async stop(id: string, asker: Asker): Promise<AskedPlan> {
    const carried = await this.commands.carryOut({ kind: 'stop_plan', plan: id }, asker);
    if (carried.kind === 'pending') {
      return { plan: { object: 'schedule', id, status: 'pending', detail: carried.detail }, status: 202 };
    }
    return { plan: isPlan(carried.reply) ? carried.reply : await this.get(id), status: 200 };
  }

  #search({
    query,
    order,
    cursor,
    status,
    active,
    amount,
    created,
    card_last_digits,
  }: ListPlans): Promise<Page<Schedule>> {
    const filters = {
      status,
      active,
      amount,
      created,
      card_last_digits,
    };
    return this.lists.search('plans', cursor, { query, order, filters }, (page, options) =>
      this.provider.chargeSchedules.search({ query, order, filters, page }, options),
    );
  }

  /**
   * The plan as the provider shows it now, or as it was made when the provider does not answer. @throws {Problem} when
   * the provider does not have it.
   */
  async #fresh(id: string, made: unknown): Promise<Schedule> {
    try {
      return await this.get(id);
    } catch (error) {
      if (!(error instanceof Problem) || !isPlan(made)) throw error;
      // The provider removed the plan, or does not show it yet: creating another one could double it.
      if (error.code === 'not_found') throw notShown(id, error);
      return made;
    }
  }
}

function notShown(id: string, cause: Problem): Problem {
  const detail = `Plan ${id} was made, but the provider does not show it. If it is gone, use another key for the next plan`;
  return new Problem('outcome_unknown', detail, { cause });
}

/** Whether the plan makes no further charges or transfers. */
function hasEnded({ active, deleted, status }: Schedule): boolean {
  return active === false || deleted === true || status === 'deleted';
}

/**
 * Adds Tillflow's key to the metadata of the charges: a lookup finds a plan by it when the answer was lost. A transfer
 * has no metadata.
 */
function withKey(plan: CreatePlan, key: string): CreatePlan {
  if (plan.charge === undefined) return plan;
  return { ...plan, charge: { ...plan.charge, metadata: { ...plan.charge.metadata, plan: planKey(key) } } };
}

/** Whether the reply is a plan. The worker has checked and sealed it; null when it cannot be opened. */
function isPlan(reply: unknown): reply is Schedule {
  return typeof reply === 'object' && reply !== null && 'id' in reply && typeof reply.id === 'string';
}
