import type { ActivityTasks } from './activity-tasks.js';
import type { EngineParts } from './parts.js';
import { events, STATUS, toMs, type Command } from './protocol.js';
import type { Run } from './run.js';
import type { Runs } from './runs.js';
import { answered } from './updates.js';
import type { WorkflowTasks } from './workflow-tasks.js';

/** Carries out what workflow code asks for. */
export class Commands {
  constructor(
    private readonly parts: EngineParts,
    private readonly runs: Runs,
    private readonly activities: ActivityTasks,
    private readonly tasks: () => WorkflowTasks,
  ) {}

  apply(run: Run, command: Command): void {
    const { now } = this.parts.time;
    if (command.startTimer) this.#startTimer(run, command.startTimer);
    else if (command.cancelTimer) this.#cancelTimer(run, command.cancelTimer.seq ?? 0);
    else if (command.scheduleActivity) this.activities.schedule(run, command.scheduleActivity);
    else if (command.upsertWorkflowSearchAttributes) {
      Object.assign(run.searchAttributes, command.upsertWorkflowSearchAttributes.searchAttributes?.indexedFields);
      run.append(events.EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES, now);
    } else if (command.modifyWorkflowProperties) {
      const upsertedMemo = command.modifyWorkflowProperties.upsertedMemo ?? {};
      Object.assign(run.memo, upsertedMemo.fields);
      const workflowPropertiesModifiedEventAttributes = { upsertedMemo };
      run.append(events.EVENT_TYPE_WORKFLOW_PROPERTIES_MODIFIED, now, { workflowPropertiesModifiedEventAttributes });
    } else if (command.setPatchMarker) run.append(events.EVENT_TYPE_MARKER_RECORDED, now);
    else if (command.updateResponse) this.#answerUpdate(run, command.updateResponse);
    else this.#close(run, command);
  }

  #startTimer(run: Run, { seq, startToFireTimeout }: NonNullable<Command['startTimer']>): void {
    const { time } = this.parts;
    const number = seq ?? 0;
    run.append(events.EVENT_TYPE_TIMER_STARTED, time.now);
    const fired = (): void => {
      run.append(events.EVENT_TYPE_TIMER_FIRED, time.now);
      run.jobs.push({ fireTimer: { seq: number } });
    };
    const fire = (): void => {
      run.timers.delete(number);
      this.tasks().arrive(run, fired, number);
    };
    run.timers.set(number, time.after(toMs(startToFireTimeout), fire, undefined));
  }

  #cancelTimer(run: Run, seq: number): void {
    run.timers.get(seq)?.();
    run.timers.delete(seq);
    run.buffered = run.buffered.filter(({ timerSeq }) => timerSeq !== seq);
    run.append(events.EVENT_TYPE_TIMER_CANCELED, this.parts.time.now);
  }

  #answerUpdate(run: Run, response: NonNullable<Command['updateResponse']>): void {
    const { protocolInstanceId, accepted, rejected, completed } = response;
    const { now } = this.parts.time;
    const update = answered(run, protocolInstanceId ?? '');
    if (accepted) {
      update.stage = 'accepted';
      run.append(events.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED, now);
      return;
    }
    // Refused by its validator, an update leaves no event.
    if (update.stage === 'accepted') run.append(events.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_COMPLETED, now);
    update.stage = 'completed';
    update.outcome = rejected ? { failure: rejected } : { success: completed ? [completed] : [] };
  }

  #close(run: Run, command: Command): void {
    const { now } = this.parts.time;
    if (command.completeWorkflowExecution) {
      run.append(events.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED, now);
      this.runs.close(run, STATUS.COMPLETED);
    } else if (command.failWorkflowExecution) {
      const { failure } = command.failWorkflowExecution;
      this.parts.problems.push({ workflowId: run.start.workflowId, why: `the run failed: ${failure?.message}` });
      run.append(events.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED, now);
      this.runs.close(run, STATUS.FAILED);
    } else if (command.cancelWorkflowExecution) {
      run.append(events.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED, now);
      this.runs.close(run, STATUS.CANCELED);
    } else if (command.continueAsNewWorkflowExecution) {
      this.runs.continueAsNew(run, command.continueAsNewWorkflowExecution);
    } else {
      throw new Error(`The simulation does not know this command: ${Object.keys(command).join(', ')}`);
    }
  }
}
