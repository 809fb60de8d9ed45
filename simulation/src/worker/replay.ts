import type { Command, Job } from '../engine/protocol.js';
import type { Run, Step } from '../engine/run.js';
import { digest, inOrder, WorkflowInstance, type WorkflowCode } from './workflow-code.js';

/** Workflow code made other commands when it was repeated. */
export class Divergence extends Error {
  override readonly name = 'Divergence';
}

/**
 * Puts a run into memory by repeating the steps that the engine keeps. As Temporal's Core does, a repeated step knows
 * the results of all its local activities from its beginning, and hands them over together.
 *
 * @throws {Divergence}
 */
export async function rebuild(
  code: WorkflowCode,
  run: Run,
  steps: readonly Step[],
  first: Pick<Step, 'timestamp' | 'historyLength'>,
): Promise<WorkflowInstance> {
  const instance = await WorkflowInstance.create(code, run, steps[0] ?? first);
  for (const step of steps) await repeat(instance, step);
  return instance;
}

async function repeat(instance: WorkflowInstance, step: Step): Promise<void> {
  const results = new Map(step.locals.map((local) => [local.seq, local]));
  const commands: Command[] = [];
  let { timestamp } = step;
  const known = (): Job[] =>
    [...results.values()]
      .filter(({ seq }) => instance.waiting.has(seq))
      .map(({ seq, result, at }) => {
        results.delete(seq);
        timestamp = Math.max(timestamp, at);
        return { resolveActivity: { seq, result, isLocal: true } };
      });
  let jobs: readonly Job[] = inOrder([...step.jobs, ...known()]);
  while (jobs.length > 0) {
    const answered = await instance.activate(jobs, { timestamp, historyLength: step.historyLength }, true);
    commands.push(...answered.commands);
    jobs = known();
  }
  const made = digest(commands);
  if (made !== step.commands) throw new Divergence(`A repeated step makes [${made}] instead of [${step.commands}]`);
  if (results.size > 0) throw new Divergence('A repeated step does not make a local activity that the history has');
}
