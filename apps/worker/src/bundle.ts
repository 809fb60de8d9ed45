import { writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { FAILURE_CONVERTER_PATH } from '@tillflow/temporal';

/** The workflow bundle that every worker runs. The build writes it. */
export const BUNDLE_PATH = fileURLToPath(new URL('../dist/workflow-bundle.js', import.meta.url));

/** The bundle for workers that encrypt: it also encrypts the messages of workflow failures. */
export const ENCRYPTING_BUNDLE_PATH = fileURLToPath(new URL('../dist/workflow-bundle-encrypting.js', import.meta.url));

export type BundleOptions = {
  /** For workers with `PAYLOAD_KEYS`. */
  readonly encrypting: boolean;
  /** The compiled workflows; absent: the product's. */
  readonly workflowsPath?: string;
  /** Whether the workflows pass on traces. Absent: they do; a test compares both. */
  readonly tracing?: boolean;
};

const { resolve } = createRequire(import.meta.url);
const WORKFLOWS = resolve('@tillflow/workflows/workflows');
const REPEATED_TASK = resolve('@tillflow/workflows/repeated-task');
const TRACES = resolve('@tillflow/workflows/traces');

/**
 * A worker evaluates these modules, and all that they import, once instead of once for each workflow. So none of them
 * has a variable that changes.
 */
const SHARED_MODULES = [resolve('@tillflow/domain'), WORKFLOWS, REPEATED_TASK, TRACES];

/** Bundles workflow code into one file for a worker. */
export async function bundleWorkflows({
  encrypting,
  workflowsPath = WORKFLOWS,
  tracing = true,
}: BundleOptions): Promise<string> {
  const { code } = await bundleWorkflowCode({
    workflowsPath,
    preloadModules: SHARED_MODULES,
    logger: new DefaultLogger('WARN'),
    workflowInterceptorModules: tracing ? [REPEATED_TASK, TRACES] : [REPEATED_TASK],
    ...(encrypting ? { failureConverterPath: FAILURE_CONVERTER_PATH } : {}),
  });
  return code;
}

/** Runs at build time. */
async function writeBundles(): Promise<void> {
  await writeFile(BUNDLE_PATH, await bundleWorkflows({ encrypting: false }));
  await writeFile(ENCRYPTING_BUNDLE_PATH, await bundleWorkflows({ encrypting: true }));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await writeBundles();
