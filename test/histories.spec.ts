import { createHash } from 'node:crypto';
import { appendFile, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { Worker, type ReplayWorkerOptions, type WorkflowBundleOption } from '@temporalio/worker';
import { historyToJSON } from '@tillflow/temporal/sdk-internals';
import { BUNDLE_PATH, bundleWorkflows, checkoutSinks, workflowSpans } from '@tillflow/worker';
import * as workflows from '@tillflow/workflows/workflows';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { COMMAND_PATHS } from './support/command-paths.js';
import { EVENT_PATHS } from './support/event-paths.js';
import { QUICK_TAIL } from './support/event-tail.js';
import { FULL, isFull, MORE } from './support/full.js';
import { LINK_PATHS } from './support/link-paths.js';
import { PATHS, TAIL_PATHS } from './support/paths.js';
import { PROVIDER_BEHIND_HOURS, RECONCILE_PATHS } from './support/reconcile-paths.js';
import { SETTLES_SOON, Stack } from './support/stack.js';

/**
 * Committed histories, a folder for each recording and a file for each run. `pnpm test` replays them; `pnpm test:full`
 * also takes every path and replays the new history. `RECORD=<folder> pnpm test:full test/histories.spec.ts` adds what
 * the folder lacks.
 */
const HISTORIES = new URL('./histories/', import.meta.url);
/** The hash of each history, as `sha256sum` writes it. */
const SUMS = new URL('SHA256SUMS', HISTORIES);
const RECORD = process.env['RECORD'];
const files = (await readdir(HISTORIES, { recursive: true })).filter((name) => name.endsWith('.json'));

/** A worker that replays. It takes the spans of workflows, as every worker does. */
const sinks = { ...workflowSpans(undefined), ...checkoutSinks('default') };
const replayer = (workflowBundle: WorkflowBundleOption) => ({ workflowBundle, sinks });
const BUNDLE = replayer({ codePath: BUNDLE_PATH });
const replay = (history: unknown): Promise<void> => Worker.runReplayHistory(BUNDLE, history);

type History = { readonly events: [{ workflowExecutionStartedEventAttributes: { workflowType: { name: string } } }] };

/** Workers with and without the interceptors of traces, histories without and with a trace in each message. */
const HOW = ['as recorded', 'with a trace, without interceptors', 'with a trace', 'without interceptors'] as const;
const TRIED = isFull ? HOW : HOW.slice(0, 2);

const HEADER = {
  fields: {
    '_tracer-data': {
      metadata: { encoding: Buffer.from('json/plain').toString('base64') },
      data: Buffer.from(`{"traceparent":"00-${'a'.repeat(32)}-${'b'.repeat(16)}-01"}`).toString('base64'),
    },
  },
};

/** The history as it is when every message has a trace that is exported. */
function traced(history: History): History {
  const withHeader = (name: string, value: unknown): unknown => {
    const holdsHeader = /^(workflowExecution(Started|Signaled)|activityTaskScheduled)EventAttributes$/.test(name);
    // The input of an update.
    const isInput = name === 'input' && typeof value === 'object' && value !== null && 'name' in value;
    return holdsHeader || isInput ? { ...(value as object), header: HEADER } : value;
  };
  return JSON.parse(JSON.stringify(history), withHeader) as History;
}

describe('the workflow code', () => {
  it('has a committed history of every path', () => {
    const recorded = new Set(files.map((name) => name.replace(/^.*\//, '').replace(/\.\d+\.json$/, '')));
    const paths = [PATHS, TAIL_PATHS, RECONCILE_PATHS, COMMAND_PATHS, EVENT_PATHS, LINK_PATHS];
    expect([...recorded].toSorted()).toEqual(paths.flatMap((some) => Object.keys(some)).toSorted());
  });

  it('is tried with histories that stay as they were recorded', async () => {
    const sums = await Promise.all(files.map(async (name) => sumOf(name, await readFile(new URL(name, HISTORIES)))));
    const recorded = (await readFile(SUMS, 'utf8')).trim().split('\n');
    expect(sums.toSorted()).toEqual(recorded.toSorted());
  });

  const types = new Set<string>();
  /** Each history, under the name of its file. */
  async function* committed(change: (history: History) => History) {
    for (const workflowId of files) {
      const history = JSON.parse(await readFile(new URL(workflowId, HISTORIES), 'utf8')) as History;
      types.add(history.events[0].workflowExecutionStartedEventAttributes.workflowType.name);
      yield { workflowId, history: change(history) };
    }
  }

  const asRecorded = (history: History): History => history;
  const errors = new Map<string, unknown>();
  // One worker replays them all: to start one costs more than the replay.
  beforeAll(async () => {
    const replays = async (how: string, worker: ReplayWorkerOptions, change: typeof asRecorded): Promise<void> => {
      for await (const { workflowId, error } of Worker.runReplayHistories(worker, committed(change))) {
        errors.set(`${workflowId} ${how}`, error);
      }
    };
    const untraced = replayer({ code: await bundleWorkflows({ encrypting: false, tracing: false }) });
    await replays(HOW[0], BUNDLE, asRecorded);
    await replays(HOW[1], untraced, traced);
    if (!isFull) return;
    await replays(HOW[2], BUNDLE, traced);
    await replays(HOW[3], untraced, asRecorded);
  }, 120_000);

  it('has a committed history of every workflow type', () => {
    expect([...types].toSorted()).toEqual(Object.keys(workflows).toSorted());
  });

  it.each(files)('replays the recorded history %s, with and without traces', MORE, (name) => {
    expect(TRIED.map((how) => [how, errors.has(`${name} ${how}`), errors.get(`${name} ${how}`)])).toEqual(
      TRIED.map((how) => [how, true, undefined]),
    );
  });
});

describe('a new history (checkouts, event tail)', FULL, () => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await Stack.start({
      shared: QUICK_TAIL,
      api: {
        ...SETTLES_SOON,
        POLL_INTERVAL_MS: '1000',
      },
    });
  });
  afterAll(() => stack.stop());

  it.each(Object.keys(PATHS))('of a checkout on the path "%s" replays', async (name) => {
    const checkout = await PATHS[name]?.(stack);
    await expectToReplay(name, await stack.runsOf(checkout?.reference ?? ''));
  });

  it.each(Object.keys(TAIL_PATHS))('of the event tail on the path "%s" replays', async (name) => {
    const tail = await TAIL_PATHS[name]?.(stack);
    const runs = await stack.runsOfWorkflow(tail?.workflowId ?? '');
    await tail?.stop();
    await expectToReplay(name, runs);
  });
});

describe('a new history (reconciliations)', FULL, () => {
  let stack: Stack;
  beforeAll(async () => {
    const now = new Date(Date.now() - PROVIDER_BEHIND_HOURS * 3_600_000).toISOString();
    // The last business day has ended an hour ago, and contains the payments.
    const shared = { BUSINESS_DAY_START: new Date(Date.now() - 3_600_000).toISOString().slice(11, 16) };
    stack = await Stack.start({ api: { POLL_INTERVAL_MS: '86400000' }, shared, sandbox: { now }, webhookUrl: null });
  });
  afterAll(() => stack.stop());

  it.each(Object.keys(RECONCILE_PATHS))('of a reconciliation on the path "%s" replays', async (name) => {
    const workflowId = await RECONCILE_PATHS[name]?.(stack);
    await expectToReplay(name, await stack.runsOfWorkflow(workflowId ?? ''));
  });
});

describe('a new history (commands)', FULL, () => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await Stack.start({
      webhookUrl: null,
      api: {
        ...SETTLES_SOON,
        SECOND_LOOK_MS: '1000',
      },
    });
  });
  afterAll(() => stack.stop());

  it.each(Object.keys(COMMAND_PATHS))('of a command on the path "%s" replays', async (name) => {
    const workflowId = (await COMMAND_PATHS[name]?.(stack)) ?? '';
    await expectToReplay(name, await stack.runsOfWorkflow(workflowId));
  });
});

