import { Inject, Injectable } from '@nestjs/common';
import {
  ApplicationFailure,
  WorkflowExecutionAlreadyStartedError,
  WorkflowFailedError,
  WorkflowNotFoundError,
  type WorkflowHandle,
} from '@temporalio/client';
import { NotFoundError, PaymentsClient } from '@tillflow/payments-client';
import { hadNoEffect, isTooSlow, Seal, UnreadablePayloadError } from '@tillflow/temporal';
import {
  COMMAND_WORKFLOW,
  type CommandAudit,
  type CommandFailure,
  type CommandInput,
  type CommandMemo,
  type CommandOutcome,
  type CommandResult,
  type PendingDecision,
  type Rejection,
} from '@tillflow/workflows';
import type { Logger } from 'pino';
import { unavailable } from '../temporal/failures.js';
import { LOGGER, Settings } from '../providers.js';
import { Problem } from '../problems/problem.js';
import { problemOfRead, problemOfRejection } from '../provider/provider-problems.js';
import { checkoutPolicy } from '../settings.js';
import { TemporalAccess } from '../temporal/temporal.provider.js';
import type { Asker } from '../auth/caller.js';
import {
  fieldsOf,
  fingerprintOf,
  isMadeAnew,
  targetAtProvider,
  targetOf,
  toCommand,
  workflowIdOf,
  type Order,
} from './order.js';

/** The result of a command. */
export type Carried =
  | {
      readonly kind: 'done';
      readonly id: string | null;
      /** The provider's reply; null when it was sealed under another secret. */
      readonly reply: unknown;
      /** True for the request that started the command; false for one that joined it. */
      readonly isFirst: boolean;
    }
  /** The command is stored, and its outcome is not known yet. The same request again is safe, and answers with it. */
  | { readonly kind: 'pending'; readonly detail: string };

/** The fields of a command's log line. */
type Audit = Omit<CommandAudit, 'fingerprint'>;

type Run = {
  readonly workflow: WorkflowHandle;
  readonly isFirst: boolean;
  /** What an operator has to decide before the command can end. */
  readonly decision: PendingDecision | null;
};

/** Changes at the provider. The worker makes each once, and its history keeps the audit. */
@Injectable()
export class Commands {
  readonly #seal: Seal;

  constructor(
    private readonly temporal: TemporalAccess,
    private readonly settings: Settings,
    private readonly provider: PaymentsClient,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    this.#seal = new Seal(settings.values.PROVIDER_SECRET_KEY);
  }

