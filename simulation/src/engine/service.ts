import type { temporal } from '@temporalio/proto';
import type { Engine } from './engine.js';
import { GRPC, messages, Refusal, toTime, type Payload } from './protocol.js';
import type { Run, Update } from './run.js';
import { parseQuery, type Entry } from './visibility.js';

type Api = typeof temporal.api.workflowservice.v1;
/** A message as it was decoded, with a value for every field. */
type Message<Name extends keyof Api> = Api[Name] extends { readonly prototype: infer Type } ? Type : never;
type Codec = { decode(bytes: Uint8Array): object; encode(message: object): { finish(): Uint8Array } };
/** Milliseconds for which the server holds a call that waits for something new. */
const LONG_POLL_MS = 20_000;
/** The numbers of Temporal's policies and stages. */
const USE_EXISTING = 2;
const ALLOW_DUPLICATE = 1;
const STAGES = { admitted: 1, accepted: 2, completed: 3 } as const;

type Execution = temporal.api.common.v1.IWorkflowExecution | null | undefined;

/** Temporal's service, call by call, for the clients of the API, the workers and operators. */
export class Service {
  readonly #pollers = new Map<string, Map<string, number>>();

  constructor(private readonly engine: Engine) {}

  /** @param call such as `StartWorkflowExecution` @throws {Refusal} */
  async answer(call: string, bytes: Uint8Array, isGone: () => boolean): Promise<Uint8Array> {
    const codecs = messages as unknown as Record<string, Codec | undefined>;
    const [request, response] = [codecs[`${call}Request`], codecs[`${call}Response`]];
    if (request === undefined || response === undefined) throw new Refusal(GRPC.UNIMPLEMENTED, call);
    return response.encode(await this.#answer(call, request.decode(bytes), isGone)).finish();
  }

  #answer(call: string, request: object, isGone: () => boolean): object | Promise<object> {
    switch (call) {
      case 'GetSystemInfo':
        return { serverVersion: '1.32.0', capabilities: {} };
      case 'DescribeNamespace':
        return { namespaceInfo: { name: 'default', capabilities: {} }, config: {} };
      case 'StartWorkflowExecution':
        return this.#start(request as Message<'StartWorkflowExecutionRequest'>);
      case 'SignalWorkflowExecution':
        return this.#signal(request as Message<'SignalWorkflowExecutionRequest'>);
      case 'SignalWithStartWorkflowExecution':
        return this.#signalWithStart(request as Message<'SignalWithStartWorkflowExecutionRequest'>);
      case 'UpdateWorkflowExecution':
        return this.#update(request as Message<'UpdateWorkflowExecutionRequest'>, isGone);
      case 'PollWorkflowExecutionUpdate':
        return this.#pollUpdate(request as Message<'PollWorkflowExecutionUpdateRequest'>, isGone);
      case 'DescribeWorkflowExecution':
        return this.#describe((request as Message<'DescribeWorkflowExecutionRequest'>).execution);
      case 'GetWorkflowExecutionHistory':
        return this.#history(request as Message<'GetWorkflowExecutionHistoryRequest'>, isGone);
      case 'GetWorkflowExecutionHistoryReverse': {
        const { execution, maximumPageSize } = request as Message<'GetWorkflowExecutionHistoryReverseRequest'>;
        return {
          history: {
            events: this.#run(execution)
              .events.toReversed()
              .slice(0, maximumPageSize || 1_000),
          },
        };
      }
      case 'ListWorkflowExecutions': {
        const { query, pageSize, nextPageToken } = request as Message<'ListWorkflowExecutionsRequest'>;
        return this.#list(query, pageSize, nextPageToken);
      }
      case 'CountWorkflowExecutions': {
        const { query } = request as Message<'CountWorkflowExecutionsRequest'>;
        return { count: this.#found(query).length };
      }
      case 'RequestCancelWorkflowExecution': {
        const run = this.#open((request as Message<'RequestCancelWorkflowExecutionRequest'>).workflowExecution);
        this.engine.requestCancel(run);
        return {};
      }
      case 'TerminateWorkflowExecution': {
        this.engine.terminate(this.#open((request as Message<'TerminateWorkflowExecutionRequest'>).workflowExecution));
        return {};
      }
      case 'PollActivityTaskQueue':
        return this.#pollClock(request as Message<'PollActivityTaskQueueRequest'>, isGone);
      case 'DescribeTaskQueue': {
        const { taskQueue } = request as Message<'DescribeTaskQueueRequest'>;
        const pollers = this.#pollers.get(taskQueue?.name ?? '') ?? new Map<string, number>();
        return { pollers: [...pollers].map(([identity, at]) => ({ identity, lastAccessTime: toTime(at) })) };
      }
      default:
        throw new Refusal(GRPC.UNIMPLEMENTED, `The simulation does not know ${call}`);
    }
  }

  #start(request: Message<'StartWorkflowExecutionRequest'>) {
    const { run, isNew } = this.engine.runs.start(
      {
        workflowId: request.workflowId,
        type: request.workflowType?.name ?? '',
        taskQueue: request.taskQueue?.name ?? '',
        input: request.input?.payloads ?? [],
        memo: request.memo?.fields ?? {},
        searchAttributes: request.searchAttributes?.indexedFields ?? {},
        requestId: request.requestId,
      },
      policiesOf(request),
    );
    return { runId: run.start.runId, started: isNew };
  }

  #signal(request: Message<'SignalWorkflowExecutionRequest'>) {
    const { signalName: name, identity, requestId, input } = request;
    const signal = { name, identity, requestId, input: input?.payloads ?? [] };
    this.engine.signal(this.#open(request.workflowExecution), signal);
    return {};
  }

  #signalWithStart(request: Message<'SignalWithStartWorkflowExecutionRequest'>) {
    const { run } = this.engine.runs.start(
      {
        workflowId: request.workflowId,
        type: request.workflowType?.name ?? '',
        taskQueue: request.taskQueue?.name ?? '',
        input: request.input?.payloads ?? [],
        memo: request.memo?.fields ?? {},
        searchAttributes: request.searchAttributes?.indexedFields ?? {},
        requestId: request.requestId,
      },
      { usesExisting: true, allowsDuplicate: policiesOf(request).allowsDuplicate },
    );
    const { signalName: name, identity, requestId, signalInput } = request;
    this.engine.signal(run, { name, identity, requestId, input: signalInput?.payloads ?? [] });
    return { runId: run.start.runId };
  }

