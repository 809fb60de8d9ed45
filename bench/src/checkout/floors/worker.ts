import { createRequire } from 'node:module';
import { bundleWorkflowCode, DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { floorActivities } from './activities.js';

/** As the product's worker has it, so that both are compared on equal terms. Source: apps/worker/src. */
const PRODUCT_SETTINGS = { maxCachedWorkflows: 500, stickyQueueScheduleToStartTimeout: 3_000 } as const;

Runtime.install({ shutdownSignals: [], logger: new DefaultLogger('WARN') });
const { TEMPORAL_ADDRESS: address = '', FLOOR_QUEUE: taskQueue = '' } = process.env;
const connection = await NativeConnection.connect({ address });
const worker = await Worker.create({
  connection,
  taskQueue,
  workflowBundle: await bundleWorkflowCode({
    workflowsPath: createRequire(import.meta.url).resolve('./workflows.js'),
    logger: new DefaultLogger('WARN'),
  }),
  activities: floorActivities,
  ...PRODUCT_SETTINGS,
});
process.once('SIGTERM', () => worker.shutdown());
process.stdout.write(`floors ready ${address}\n`);
await worker.run();
await connection.close();
