import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { checkoutWorkflowId, DEFAULT_ACCOUNT } from '@tillflow/domain';
import { AFTERCARE_WORKFLOW } from '@tillflow/workflows';
import { times } from '../processes.js';
import { print } from '../report.js';
import type { Stack } from '../stack.js';
import { attributesOf, type RunHistory } from './histories.js';
import { untilQuiet } from './speed.js';
import { newReference } from './till.js';

const AT_ONCE = 30;
const PRINTED_EVERY = 1_000;
const DONE_WITHIN_MS = 300_000;
/** The number of Temporal's `TaskQueueType` for workflows. */
const WORKFLOW_QUEUE = 1;

type Started = {
  readonly taskQueue?: { readonly name?: string };
  readonly input?: { readonly payloads?: readonly Payload[] };
  readonly memo?: { readonly fields?: Fields };
  readonly searchAttributes?: { readonly indexedFields?: Fields };
};
type Payload = { readonly metadata?: Readonly<Record<string, Uint8Array>>; readonly data?: Uint8Array };
type Fields = Readonly<Record<string, Payload>>;

/**
 * Starts runs of `aftercare` directly. Each is a copy of the run that a paid checkout became, with the same input, memo
 * and attributes, and another reference. Resolves when all of them wait.
 */
export async function openPaidCheckouts(stack: Stack, model: RunHistory, count: number): Promise<void> {
  const started = startedOf(model);
  const reference = referenceOf(started);
  await times(count, AT_ONCE, async (number) => {
    if (number % PRINTED_EVERY === 0) print(`  ${number} of ${count} started`);
    await startCopy(stack, started, reference);
  });
  await untilWaiting(stack, count, started.taskQueue?.name);
}

async function startCopy({ temporal }: Stack, started: Started, reference: string): Promise<void> {
  const { client, connection } = temporal;
  const copy = newReference();
  await connection.workflowService.startWorkflowExecution({
    namespace: client.options.namespace,
    workflowId: checkoutWorkflowId({ account: DEFAULT_ACCOUNT, reference: copy }),
    workflowType: { name: AFTERCARE_WORKFLOW },
    taskQueue: { name: started.taskQueue?.name },
    input: { payloads: (started.input?.payloads ?? []).map((payload) => renamed(payload, reference, copy)) },
    memo: { fields: renamedFields(started.memo?.fields, reference, copy) },
    searchAttributes: { indexedFields: renamedFields(started.searchAttributes?.indexedFields, reference, copy) },
    requestId: randomUUID(),
  });
}

function startedOf({ type, events }: RunHistory): Started {
  const [started] = events;
  if (type !== AFTERCARE_WORKFLOW || started === undefined)
    throw new Error(`${type} is not a run of ${AFTERCARE_WORKFLOW}`);
  return attributesOf(started);
}

/** The reference in the memo of the model. */
function referenceOf({ memo }: Started): string {
  const { reference } = JSON.parse(textOf(memo?.fields?.['intent'])) as { reference: string };
  return reference;
}

function renamedFields(fields: Fields | undefined, from: string, to: string): Fields {
  return Object.fromEntries(Object.entries(fields ?? {}).map(([name, payload]) => [name, renamed(payload, from, to)]));
}

function renamed(payload: Payload, from: string, to: string): Payload {
  return { ...payload, data: Buffer.from(textOf(payload).replaceAll(from, to)) };
}

function textOf(payload: Payload | undefined): string {
  return Buffer.from(payload?.data ?? []).toString('utf8');
}

/** Waits until the server lists `count` open runs, and has no more work. @throws {Error} after five minutes. */
async function untilWaiting(stack: Stack, count: number, queue: string | undefined): Promise<void> {
  const { client, connection } = stack.temporal;
  const { namespace } = client.options;
  const query = `WorkflowType = '${AFTERCARE_WORKFLOW}' AND ExecutionStatus = 'Running'`;
  const end = Date.now() + DONE_WITHIN_MS;
  for (;;) {
    const { count: listed } = await client.workflow.count(query);
    const { stats } = await connection.workflowService.describeTaskQueue({
      namespace,
      taskQueue: { name: queue },
      // oxlint-disable-next-line typescript/no-unsafe-enum-assignment -- the generated enum exists as a type only
      taskQueueType: WORKFLOW_QUEUE,
      reportStats: true,
    });
    const backlog = Number(stats?.approximateBacklogCount ?? 0);
    if (listed >= count && backlog === 0 && (await untilQuiet(stack))) return;
    if (Date.now() > end) throw new Error(`${listed} of ${count} runs are open, and ${backlog} tasks are waiting`);
    await sleep(500);
  }
}
