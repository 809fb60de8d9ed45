import type { SearchAttributeType } from '@temporalio/common';
import { msToTs } from '@temporalio/common/lib/time.js';
import type { Temporal } from './connection.js';

/** How long closed workflows are kept, and so how long a reference stays taken after its checkout closed. */
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

/** An attribute of the same name has another type: that needs a person. */
export class SetupConflictError extends Error {
  override readonly name = 'SetupConflictError';
}

/** One thing that `setup` found to do, did, or would do. */
export type SetupStep = { readonly what: string; readonly done: boolean };

/**
 * Makes a namespace ready for the product: search attributes and retention. Idempotent; with `dryRun` it only says
 * what it would do. A retention that is longer already is left alone.
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
