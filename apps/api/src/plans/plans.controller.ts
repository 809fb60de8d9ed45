import { Body, Controller, Delete, Get, Headers, Param, Post, Query, Res } from '@nestjs/common';
import type { Occurrence, Schedule } from '@tillflow/payments-client';
import type { FastifyReply } from 'fastify';
import { AskedBy, type Asker } from '../auth/caller.js';
import { idempotencyKeyHeader, optionalIdempotencyKey } from '../shared/idempotency-key.js';
import { Answers, Describes, Tag } from '../openapi/decorators.js';
import { COMMAND_PROBLEMS, READ_PROBLEMS } from '../openapi/problem-sets.js';
import { listQuery, type ListQuery, type Page } from '../provider/lists.schema.js';
import {
  createPlan,
  listPlans,
  occurrencesReply,
  pendingPlan,
  planPath,
  planReply,
  plansReply,
  type CreatePlan,
  type ListPlans,
  type PendingPlan,
  type PlanPath,
} from './plans.schema.js';
import { PlansService } from './plans.service.js';

const CREATED = ['getRecurringPlan', 'listOccurrences', 'stopRecurringPlan'];
const AT_LOCATION = {
  headers: ['Location'],
  links: CREATED.map((operationId) => ({ operationId, parameters: { id: '$response.body#/id' } })),
} as const;

@Tag('recurring plans')
@Controller('v1/recurring-plans')
export class PlansController {
  constructor(private readonly plans: PlansService) {}

  @Post()
  @Describes(
    'createRecurringPlan',
    'Creates a recurring plan, which charges a card or transfers money on a schedule',
    [...COMMAND_PROBLEMS, 'idempotency_key_required', 'idempotency_conflict'],
    {
      headers: [
        {
          name: 'Idempotency-Key',
          required: false,
          description:
            'Names the plan: the same key is the same plan. Without a key, the same content is the same plan while it runs',
          schema: idempotencyKeyHeader,
        },
      ],
    },
  )
  @Answers(201, 'A new plan', planReply, AT_LOCATION)
  @Answers(200, 'The plan that this key, or this content, already made', planReply, AT_LOCATION)
  @Answers(202, 'The outcome is not known yet. Repeat the same request', pendingPlan)
  async create(
    @Headers('idempotency-key') key: string | undefined,
    @Body({ schema: createPlan }) body: CreatePlan,
    @AskedBy() asker: Asker,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Schedule | PendingPlan> {
    const { plan, status } = await this.plans.create(optionalIdempotencyKey(key), body, asker);
    void reply.status(status);
    if (status !== 202) void reply.header('location', `/v1/recurring-plans/${plan.id}`);
    return plan;
  }

  @Get()
  @Describes('listRecurringPlans', 'Lists plans, or searches plans of charges', READ_PROBLEMS)
  @Answers(200, 'One page of plans', plansReply)
  list(@Query({ schema: listPlans }) query: ListPlans): Promise<Page<Schedule>> {
    return this.plans.list(query);
  }

  @Get(':id')
  @Describes('getRecurringPlan', 'Reads a plan with its occurrences and their results', READ_PROBLEMS)
  @Answers(200, 'The plan as the provider shows it now', planReply)
  get(@Param({ schema: planPath }) { id }: PlanPath): Promise<Schedule> {
    return this.plans.get(id);
  }

  @Get(':id/occurrences')
  @Describes('listOccurrences', 'Lists the days on which a plan was or is due', READ_PROBLEMS)
  @Answers(200, 'One page of occurrences', occurrencesReply)
  occurrences(
    @Param({ schema: planPath }) { id }: PlanPath,
    @Query({ schema: listQuery }) query: ListQuery,
  ): Promise<Page<Occurrence>> {
    return this.plans.occurrences(id, query);
  }

  @Delete(':id')
  @Describes('stopRecurringPlan', 'Ends a plan: it makes no further charges or transfers', COMMAND_PROBLEMS)
  @Answers(200, 'The ended plan, which makes no further charges or transfers', planReply)
  @Answers(202, 'The outcome is not known yet. Repeat the request', pendingPlan)
  async stop(
    @Param({ schema: planPath }) { id }: PlanPath,
    @AskedBy() asker: Asker,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Schedule | PendingPlan> {
    const { plan, status } = await this.plans.stop(id, asker);
    void reply.status(status);
    return plan;
  }
}
