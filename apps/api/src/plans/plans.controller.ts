import { Body, Controller, Delete, Get, Headers, Param, Post, Query, Res } from '@nestjs/common';
import { ApiBearerAuth, ApiHeader, ApiTags } from '@nestjs/swagger';
import type { Occurrence, Schedule } from '@tillflow/payments-client';
import type { FastifyReply } from 'fastify';
import { Requires } from '../auth/access.js';
import { optionalIdempotencyKey } from '../checkouts/idempotency-key.js';
import { AskedBy, type Asker } from '../auth/asker.js';
import { Answers, Describes } from '../openapi/decorators.js';
import * as examples from '../openapi/resource-examples.js';
import { COMMAND_PROBLEMS, READ_PROBLEMS } from '../openapi/resource-problems.js';
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

@ApiTags('recurring plans')
@ApiBearerAuth()
@Controller('v1/recurring-plans')
export class PlansController {
  constructor(private readonly plans: PlansService) {}

  @Post()
  @Requires('ops')
  @ApiHeader({
    name: 'Idempotency-Key',
    required: false,
    description: 'Names the plan: the same key is the same plan. Without one the same content is, as long as it runs',
    example: 'membership-17',
    schema: { type: 'string', pattern: '^(?!auto:)[\\x21-\\x7e]{1,128}$' },
  })
  @Describes('createRecurringPlan', 'Makes a plan that charges a card, or transfers, again and again', [
    ...COMMAND_PROBLEMS,
    'idempotency_key_required',
    'idempotency_conflict',
    'body_too_large',
    'unsupported_media_type',
  ])
  @Answers(201, 'A new plan', planReply, examples.plan)
  @Answers(200, 'The plan that this key, or this content, made', planReply, examples.plan)
  @Answers(202, 'Its outcome is not known yet: repeat the same request', pendingPlan, examples.pendingPlan)
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
  @Requires('ops')
  @Describes('listRecurringPlans', 'Lists plans, or searches those of charges', READ_PROBLEMS)
  @Answers(200, 'One page of plans', plansReply, examples.plans)
  list(@Query({ schema: listPlans }) query: ListPlans): Promise<Page<Schedule>> {
    return this.plans.list(query);
  }

  @Get(':id')
  @Requires('ops')
  @Describes('getRecurringPlan', 'Reads a plan with its occurrences and what became of each', READ_PROBLEMS)
  @Answers(200, 'The plan as the provider shows it now', planReply, examples.plan)
  get(@Param({ schema: planPath }) { id }: PlanPath): Promise<Schedule> {
    return this.plans.get(id);
  }

  @Get(':id/occurrences')
  @Requires('ops')
  @Describes('listOccurrences', 'Lists the days on which a plan was or is due', READ_PROBLEMS)
  @Answers(200, 'One page of occurrences', occurrencesReply, examples.occurrences)
  occurrences(
    @Param({ schema: planPath }) { id }: PlanPath,
    @Query({ schema: listQuery }) query: ListQuery,
  ): Promise<Page<Occurrence>> {
    return this.plans.occurrences(id, query);
  }

  @Delete(':id')
  @Requires('ops')
  @Describes('stopRecurringPlan', 'Ends a plan: nothing further becomes due', COMMAND_PROBLEMS)
  @Answers(200, 'The plan, which moves no money any more', planReply, examples.stoppedPlan)
  @Answers(202, 'Its outcome is not known yet: repeat the request', pendingPlan, examples.pendingStop)
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
