import { createRequire } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';
import { bundleWorkflowCode, DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { filler, type BaselineActivities } from './steps.js';

/** The settings of the product's worker, so that the comparison is fair. Source: apps/worker/src. */
const PRODUCT_SETTINGS = { maxCachedWorkflows: 500, stickyQueueScheduleToStartTimeout: 3_000 } as const;

const activities: BaselineActivities = {
  nothing: async ({ waitMs, resultBytes }) => {
    if (waitMs > 0) await sleep(waitMs);
    return filler(resultBytes);
  },
};

Runtime.install({ shutdownSignals: [], logger: new DefaultLogger('WARN') });
const { TEMPORAL_ADDRESS: address = '', BASELINE_QUEUE: taskQueue = '' } = process.env;
const connection = await NativeConnection.connect({ address });
const worker = await Worker.create({
  connection,
  taskQueue,
  workflowBundle: await bundleWorkflowCode({
    workflowsPath: createRequire(import.meta.url).resolve('./workflows.js'),
    logger: new DefaultLogger('WARN'),
  }),
  activities,
  ...PRODUCT_SETTINGS,
});
process.once('SIGTERM', () => worker.shutdown());
process.stdout.write(`baseline ready ${address}\n`);
await worker.run();
await connection.close();
