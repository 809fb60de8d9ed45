import { GRPC, Refusal, STATUS, type Command, type Job, type Status } from './protocol.js';
import type { Run, Update } from './run.js';

/** Updates of one run that may wait at a time. Source: limits of Temporal's server. */
const MAX_UPDATES = 10;

/** Adds an update to a run, or finds it. @throws {Refusal} when the run has closed, or too many updates wait */
export function admit(
  run: Run,
  request: Pick<Update, 'id' | 'name' | 'input' | 'identity'>,
): { readonly update: Update; readonly isNew: boolean } {
  const known = run.updates.get(request.id);
  if (known !== undefined) return { update: known, isNew: false };
  if (!run.isOpen) throw new Refusal(GRPC.NOT_FOUND, 'workflow execution already completed');
  const open = [...run.updates.values()].filter(({ stage }) => stage !== 'completed').length;
  if (open >= MAX_UPDATES) {
    const why = `limit on number of concurrent in-flight updates has been reached (${MAX_UPDATES})`;
    throw new Refusal(GRPC.RESOURCE_EXHAUSTED, why);
  }
  const update: Update = { ...request, stage: 'admitted' };
  run.updates.set(update.id, update);
  return { update, isNew: true };
}

/** The server forgets updates that no worker has accepted: its callers send them again. */
export function forgetAdmitted(run: Run): void {
  for (const update of run.updates.values()) {
    if (update.stage !== 'admitted') continue;
    update.lost = 'again';
    run.updates.delete(update.id);
    run.forgotten.set(update.id, update);
  }
}

/** The update that a worker answers. Its answer contains the request, so that a server that has forgotten it takes it up again. */
export function answered(run: Run, id: string): Update {
  const known = run.updates.get(id);
  if (known !== undefined) return known;
  const forgotten = run.forgotten.get(id);
  if (forgotten === undefined) throw new Error(`No update ${id}`);
  const { name, input, identity } = forgotten;
  const update: Update = { id, name, input, identity, stage: 'admitted' };
  run.updates.set(id, update);
  return update;
}

/** The run has closed: updates without an outcome end. */
export function endUpdates(run: Run, status: Status): void {
  for (const update of run.updates.values()) {
    if (update.stage === 'completed') continue;
    if (update.stage === 'admitted') {
      update.lost = status === STATUS.CONTINUED_AS_NEW ? 'again' : 'closed';
      continue;
    }
    update.stage = 'completed';
    update.outcome = {
      failure: {
        message: 'Workflow Update failed because the Workflow completed before the Update completed.',
        source: 'Server',
        applicationFailureInfo: { type: 'AcceptedUpdateCompletedWorkflow', nonRetryable: true },
      },
    };
  }
}

/** The updates that their validators refuse with these commands: the history has no trace of them. */
export function rejectedUpdates(run: Run, commands: readonly Command[]): ReadonlySet<string> {
  const responses = commands.flatMap(({ updateResponse }) => updateResponse ?? []);
  const accepted = new Set(responses.flatMap((one) => (one.accepted ? [one.protocolInstanceId ?? ''] : [])));
  return new Set(
    responses.flatMap(({ rejected, protocolInstanceId }) => {
      const id = protocolInstanceId ?? '';
      const update = run.updates.get(id) ?? run.forgotten.get(id);
      const isRefused = rejected && update?.stage === 'admitted' && !accepted.has(id);
      return isRefused ? [id] : [];
    }),
  );
}

export function doUpdate({ id, name, input, identity }: Update): Job {
  return {
    doUpdate: {
      id,
      protocolInstanceId: id,
      name,
      input: [...input],
      headers: {},
      meta: { updateId: id, identity },
      runValidator: true,
    },
  };
}

/** A worker that repeats the step asks no validator. */
export function withoutValidator(job: Job): Job {
  return job.doUpdate ? { doUpdate: { ...job.doUpdate, runValidator: false } } : job;
}
