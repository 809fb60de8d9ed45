import {
  describeTaskQueue,
  probeWorkers,
  activePollers,
  stuckWorkflows,
  type TaskQueue,
  type Temporal,
} from '@tillflow/temporal';
import type { Check, Finding } from './finding.js';

/** Several are queried, because one workflow alone may be blocked. */
const QUERIED = 5;

/**
 * Checks if a worker takes tasks, and if all workers run the same code.
 * @param now the time of Temporal's clock, which dates the polls of the workers, in milliseconds.
 */
export async function checkWorkers(
  temporal: Temporal,
  taskQueue: string,
  expectedBuild: string | undefined,
  now: number,
): Promise<Check> {
  const workflows = currentlyPolling(now, await describeTaskQueue(temporal, taskQueue, 'workflows'));
  const activities = currentlyPolling(now, await describeTaskQueue(temporal, taskQueue, 'activities'));
  const area = 'workers';
  if (workflows.pollers.length === 0 || activities.pollers.length === 0) {
    return { area, findings: [noWorker(`no worker polls the task queue ${taskQueue}`)], seen: 'none' };
  }
  const names = workflows.pollers.map(({ identity, build }) => `${identity} (${brief(build)})`).join(', ');
  const findings = [
    ...(await unresponsive(temporal, taskQueue, names)),
    ...(await blockedWorkflows(temporal, taskQueue)),
    ...versionSkews(workflows, expectedBuild),
  ];
  return { area, findings, seen: names };
}

/**
 * Temporal lists a poller for minutes after its end, and also a worker that hangs. So the workers must answer a query.
 */
async function unresponsive(temporal: Temporal, taskQueue: string, names: string): Promise<Finding[]> {
  const { client, connection } = temporal;
  // The server lists running workflows first.
  const { executions } = await connection.workflowService.listWorkflowExecutions({
    namespace: client.options.namespace,
    query: `TaskQueue = '${taskQueue}' AND ExecutionStatus != 'ContinuedAsNew'`,
    pageSize: QUERIED,
  });
  const workflows = executions.map(({ execution }) => ({
    workflowId: execution?.workflowId ?? '',
    runId: execution?.runId ?? '',
  }));
  // Without a workflow there is nothing to query, so the check knows only that the workers poll.
  if (workflows.length === 0) return [];
  switch (await probeWorkers(temporal, workflows)) {
    case 'answered':
      return [];
    case 'unreadable':
      return [unreadable()];
    case 'silent':
      return [noWorker(`the workers of ${taskQueue} do not answer: ${names}`)];
  }
}

/** Only newer servers record the workflows in which the worker's code fails. */
async function blockedWorkflows({ client, connection }: Temporal, taskQueue: string): Promise<Finding[]> {
  const { namespace } = client.options;
  const { namespaceInfo } = await connection.workflowService.describeNamespace({ namespace });
  if (namespaceInfo?.capabilities?.reportedProblemsSearchAttribute !== true) return [];
  const { count } = await client.workflow.count(stuckWorkflows(taskQueue));
  if (count === 0) return [];
  return [
    {
      code: 'workflows_stuck',
      what: `${count} workflows of ${taskQueue} are blocked, because the code of the worker fails in them`,
      means:
        'In these checkouts, no payment is recorded and no refund is made. They continue when a worker with working code runs.',
      remedy:
        'Search for TemporalReportedProblems IS NOT NULL in the Temporal UI. See docs/operations.md, "A worker is stuck".',
    },
  ];
}

function unreadable(): Finding {
  return {
    code: 'payload_key_missing',
    what: 'the data of the workers is encrypted with a key that is missing in PAYLOAD_KEYS here',
    means:
      'This command cannot show checkouts. An API without the key answers 500, and a worker without it makes no progress.',
    remedy: 'Set the same PAYLOAD_KEYS for API, worker and tillflow. See docs/encryption.md.',
  };
}

function versionSkews({ pollers, currentBuild, deployment }: TaskQueue, expectedBuild: string | undefined): Finding[] {
  const makeCurrent = `temporal worker deployment set-current-version --deployment-name ${deployment ?? 'tillflow'} --build-id <build>`;
  const builds = [...new Set(pollers.map(({ build }) => build))];
  const others = builds.filter((build) => build !== currentBuild);
  const names = builds.map(brief).join(', ');
  if (expectedBuild !== undefined && currentBuild !== null && currentBuild !== expectedBuild) {
    return [
      skew(
        `build ${currentBuild} gets the tasks, but WORKER_BUILD_ID is ${expectedBuild}`,
        'The expected release does not run.',
        'Start its workers. If they run but get no tasks, see docs/adr/0006-a-build-takes-over-once.md.',
      ),
    ];
  }
  if (expectedBuild !== undefined && !pollers.some(({ isVersioned }) => isVersioned)) {
    return [
      skew(
        `only workers without a build id poll (${names}), but WORKER_BUILD_ID is ${expectedBuild}`,
        'The expected release does not run.',
        'Start the workers with WORKER_BUILD_ID, or unset it here.',
      ),
    ];
  }
  if (currentBuild === null) {
    if (pollers.some(({ isVersioned }) => isVersioned)) {
      return [
        skew(
          `workers of build ${names} poll, but no build is current`,
          'Workers with a build id get no tasks, so no checkout makes progress.',
          `Run \`${makeCurrent}\`.`,
        ),
      ];
    }
    if (builds.length < 2) return [];
    return [
      skew(
        `workers run different code: ${names}`,
        'They take each other’s tasks, so the older code may carry out a step.',
        'Stop the older workers. Right after an upgrade, wait two minutes. With WORKER_BUILD_ID, each release gets only its own tasks.',
      ),
    ];
  }
  if (!builds.includes(currentBuild)) {
    return [
      skew(
        `build ${currentBuild} gets the tasks, but only workers of ${names} poll`,
        'No checkout makes progress, and no refund is made.',
        `Start workers of ${currentBuild}, or run \`${makeCurrent}\`.`,
      ),
    ];
  }
  if (others.length === 0) return [];
  return [
    skew(
      `build ${currentBuild} gets the tasks, but workers of ${others.map(brief).join(', ')} poll, too`,
      'These workers use memory and do no work.',
      'Stop them when the upgrade is complete.',
    ),
  ];
}

function noWorker(what: string): Finding {
  return {
    code: 'no_worker',
    what,
    means:
      'No QR is created, no payment is recorded and no refund is made. Temporal keeps the requests of tills until a worker runs again. A decision of an operator must be sent again.',
    remedy:
      'Start apps/worker with this TEMPORAL_TASK_QUEUE, and read its log. See docs/operations.md, "A worker is stuck".',
  };
}

function skew(what: string, means: string, remedy: string): Finding {
  return { code: 'version_skew', what, means, remedy };
}

function currentlyPolling(now: number, queue: TaskQueue): TaskQueue {
  return { ...queue, pollers: activePollers(queue, now) };
}

/** Shortens the fingerprint of a bundle from 64 to 12 digits. */
function brief(build: string): string {
  return build.replace(/^(@temporalio\/worker@[\d.]+\+[0-9a-f]{12})[0-9a-f]+$/, '$1');
}
