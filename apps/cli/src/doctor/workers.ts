import { QueryNotRegisteredError } from '@temporalio/client';
import { describeTaskQueue, type TaskQueue, type Temporal } from '@tillflow/temporal';
import type { Check, Finding } from './finding.js';

/** A worker asks again after a minute without work; one that has not for longer is gone. */
const SEEN_WITHIN_MS = 90_000;
/** A worker that holds a workflow in memory has 3 s before another may answer for it. */
const ANSWER_WITHIN_MS = 8_000;
/** One alone may be held up by itself. */
const ASKED = 5;
/** Every worker answers it, whatever the workflow. */
const METADATA_QUERY = '__temporal_workflow_metadata';

/** Whether a worker takes tasks, and whether all of them run the same code. */
export async function checkWorkers(
  temporal: Temporal,
  taskQueue: string,
  expectedBuild: string | undefined,
): Promise<Check> {
  const workflows = present(await describeTaskQueue(temporal, taskQueue, 'workflows'));
  const activities = present(await describeTaskQueue(temporal, taskQueue, 'activities'));
  const area = 'workers';
  if (workflows.pollers.length === 0 || activities.pollers.length === 0) {
    return { area, findings: [noWorker(`no worker polls the task queue ${taskQueue}`)], seen: 'none' };
  }
  const names = workflows.pollers.map(({ identity, build }) => `${identity} (${brief(build)})`).join(', ');
  const findings = [
    ...((await isAnswered(temporal, taskQueue))
      ? []
      : [noWorker(`the workers of ${taskQueue} do not answer: ${names}`)]),
    ...skews(workflows, expectedBuild),
  ];
  return { area, findings, seen: names };
}

/** Temporal remembers a poller for minutes after its end: what is asked through a workflow, only a living one answers. */
async function isAnswered({ client, connection }: Temporal, taskQueue: string): Promise<boolean> {
  const { namespace } = client.options;
  // In the order of the server, running ones come first.
  const { executions } = await connection.workflowService.listWorkflowExecutions({
    namespace,
    query: `TaskQueue = '${taskQueue}' AND ExecutionStatus != 'ContinuedAsNew'`,
    pageSize: ASKED,
  });
  const workflows = executions.flatMap(({ execution }) => execution ?? []);
  // Nothing was ever run here: that they poll is all there is to know.
  if (workflows.length === 0) return true;
  const ask = async ({ workflowId, runId }: (typeof workflows)[number]): Promise<void> => {
    try {
      await client.workflow.getHandle(workflowId ?? '', runId ?? undefined).query(METADATA_QUERY);
    } catch (error) {
      if (!(error instanceof QueryNotRegisteredError)) throw error;
    }
  };
  try {
    await connection.withDeadline(Date.now() + ANSWER_WITHIN_MS, () => Promise.any(workflows.map(ask)));
    return true;
  } catch {
    return false;
  }
}

function skews({ pollers, currentBuild }: TaskQueue, expectedBuild: string | undefined): Finding[] {
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
  if (currentBuild === null) {
    if (pollers.some(({ isVersioned }) => isVersioned)) {
      return [
        skew(
          `workers of build ${names} poll, and no build is current`,
          'Versioned workers get no tasks: nothing moves.',
          'temporal worker deployment set-current-version --deployment-name tillflow --build-id <build>',
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
        `Start workers of ${currentBuild}, or: temporal worker deployment set-current-version --deployment-name tillflow --build-id <build>`,
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

/** Those that are there now. */
function present({ pollers, currentBuild }: TaskQueue): TaskQueue {
  const since = Date.now() - SEEN_WITHIN_MS;
  return { pollers: pollers.filter(({ seenAt }) => seenAt > since), currentBuild };
}

/** A fingerprint of 64 digits says as much in 12. */
function brief(build: string): string {
  return build.replace(/^(@temporalio\/worker@[\d.]+\+[0-9a-f]{12})[0-9a-f]+$/, '$1');
}
