import type { Stack } from './stack.js';

/** A value as Temporal stores it, and where it is: `[12].activityTaskScheduledEventAttributes.input.payloads[0]`. */
export type Stored = { readonly path: string; readonly encoding: string; readonly keyId: string | null };

/** The stored data without any key: every history of a checkout, and its memo as describe and list return it. */
export async function storedOf(stack: Stack, reference: string): Promise<unknown[]> {
  const { workflowService } = stack.temporal.connection;
  const workflowId = `checkout/default/${reference}`;
  const described = await workflowService.describeWorkflowExecution({
    namespace: 'default',
    execution: { workflowId },
  });
  const listed = await workflowService.listWorkflowExecutions({
    namespace: 'default',
    query: `WorkflowId = '${workflowId}'`,
  });
  const histories: unknown[] = [];
  for (let runId = described.workflowExecutionInfo?.execution?.runId ?? ''; runId !== '';) {
    // As the server has it: nothing is decoded.
    const { events } = await stack.temporal.client.workflow.getHandle(workflowId, runId).fetchHistory();
    histories.push(events);
    runId = events?.[0]?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId ?? '';
  }
  return [...histories, described, listed.executions];
}

/** Every payload but search attributes, which are never encrypted. */
export function payloadsIn(stored: unknown): Stored[] {
  return [...walk(stored, '')].flatMap(({ path, value }) => {
    const metadata = isObject(value) && isObject(value['metadata']) ? value['metadata'] : {};
    const encoding = textOf(metadata['encoding']);
    return encoding === null ? [] : [{ path, encoding, keyId: textOf(metadata['encryption-key-id']) }];
  });
}

/** Every text that can be read in it, but search attributes and ids of workflows. */
export function textsIn(stored: unknown): string {
  return [...walk(stored, '')].flatMap(({ value }) => textOf(value) ?? []).join('\n');
}

function textOf(value: unknown): string | null {
  if (value instanceof Uint8Array) return Buffer.from(value).toString();
  return typeof value === 'string' ? value : null;
}

const NEVER_ENCRYPTED = new Set(['searchAttributes', 'workflowId']);

type Found = { readonly path: string; readonly value: unknown };

function* walk(value: unknown, path: string): Generator<Found> {
  yield { path, value };
  if (Array.isArray(value)) {
    for (const [index, entry] of value.entries()) yield* walk(entry, `${path}[${index}]`);
  } else if (isObject(value)) {
    for (const [name, entry] of Object.entries(value)) {
      if (!NEVER_ENCRYPTED.has(name)) yield* walk(entry, `${path}.${name}`);
    }
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !(value instanceof Uint8Array) && !Array.isArray(value);
}
