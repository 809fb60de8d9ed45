import type { Random } from '../random.js';
import type { VirtualTime } from '../virtual/time.js';
import { ActivityTasks } from './activity-tasks.js';
import { Commands } from './commands.js';
import type { EngineParts } from './parts.js';
import { Pollers } from './pollers.js';
import { events, STATUS, type Payload } from './protocol.js';
import type { Run, Update } from './run.js';
import { Runs } from './runs.js';
import { admit, forgetAdmitted } from './updates.js';
import { WorkflowTasks } from './workflow-tasks.js';

/**
 * Temporal's server, as far as Tillflow uses it: runs with their histories, workflow tasks and activities with timeouts
 * and retries, timers, signals, updates, and a search that lags.
 */
export class Engine {
  readonly parts: EngineParts;
  readonly runs: Runs;
  readonly tasks: WorkflowTasks;
  readonly activities: ActivityTasks;

  constructor(time: VirtualTime, random: Random, note: (what: string) => void) {
    const counts = { tasks: 0, activities: 0, timeouts: 0, failures: 0, late: 0, replays: 0, renewals: 0 };
    this.parts = { time, random, note, counts, pollers: new Pollers(random), problems: [], clockStandsAt: null };
    this.runs = new Runs(this.parts, () => this.tasks);
    this.activities = new ActivityTasks(this.parts, (run, apply) => this.tasks.arrive(run, apply));
    const commands = new Commands(this.parts, this.runs, this.activities, () => this.tasks);
    this.tasks = new WorkflowTasks(
      this.parts,
      (run, command) => commands.apply(run, command),
      (run) => this.runs.changed(run),
    );
  }

  signal(
    run: Run,
    signal: {
      readonly name: string;
      readonly input: readonly Payload[];
      readonly identity: string;
      readonly requestId: string;
    },
  ): void {
    const { name, input, identity, requestId } = signal;
    if (requestId !== '' && run.signalIds.has(requestId)) return;
    run.signalIds.add(requestId);
    this.tasks.arrive(run, () => {
      run.append(events.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED, this.parts.time.now);
      run.jobs.push({ signalWorkflow: { signalName: name, input: [...input], identity, headers: {} } });
    });
  }

  requestCancel(run: Run): void {
    this.tasks.arrive(run, () => {
      run.append(events.EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED, this.parts.time.now);
      run.jobs.push({ cancelWorkflow: { reason: '' } });
    });
  }

  /** @throws {Refusal} when the run has closed, or too many updates wait */
  update(run: Run, request: Pick<Update, 'id' | 'name' | 'input' | 'identity'>): Update {
    const { update, isNew } = admit(run, request);
    if (isNew && run.task === null) this.tasks.ensure(run, true);
    return update;
  }

  terminate(run: Run): void {
    run.append(events.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED, this.parts.time.now);
    this.runs.close(run, STATUS.TERMINATED);
  }

  /** The server restarts: it loses what it only had in memory. */
  restart(): void {
    for (const run of this.runs.newest.values()) {
      forgetAdmitted(run);
      this.tasks.dropSpeculative(run);
      run.changed();
    }
  }
}
