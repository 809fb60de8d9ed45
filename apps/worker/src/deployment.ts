import { setTimeout as sleep } from 'node:timers/promises';
import type { NativeConnection } from '@temporalio/worker';
import type { Logger } from 'pino';
import type { WorkerSettings } from './settings.js';

/** A time as Temporal sends it. */
type Timestamp = { readonly seconds?: unknown; readonly nanos?: number | null };

/** A build as Temporal describes it. */
export type KnownBuild = {
  readonly deploymentVersion?: { readonly buildId?: string | null } | null;
  /** When its first worker polled. */
  readonly createTime?: Timestamp | null;
  /** When it last became current; unset: never. */
  readonly lastCurrentTime?: Timestamp | null;
};

/** `take_over`: this build should become current. `stay_back`: it should not, and another build gets the tasks. */
export type Decision = 'unknown' | 'is_current' | 'take_over' | 'stay_back';

/**
 * A build takes over once: when it was never current, and its first worker polled after that of the current build. So
 * the restarted worker of an old build does not take over, and a build that was replaced on purpose stays replaced.
 */
export function decide(builds: readonly KnownBuild[], current: string | null, buildId: string): Decision {
  if (current === buildId) return 'is_current';
  const own = builds.find((build) => buildIdOf(build) === buildId);
  if (own === undefined) return 'unknown';
  if (instantOf(own.lastCurrentTime) > 0) return 'stay_back';
  const other = builds.find((build) => buildIdOf(build) === current);
  return instantOf(own.createTime) < instantOf(other?.createTime) ? 'stay_back' : 'take_over';
}

const PAUSE_MS = 200;
const CALL_WITHIN_MS = 5_000;
const KNOWN_WITHIN_MS = 60_000;

/**
 * Makes this worker's build current if it should take over. Waits until Temporal knows the build, which is when the
 * worker polls.
 * @throws {Error} when Temporal does not know the build within a minute, or refuses
 */
export async function makeBuildCurrent(
  connection: NativeConnection,
  settings: WorkerSettings & { readonly WORKER_BUILD_ID: string },
  logger: Logger,
): Promise<void> {
  const { TEMPORAL_NAMESPACE: namespace, WORKER_DEPLOYMENT: deploymentName, WORKER_BUILD_ID: buildId } = settings;
  const { workflowService } = connection;
  const attempt = async (): Promise<Decision> => {
    const { workerDeploymentInfo, conflictToken } = await workflowService.describeWorkerDeployment({
      namespace,
      deploymentName,
    });
    const { versionSummaries, routingConfig } = workerDeploymentInfo ?? {};
    const current = routingConfig?.currentDeploymentVersion?.buildId ?? null;
    const decision = decide(versionSummaries ?? [], current, buildId);
    if (decision === 'take_over') {
      // With the token, the call fails when another build became current meanwhile.
      await workflowService.setWorkerDeploymentCurrentVersion({ namespace, deploymentName, buildId, conflictToken });
    }
    if (decision !== 'unknown')
      logger.info(
        { deployment: deploymentName, build: buildId, current, decision },
        'decided whether this build takes over',
      );
    return decision;
  };
  const giveUpAt = Date.now() + KNOWN_WITHIN_MS;
  for (;;) {
    let obstacle: unknown = 'Temporal does not know this build';
    try {
      const decision = await connection.withDeadline(Date.now() + CALL_WITHIN_MS, attempt);
      if (decision !== 'unknown') return;
    } catch (error) {
      obstacle = error;
    }
    if (isPermanent(obstacle) || Date.now() > giveUpAt) {
      const why = obstacle instanceof Error ? obstacle.message : String(obstacle);
      throw new Error(`Build ${buildId} of ${deploymentName} could not become current: ${why}`, { cause: obstacle });
    }
    await sleep(PAUSE_MS);
  }
}

/** gRPC: invalid argument, permission denied, unimplemented, unauthenticated. */
const PERMANENT: ReadonlySet<unknown> = new Set([3, 7, 12, 16]);

function isPermanent(error: unknown): boolean {
  return error instanceof Error && 'code' in error && PERMANENT.has(error.code);
}

function buildIdOf(build: KnownBuild): string | null {
  return build.deploymentVersion?.buildId ?? null;
}

/** In seconds; 0 when unset. */
function instantOf(time: Timestamp | null | undefined): number {
  return Number(time?.seconds ?? 0) + (time?.nanos ?? 0) / 1e9;
}
