import type { SearchAttributeType } from '@temporalio/common';
import type { Temporal } from '../connection/connection.js';
import { msToTs } from '../connection/sdk-internals.js';

/** How long Temporal keeps closed workflows. A reference cannot be used again for as long after its checkout closed. */
const RETENTION_DAYS = 30;

/** The numbers of Temporal's `IndexedValueType`. */
const INDEXED_VALUE_TYPE = {
  TEXT: 1,
  KEYWORD: 2,
  INT: 3,
  DOUBLE: 4,
  BOOL: 5,
  DATETIME: 6,
  KEYWORD_LIST: 7,
} as const satisfies Readonly<Record<SearchAttributeType, number>>;

/** A search attribute of the same name has another type. A person has to decide. */
export class SetupConflictError extends Error {
  override readonly name = 'SetupConflictError';
}

/** One step that `setup` took, or would take. */
export type SetupStep = { readonly what: string; readonly done: boolean };

/**
 * Prepares a namespace for Tillflow: search attributes and retention. Idempotent; with `dryRun` it only returns the
 * steps. It does not shorten a longer retention.
 * @throws {SetupConflictError}
 */
export async function setUpNamespace(
  { client, connection }: Temporal,
  attributes: readonly { readonly name: string; readonly type: SearchAttributeType }[],
  options: { readonly dryRun: boolean },
): Promise<SetupStep[]> {
  const { namespace } = client.options;
  const steps: SetupStep[] = [];
  const step = async (what: string, act: () => Promise<unknown>): Promise<void> => {
    if (!options.dryRun) await act();
    steps.push({ what, done: !options.dryRun });
  };
  const { operatorService, workflowService } = connection;

  const { customAttributes } = await operatorService.listSearchAttributes({ namespace });
  for (const { name, type } of attributes) {
    const wanted = INDEXED_VALUE_TYPE[type];
    const present: number | undefined = customAttributes?.[name];
    if (present === wanted) continue;
    if (present !== undefined) {
      throw new SetupConflictError(`Search attribute ${name} exists with another type than ${type}`);
    }
    await step(`add search attribute ${name} (${type})`, () =>
      // oxlint-disable-next-line typescript/no-unsafe-enum-assignment -- the generated enum exists as a type only
      operatorService.addSearchAttributes({ namespace, searchAttributes: { [name]: wanted } }),
    );
  }

  const { config } = await workflowService.describeNamespace({ namespace });
  const seconds = Number(config?.workflowExecutionRetentionTtl?.seconds ?? 0);
  if (seconds < RETENTION_DAYS * 86_400) {
    await step(`keep closed workflows for ${RETENTION_DAYS} days`, () =>
      workflowService.updateNamespace({
        namespace,
        config: { workflowExecutionRetentionTtl: msToTs(RETENTION_DAYS * 86_400_000) },
      }),
    );
  }
  return steps;
}