describe('a new history (outgoing events, counter links)', FULL, () => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await Stack.start({ shared: { ...QUICK_TAIL, EVENT_ENDPOINT_NETWORKS: '127.0.0.0/8' } });
  });
  afterAll(() => stack.stop());

  it.each(Object.keys(EVENT_PATHS))('of outgoing events on the path "%s" replays', async (name) => {
    const workflowId = (await EVENT_PATHS[name]?.(stack)) ?? '';
    await expectToReplay(name, await stack.runsOfWorkflow(workflowId));
  });

  it.each(Object.keys(LINK_PATHS))('of a link of the counter on the path "%s" replays', async (name) => {
    const workflowId = (await LINK_PATHS[name]?.(stack)) ?? '';
    await expectToReplay(name, await stack.runsOfWorkflow(workflowId));
  });
});

async function expectToReplay(name: string, runs: Awaited<ReturnType<Stack['runsOf']>>): Promise<void> {
  // A recorded history is never changed: ADR 12.
  const isRecorded = files.some((file) => file.startsWith(`${RECORD}/${name}.`));
  for (const [index, events] of runs.entries()) {
    const history = JSON.parse(historyToJSON({ events })) as unknown;
    await replay(history);
    if (RECORD !== undefined && !isRecorded) await record(`${RECORD}/${name}.${index + 1}.json`, history);
  }
}

/** Who ran it, and where its code lay, is no part of what happened. */
const PRIVATE: Readonly<Record<string, string>> = { identity: 'recorder', stackTrace: '' };

async function record(name: string, history: unknown): Promise<void> {
  const file = new URL(name, HISTORIES);
  await mkdir(new URL('.', file), { recursive: true });
  const text = `${JSON.stringify(history, (key, value: unknown) => PRIVATE[key] ?? value, 1)}\n`;
  await writeFile(file, text);
  await appendFile(SUMS, `${sumOf(name, text)}\n`);
}

function sumOf(name: string, content: string | Buffer): string {
  return `${createHash('sha256').update(content).digest('hex')}  ${name}`;
}
