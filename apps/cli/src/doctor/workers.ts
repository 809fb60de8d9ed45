import {
  describeTaskQueue,
  livenessOf,
  livingPollers,
  stuckWorkflows,
  type TaskQueue,
  type Temporal,
} from '@tillflow/temporal';
import type { Check, Finding } from './finding.js';

/** One alone may be held up by itself. */
const ASKED = 5;

/**
 * Whether a worker takes tasks, and whether all of them run the same code.
 * @param now by Temporal's clock, which dates the workers' visits, in milliseconds.
 */
export async function checkWorkers(
  temporal: Temporal,
  taskQueue: string,
  expectedBuild: string | undefined,
  now: number,
): Promise<Check> {
  const workflows = presentAt(now, await describeTaskQueue(temporal, taskQueue, 'workflows'));
  const activities = presentAt(now, await describeTaskQueue(temporal, taskQueue, 'activities'));
  const area = 'workers';
  if (workflows.pollers.length === 0 || activities.pollers.length === 0) {
    return { area, findings: [noWorker(`no worker polls the task queue ${taskQueue}`)], seen: 'none' };
  }
  const names = workflows.pollers.map(({ identity, build }) => `${identity} (${brief(build)})`).join(', ');
  const findings = [
    ...(await silences(temporal, taskQueue, names)),
    ...(await failures(temporal, taskQueue)),
    ...skews(workflows, expectedBuild),
  ];
  return { area, findings, seen: names };
}

/** A poller is remembered for minutes after its end, and one that hangs is one all the same. */
async function silences(temporal: Temporal, taskQueue: string, names: string): Promise<Finding[]> {
  const { client, connection } = temporal;
  // In the order of the server, running ones come first.
  const { executions } = await connection.workflowService.listWorkflowExecutions({
    namespace: client.options.namespace,
    query: `TaskQueue = '${taskQueue}' AND ExecutionStatus != 'ContinuedAsNew'`,
    pageSize: ASKED,
  });
  const workflows = executions.map(({ execution }) => ({
    workflowId: execution?.workflowId ?? '',
    runId: execution?.runId ?? '',
  }));
  // Nothing was ever run here: that they poll is all there is to know.
  if (workflows.length === 0) return [];
  switch (await livenessOf(temporal, workflows)) {
    case 'answered':
      return [];
    case 'unreadable':
      return [unreadable()];
    case 'silent':
      return [noWorker(`the workers of ${taskQueue} do not answer: ${names}`)];
  }
}

/** Only a newer server writes down in which workflows the code fails. */
async function failures({ client, connection }: Temporal, taskQueue: string): Promise<Finding[]> {
  const { namespace } = client.options;
  const { namespaceInfo } = await connection.workflowService.describeNamespace({ namespace });
  if (namespaceInfo?.capabilities?.reportedProblemsSearchAttribute !== true) return [];
  const { count } = await client.workflow.count(stuckWorkflows(taskQueue));
  if (count === 0) return [];
  return [
    {
      code: 'workflows_stuck',
      what: `${count} workflows of ${taskQueue} cannot go on: the code of the worker fails in them`,
      means:
        'Nothing moves there: no payment is noticed, no refund goes out. It goes on by itself under code that works.',
      remedy:
        'TemporalReportedProblems IS NOT NULL finds them in the Temporal UI. docs/operations.md, A worker is stuck.',
    },
  ];
}

function unreadable(): Finding {
  return {
    code: 'payload_key_missing',
    what: 'what the workers write is encrypted with a key that PAYLOAD_KEYS does not have here',
    means: 'This command cannot show checkouts. An API without the key answers 500, a worker without it does nothing.',
    remedy: 'Set the same PAYLOAD_KEYS for API, worker and tillflow. docs/encryption.md.',
  };
}

function skews({ pollers, currentBuild, deployment }: TaskQueue, expectedBuild: string | undefined): Finding[] {
  const makeCurrent = `temporal worker deployment set-current-version --deployment-name ${deployment ?? 'tillflow'} --build-id <build>`;
  const builds = [...new Set(pollers.map(({ build }) => build))];
  const others = builds.filter((build) => build !== currentBuild);
  const names = builds.map(brief).join(', ');
  if (expectedBuild !== undefined && currentBuild !== null && currentBuild !== expectedBuild) {
    return [
      skew(
        `build ${currentBuild} gets the tasks, WORKER_BUILD_ID is ${expectedBuild}`,
        'The release that is meant to run does not.',
        'Start its workers, or see why they stay back: docs/adr/0006-a-build-takes-over-once.md.',
      ),
    ];
  }
  if (expectedBuild !== undefined && !pollers.some(({ isVersioned }) => isVersioned)) {
    return [
      skew(
        `workers without a build poll (${names}), WORKER_BUILD_ID is ${expectedBuild}`,
        'The release that is meant to run does not.',
        'Start its workers with WORKER_BUILD_ID, or unset it here.',
      ),
    ];
  }
  if (currentBuild === null) {
    if (pollers.some(({ isVersioned }) => isVersioned)) {
      return [
        skew(
          `workers of build ${names} poll, and no build is current`,
          'Versioned workers get no tasks: nothing moves.',
          makeCurrent,
        ),
      ];
    }
    if (builds.length < 2) return [];
    return [
      skew(
        `workers run different code: ${names}`,
        'They take each other’s tasks: a step may be carried out by the older code.',
        'Stop the older ones. Right after an upgrade: wait two minutes. WORKER_BUILD_ID keeps releases apart.',
      ),
    ];
  }
  if (!builds.includes(currentBuild)) {
    return [
      skew(
        `build ${currentBuild} gets the tasks, and only workers of ${names} poll`,
        'Nothing moves: no checkout goes on, no refund is made.',
        `Start workers of ${currentBuild}, or: ${makeCurrent}`,
      ),
    ];
  }
  if (others.length === 0) return [];
  return [
    skew(
      `build ${currentBuild} gets the tasks, workers of ${others.map(brief).join(', ')} poll too`,
      'They cost memory and do nothing.',
      'Stop them once the upgrade is done.',
    ),
  ];
}

function noWorker(what: string): Finding {
  return {
    code: 'no_worker',
    what,
    means:
      'No QR is made, no payment is noticed, no refund goes out. What was asked is kept and done once a worker is back.',
    remedy: 'Start apps/worker with this TEMPORAL_TASK_QUEUE, and read its log. docs/operations.md, A worker is stuck.',
  };
}

function skew(what: string, means: string, remedy: string): Finding {
  return { code: 'version_skew', what, means, remedy };
}

function presentAt(now: number, queue: TaskQueue): TaskQueue {
  return { ...queue, pollers: livingPollers(queue, now) };
}

/** A fingerprint of 64 digits says as much in 12. */
function brief(build: string): string {
  return build.replace(/^(@temporalio\/worker@[\d.]+\+[0-9a-f]{12})[0-9a-f]+$/, '$1');
}