  async #update(request: Message<'UpdateWorkflowExecutionRequest'>, isGone: () => boolean) {
    const run = this.#run(request.workflowExecution);
    const { meta, input } = request.request ?? {};
    const update = this.engine.update(run, {
      id: meta?.updateId ?? '',
      name: input?.name ?? '',
      input: input?.args?.payloads ?? [],
      identity: meta?.identity ?? '',
    });
    return this.#whenAt(run, update, request.waitPolicy?.lifecycleStage ?? 0, isGone);
  }

  async #pollUpdate(request: Message<'PollWorkflowExecutionUpdateRequest'>, isGone: () => boolean) {
    const run = this.#run(request.updateRef?.workflowExecution);
    const update = run.updates.get(request.updateRef?.updateId ?? '');
    if (update === undefined) throw new Refusal(GRPC.NOT_FOUND, 'update not found');
    return this.#whenAt(run, update, request.waitPolicy?.lifecycleStage ?? 0, isGone);
  }

  async #whenAt(run: Run, update: Update, stage: number, isGone: () => boolean) {
    await this.#until(run, () => update.lost !== undefined || STAGES[update.stage] >= stage, isGone);
    if (update.lost === 'again') throw new Refusal(GRPC.UNAVAILABLE, 'Workflow Update was aborted.');
    if (update.lost === 'closed') throw new Refusal(GRPC.NOT_FOUND, 'workflow execution already completed');
    const { workflowId, runId } = run.start;
    const { outcome } = update;
    return {
      stage: STAGES[update.stage],
      updateRef: { workflowExecution: { workflowId, runId }, updateId: update.id },
      ...(outcome === undefined
        ? {}
        : { outcome: 'success' in outcome ? { success: { payloads: outcome.success } } : outcome }),
    };
  }

  #describe(execution: Execution) {
    const run = this.#run(execution);
    const { task } = run;
    const isStarted = task !== null && task.startedAt !== null;
    return {
      workflowExecutionInfo: infoOf({
        run,
        status: run.status,
        memo: run.memo,
        searchAttributes: run.searchAttributes,
      }),
      executionConfig: { taskQueue: { name: run.start.taskQueue } },
      pendingActivities: [...run.activities.values()].map(({ id, type, startedAt, attempt }) => ({
        activityId: id,
        activityType: { name: type },
        state: startedAt === null ? 1 : 2,
        attempt,
        lastStartedTime: startedAt === null ? null : toTime(startedAt),
      })),
      ...(task === null
        ? {}
        : {
            pendingWorkflowTask: {
              state: isStarted ? 2 : 1,
              scheduledTime: toTime(task.scheduledAt),
              ...(isStarted ? { startedTime: toTime(task.startedAt ?? 0) } : {}),
            },
          }),
    };
  }

  async #history(request: Message<'GetWorkflowExecutionHistoryRequest'>, isGone: () => boolean) {
    const { execution, maximumPageSize, waitNewEvent, nextPageToken } = request;
    const token =
      nextPageToken.length === 0 ? null : (JSON.parse(new TextDecoder().decode(nextPageToken)) as [string, number]);
    const run = token === null ? this.#run(execution) : this.#run({ runId: token[0] });
    const from = token?.[1] ?? 0;
    const size = maximumPageSize || 1_000;
    if (waitNewEvent) await this.#until(run, () => run.events.length > from || !run.isOpen, isGone);
    const page = run.events.slice(from, from + size);
    const end = from + page.length;
    const isMore = end < run.events.length || (waitNewEvent && run.isOpen);
    return {
      history: { events: page },
      nextPageToken: isMore ? new TextEncoder().encode(JSON.stringify([run.start.runId, end])) : new Uint8Array(),
    };
  }

  #list(query: string, pageSize: number, token: Uint8Array) {
    const start = token.length === 0 ? 0 : Number(new TextDecoder().decode(token));
    const found = this.#found(query).toSorted(
      (a, b) =>
        Number(b.status === 1) - Number(a.status === 1) ||
        b.run.start.startedAt - a.run.start.startedAt ||
        (a.run.start.runId < b.run.start.runId ? -1 : 1),
    );
    const end = start + (pageSize || 1_000);
    return {
      executions: found.slice(start, end).map(infoOf),
      nextPageToken: end < found.length ? new TextEncoder().encode(String(end)) : new Uint8Array(),
    };
  }

  #found(query: string): Entry[] {
    const matches = parseQuery(query);
    return [...this.engine.runs.entries.values()].filter(matches);
  }

  /** A queue without tasks: only the poller and the time of its call are of interest. */
  async #pollClock({ taskQueue, identity }: Message<'PollActivityTaskQueueRequest'>, isGone: () => boolean) {
    const name = taskQueue?.name ?? '';
    const pollers = this.#pollers.get(name) ?? new Map<string, number>();
    pollers.set(identity, this.engine.parts.time.now);
    for (const old of pollers.keys()) if (pollers.size > 50) pollers.delete(old);
    this.#pollers.set(name, pollers);
    for (let waited = 0; waited < LONG_POLL_MS && !isGone(); waited += 1_000) await this.engine.parts.time.sleep(1_000);
    return {};
  }

  /** Waits until it is so, the caller is gone, or the server has held the call for long enough. */
  #until(run: Run, isSo: () => boolean, isGone: () => boolean): Promise<void> {
    if (isSo()) return Promise.resolve();
    return new Promise((resolve) => {
      const end = (): void => {
        cancel();
        run.watchers.delete(look);
        resolve();
      };
      const look = (): void => {
        if (isSo() || isGone()) end();
      };
      const cancel = this.engine.parts.time.after(LONG_POLL_MS, end, undefined);
      run.watchers.add(look);
    });
  }

  #open(execution: Execution): Run {
    const run = this.#run(execution);
    if (!run.isOpen) throw new Refusal(GRPC.NOT_FOUND, 'workflow execution already completed');
    return run;
  }

  #run(execution: Execution): Run {
    const { workflowId = '', runId } = execution ?? {};
    const run = runId ? this.engine.runs.byId.get(runId) : this.engine.runs.newest.get(workflowId ?? '');
    if (run === undefined) throw new Refusal(GRPC.NOT_FOUND, `workflow not found for ID: ${workflowId}`);
    return run;
  }
}

function policiesOf(request: { readonly workflowIdConflictPolicy: number; readonly workflowIdReusePolicy: number }) {
  const { workflowIdConflictPolicy: conflict, workflowIdReusePolicy: reuse } = request;
  // No reuse policy means that an id may be used again.
  return { usesExisting: conflict === USE_EXISTING, allowsDuplicate: reuse === 0 || reuse === ALLOW_DUPLICATE };
}

function infoOf({ run, status, memo, searchAttributes }: Entry) {
  const { workflowId, runId, type, startedAt, taskQueue, firstRunId } = run.start;
  const fields: Record<string, Payload> = { ...memo };
  return {
    execution: { workflowId, runId },
    type: { name: type },
    startTime: toTime(startedAt),
    executionTime: toTime(startedAt),
    ...(run.closedAt === null ? {} : { closeTime: toTime(run.closedAt) }),
    status,
    historyLength: run.events.length,
    memo: { fields },
    searchAttributes: { indexedFields: { ...searchAttributes } },
    taskQueue,
    firstRunId,
  };
}