  /**
   * Starts the command, or joins a running one that is equal, and waits for the outcome.
   * @throws {Problem} what the provider refused; `change_in_progress`, `idempotency_conflict`; `outcome_unknown`;
   * `temporal_unavailable`: the command may have started. The same request again is safe.
   */
  async carryOut(order: Order, { by, requestId }: Asker): Promise<Carried> {
    const answerBy = Date.now() + this.settings.values.ANSWER_WITHIN_MS;
    const audit: Audit = {
      kind: order.kind,
      target: targetOf(order),
      fields: fieldsOf(order),
      by,
      asked_at: new Date().toISOString(),
      request_id: requestId,
    };
    const run = await this.#start(
      order,
      { ...audit, fingerprint: fingerprintOf(order, this.settings.values.PROVIDER_SECRET_KEY) },
      answerBy,
    );
    this.logger.info({ audit, workflow: run.workflow.workflowId, joined: !run.isFirst }, 'command requested');
    return this.#outcomeOf(run, audit, answerBy);
  }

  async #start(order: Order, audit: CommandAudit, answerBy: number): Promise<Run> {
    const { values } = this.settings;
    const policy = checkoutPolicy(values);
    const command = await toCommand(order, (params) => this.#seal.close(params), values.TEMPORAL_TASK_QUEUE);
    const input: CommandInput = {
      command,
      answerBy,
      ...(Object.keys(policy).length === 0 ? {} : { policy }),
    };
    const workflowId = workflowIdOf(order, this.settings.account);
    const start = async (workflowIdReusePolicy: 'ALLOW_DUPLICATE' | 'ALLOW_DUPLICATE_FAILED_ONLY'): Promise<Run> => {
      const workflow = await this.temporal.within('write', values.ANSWER_WITHIN_MS, () =>
        this.temporal.client.workflow.start(COMMAND_WORKFLOW, {
          workflowId,
          taskQueue: values.TEMPORAL_TASK_QUEUE,
          args: [input],
          workflowIdConflictPolicy: 'FAIL',
          workflowIdReusePolicy,
          memo: { audit } satisfies CommandMemo,
          staticSummary: `${[audit.kind, audit.target].join(' ').trim()} by ${audit.by}`,
        }),
      );
      return { workflow, isFirst: true, decision: null };
    };
    try {
      const earlier = await this.#earlier(order, workflowId);
      if (earlier === 'none' || earlier === 'refused') await this.#mustExist(order);
      const isAnew = isMadeAnew(order) || earlier === 'refused';
      return await start(isAnew ? 'ALLOW_DUPLICATE' : 'ALLOW_DUPLICATE_FAILED_ONLY');
    } catch (error) {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw unavailable(error);
      return this.#join(order, workflowId, audit.fingerprint);
    }
  }

  /**
   * The earlier run with this id: `joined` for one that is running or succeeded, `refused` for one that the provider
   * refused, `none` for any other. Always `joined` for an order without a record to read.
   */
  async #earlier(order: Order, workflowId: string): Promise<'joined' | 'refused' | 'none'> {
    if (targetAtProvider(this.provider, order) === null) return 'joined';
    const workflow = this.temporal.client.workflow.getHandle(workflowId);
    try {
      const { status } = await this.temporal.within('read', READ_WITHIN_MS, () => workflow.describe());
      if (status.name === 'RUNNING') return 'joined';
      if (isMadeAnew(order) || status.name !== 'COMPLETED') return 'none';
      const result = await this.temporal.within(
        'read',
        READ_WITHIN_MS,
        () => workflow.result() as Promise<CommandResult>,
      );
      return result.kind === 'rejected' ? 'refused' : 'joined';
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return 'none';
      throw error;
    }
  }

  /**
   * Refuses a change of a record that does not exist, because each such request would otherwise create a workflow. When
   * the provider does not answer, the command finds out.
   * @throws {Problem} `not_found`
   */
  async #mustExist(order: Order): Promise<void> {
    const deadlineMs = this.settings.values.ANSWER_WITHIN_MS / 4;
    try {
      await targetAtProvider(this.provider, order)?.({ deadlineMs });
    } catch (error) {
      if (error instanceof NotFoundError) throw problemOfRead(error);
    }
  }

  /** The run with this id, if it makes the same change. */
  async #join(order: Order, workflowId: string, fingerprint: string): Promise<Run> {
    const { client } = this.temporal;
    try {
      const { runId, memo } = await this.temporal.within('read', READ_WITHIN_MS, () =>
        client.workflow.getHandle(workflowId).describe(),
      );
      // Written by this product alone.
      const { audit, undecided: decision = null } = memo as CommandMemo;
      // Its id names the removal. A fingerprint changes with the provider's key.
      const isRemoval = order.kind !== 'create_plan' && !isMadeAnew(order);
      if (isRemoval || audit.fingerprint === fingerprint) {
        return { workflow: client.workflow.getHandle(workflowId, runId), isFirst: false, decision };
      }
      if (order.kind === 'create_plan') {
        throw new Problem(
          'idempotency_conflict',
          `The key belongs to a plan with other content, requested at ${audit.asked_at}`,
        );
      }
      const what = audit.fields.join(', ');
      throw new Problem('change_in_progress', `A change of ${what} is in progress since ${audit.asked_at}`);
    } catch (error) {
      throw unavailable(error);
    }
  }

  async #outcomeOf({ workflow, isFirst, decision }: Run, audit: Audit, answerBy: number): Promise<Carried> {
    if (decision !== null) return pending(decision);
    try {
      const result = await this.temporal.within(
        'read',
        Math.max(answerBy - Date.now(), LEAST_WAIT_MS),
        () => workflow.result() as Promise<CommandResult>,
      );
      this.logger.info({ audit, outcome: result.kind }, 'command ended');
      if (result.kind === 'undecided') return pending(result);
      if (result.kind === 'rejected') throw problemOfRejection(result);
      return { kind: 'done', id: result.value.id, reply: await this.#opened(result.value.reply), isFirst };
    } catch (error) {
      if (isTooSlow(error) || hadNoEffect(error)) return pending(await this.#pendingDecisionOf(workflow));
      const problem = problemOf(error, audit.kind);
      this.logger.info({ audit, outcome: problem instanceof Problem ? problem.code : 'unknown' }, 'command ended');
      throw problem;
    }
  }

  /** What an operator has to decide. Null when there is nothing to decide, or Temporal does not answer. */
  async #pendingDecisionOf(workflow: WorkflowHandle): Promise<PendingDecision | null> {
    try {
      const { memo } = await this.temporal.within('read', READ_WITHIN_MS, () => workflow.describe());
      return (memo as CommandMemo).undecided ?? null;
    } catch {
      return null;
    }
  }

  async #opened(reply: string): Promise<unknown> {
    try {
      return await this.#seal.open(reply);
    } catch (error) {
      if (error instanceof UnreadablePayloadError) return null;
      throw error;
    }
  }
}

/** Temporal answers a read from memory. When it takes longer, Temporal is down. Milliseconds. */
const READ_WITHIN_MS = 1_300;

/** At least, in milliseconds, however long the start took: the outcome may already be there. */
const LEAST_WAIT_MS = 200;

function pending(decision: Pick<PendingDecision, 'message' | 'candidates'> | null): Carried {
  if (decision === null) return { kind: 'pending', detail: 'The outcome is not known yet' };
  const { message, candidates } = decision;
  const named = candidates.length === 0 ? '' : `: ${candidates.join(', ')}`;
  return {
    kind: 'pending',
    detail: `${message}${named}. An operator has to check it at the provider: pnpm tillflow plans`,
  };
}

function problemOf(error: unknown, kind: Order['kind']): unknown {
  if (!(error instanceof WorkflowFailedError)) return unavailable(error);
  const { cause } = error;
  const type = (cause instanceof ApplicationFailure ? cause.type : null) as CommandFailure | null;
  const [detail] = (cause instanceof ApplicationFailure ? cause.details : null) ?? [];
  if (type === 'command_rejected') {
    const rejection = detail as Rejection;
    // The missing record is one that the body names, not the one in the address. So the status is 422, not 404.
    const isNamed = kind === 'create_plan' && rejection.status === 404;
    return problemOfRejection(isNamed ? { ...rejection, status: 422 } : rejection);
  }
  if (type === 'command_unanswered') {
    const { message } = detail as Extract<CommandOutcome, { kind: 'unknown' }>;
    return new Problem('outcome_unknown', `The provider did not confirm it: ${message}`, { cause: error });
  }
  return new Problem(
    'outcome_unknown',
    'An operator ended the change. Check the record at the provider before you repeat the request',
    {
      cause: error,
    },
  );
}
