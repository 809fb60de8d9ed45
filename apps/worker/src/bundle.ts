import { writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { FAILURE_CONVERTER_PATH } from '@tillflow/temporal';

/** Where the build puts the workflow code that every worker runs. */
export const BUNDLE_PATH = fileURLToPath(new URL('../dist/workflow-bundle.js', import.meta.url));

/** The same for workers that encrypt: failures of the workflows hide their messages too. */
export const ENCRYPTING_BUNDLE_PATH = fileURLToPath(new URL('../dist/workflow-bundle-encrypting.js', import.meta.url));

export type BundleOptions = {
  /** For workers with `PAYLOAD_KEYS`. */
  readonly encrypting: boolean;
  /** The compiled workflows, the product's own unless told otherwise. */
  readonly workflowsPath?: string;
};

const { resolve } = createRequire(import.meta.url);
const WORKFLOWS = resolve('@tillflow/workflows/workflows');

/** Rules without a state of their own: evaluated once for all checkouts of a worker instead of once for each. */
const PURE_MODULES = ['@tillflow/domain', '@tillflow/workflows/model'].map((name) => resolve(name));

/** Workflow code as one file, as a worker takes it. */
export async function bundleWorkflows({ encrypting, workflowsPath = WORKFLOWS }: BundleOptions): Promise<string> {
  const { code } = await bundleWorkflowCode({
    workflowsPath,
    preloadModules: PURE_MODULES,
    logger: new DefaultLogger('WARN'),
    ...(encrypting ? { failureConverterPath: FAILURE_CONVERTER_PATH } : {}),
  });
  return code;
}

/** Bundles the compiled workflows, once, at build time. */
async function writeBundles(): Promise<void> {
  await writeFile(BUNDLE_PATH, await bundleWorkflows({ encrypting: false }));
  await writeFile(ENCRYPTING_BUNDLE_PATH, await bundleWorkflows({ encrypting: true }));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await writeBundles();
