import { writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';

/** Where the build puts the workflow code that every worker runs. */
export const BUNDLE_PATH = fileURLToPath(new URL('../dist/workflow-bundle.js', import.meta.url));

/** Bundles the compiled workflows, once, at build time. */
async function writeBundle(): Promise<void> {
  const { code } = await bundleWorkflowCode({
    workflowsPath: createRequire(import.meta.url).resolve('@tillflow/workflows/workflows'),
    logger: new DefaultLogger('WARN'),
  });
  await writeFile(BUNDLE_PATH, code);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await writeBundle();
