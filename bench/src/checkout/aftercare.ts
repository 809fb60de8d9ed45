import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { checkoutWorkflowId, DEFAULT_ACCOUNT } from '@tillflow/domain';
import { AFTERCARE_WORKFLOW } from '@tillflow/workflows';
import { print } from '../report.js';
import { attributesOf } from './billed-actions.js';
import type { RunHistory } from './histories.js';
import { untilQuiet } from './speed.js';
import type { BenchStack } from './stack.js';
import { newReference } from './till.js';

const AT_ONCE = 30;
const TOLD_EVERY = 1_000;
/** A list may lag behind what was started. */
const LISTED_WITHIN_MS = 60_000;
const WORKED_OFF_WITHIN_MS = 300_000;
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
 * Starts runs of `aftercare` directly, each a copy of one that a paid checkout became: the same input, memo and
 * attributes, under another reference. Resolves when all are open and wait.
 */
export async function openAftercare(stack: BenchStack, model: RunHistory, count: number): Promise<void> {
  const started = startedOf(model);
  const reference = referenceOf(started);
  let begun = 0;
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      while (begun < count) {
        begun += 1;
        if (begun % TOLD_EVERY === 0) print(`  ${begun} of ${count} begun`);
        await startCopy(stack, started, reference);
      }
    }),
  );
  await untilListed(stack, count);
  await untilWorkedOff(stack, started.taskQueue?.name);
}

async function startCopy({ temporal }: BenchStack, started: Started, reference: string): Promise<void> {
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
    throw new Error(`${type} is no run of ${AFTERCARE_WORKFLOW}`);
  return attributesOf(started);
}

/** The reference of the model, as its memo tells it. */
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

/** Waits until each of them has done its first task, and nothing is left to do. @throws {Error} when it takes too long. */
async function untilWorkedOff(stack: BenchStack, queue: string | undefined): Promise<void> {
  const { client, connection } = stack.temporal;
  const end = Date.now() + WORKED_OFF_WITHIN_MS;
  for (;;) {
    const { stats } = await connection.workflowService.describeTaskQueue({
      namespace: client.options.namespace,
      taskQueue: { name: queue },
      // oxlint-disable-next-line typescript/no-unsafe-enum-assignment -- the generated enum exists as a type only
      taskQueueType: WORKFLOW_QUEUE,
      reportStats: true,
    });
    const backlog = Number(stats?.approximateBacklogCount ?? 0);
    if (backlog === 0 && (await untilQuiet(stack))) return;
    if (Date.now() > end) throw new Error(`The server is still busy with ${backlog} tasks`);
    await sleep(500);
  }
}

/** Waits until the server lists so many open runs. @throws {Error} when it does not in time. */
async function untilListed({ temporal }: BenchStack, count: number): Promise<void> {
  const end = Date.now() + LISTED_WITHIN_MS;
  const query = `WorkflowType = '${AFTERCARE_WORKFLOW}' AND ExecutionStatus = 'Running'`;
  for (;;) {
    const { count: listed } = await temporal.client.workflow.count(query);
    if (listed >= count) return;
    if (Date.now() > end)
      throw new Error(`Only ${listed} of ${count} runs of ${AFTERCARE_WORKFLOW} are listed as open`);
    await sleep(500);
  }
}
