import { randomUUID } from 'node:crypto';
import { startWorker, workerSettings, type RunningWorker, type StartOptions } from '@tillflow/worker';
import type { Stack } from './stack.js';

/** Builds of one deployment, each started as a release starts it. */
export class Releases {
  readonly deployment = `test-${randomUUID()}`;
  readonly #running = new Set<RunningWorker>();

  constructor(private readonly stack: Stack) {}

  async start(build: string, environment: Record<string, string> = {}, options?: StartOptions): Promise<RunningWorker> {
    const settings = workerSettings({
      ...this.stack.workerEnvironment(),
      WORKER_BUILD_ID: build,
      WORKER_DEPLOYMENT: this.deployment,
      ...environment,
    });
    const worker = await startWorker(settings, this.stack.logger, options);
    this.#running.add(worker);
    return worker;
  }

  async stop(worker: RunningWorker): Promise<void> {
    this.#running.delete(worker);
    await worker.stop();
  }

  async stopAll(): Promise<void> {
    await Promise.all([...this.#running].map((worker) => this.stop(worker)));
  }

  async current(): Promise<string | undefined> {
    const { workerDeploymentInfo } = await this.stack.temporal.connection.workflowService.describeWorkerDeployment({
      namespace: 'default',
      deploymentName: this.deployment,
    });
    return workerDeploymentInfo?.routingConfig?.currentDeploymentVersion?.buildId ?? undefined;
  }
}

/** Which builds took the steps of a checkout, through all of its runs, in their order. */
export async function buildsOf(stack: Stack, reference: string): Promise<(string | undefined)[]> {
  return (await stack.runsOf(reference))
    .flat()
    .flatMap(({ workflowTaskCompletedEventAttributes: task }) =>
      task ? [task.deploymentVersion?.buildId ?? undefined] : [],
    );
}
