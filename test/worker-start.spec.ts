import { randomUUID } from 'node:crypto';
import { describe, expect, inject, it } from 'vitest';
import { run } from '@tillflow/cli';
import { CutLine, freePorts } from '@tillflow/tools';
import { WorkerProcess } from './support/worker-process.js';

const NOBODY = '127.0.0.1:1';
type Started = { readonly worker: WorkerProcess; readonly health: (path: string) => Promise<number> };

/** A worker process, and what it answers where its health is served. */
async function withWorker(
  environment: Readonly<Record<string, string>>,
  work: (started: Started) => Promise<void>,
): Promise<void> {
  const [port = 0] = await freePorts(1);
  const worker = WorkerProcess.run({
    TEMPORAL_TASK_QUEUE: `start-${randomUUID()}`,
    PROVIDER_BASE_URL: `http://${NOBODY}`,
    PROVIDER_SECRET_KEY: 'skey_test_start',
    WORKER_HEALTH_PORT: String(port),
    ...environment,
  });
  try {
    await work({ worker, health: async (path) => (await fetch(`http://127.0.0.1:${port}${path}`)).status });
  } finally {
    await worker.stop();
  }
}

/** Of the line that says why Temporal cannot be used. */
function warningIn(line: string): { readonly msg: string; readonly level: number; readonly pause_ms: number } {
  return JSON.parse(line) as { msg: string; level: number; pause_ms: number };
}

describe.concurrent('a worker that cannot reach Temporal when it starts', () => {
  it('logs the cause and the setting to check, is live and not ready, and exits with 0 on SIGTERM', () =>
    withWorker({ TEMPORAL_ADDRESS: NOBODY }, async ({ worker, health }) => {
      const { msg, level, pause_ms: pause } = warningIn(await worker.line('Cannot reach Temporal'));
      expect(level).toBe(40);
      for (const words of [NOBODY, 'ECONNREFUSED', 'TEMPORAL_ADDRESS']) expect(msg).toContain(words);
      expect(pause).toBeGreaterThanOrEqual(500);
      expect(await health('/health/live')).toBe(200);
      expect(await health('/health/ready')).toBe(503);
      expect(await health('/metrics')).toBe(200);
      worker.signal('SIGTERM');
      expect(await worker.exited).toBe(0);
    }));

  it('takes work once Temporal can be reached', async () => {
    const line = await CutLine.to(inject('temporalAddress'));
    line.cut();
    try {
      await withWorker({ TEMPORAL_ADDRESS: line.address }, async ({ worker, health }) => {
        await worker.line('Cannot reach Temporal');
        expect(await health('/health/ready')).toBe(503);
        line.mend();
        await worker.line('worker ready');
        expect(await health('/health/ready')).toBe(200);
      });
    } finally {
      line.close();
    }
  });

  it('also tries again when only its namespace is missing, because it may be created later', () =>
    withWorker({ TEMPORAL_ADDRESS: inject('temporalAddress'), TEMPORAL_NAMESPACE: 'nowhere' }, async ({ worker }) => {
      const { msg } = warningIn(await worker.line('no such namespace'));
      expect(msg).toContain('nowhere');
      expect(msg).toContain('TEMPORAL_NAMESPACE');
      worker.signal('SIGTERM');
      expect(await worker.exited).toBe(0);
    }));

  it('stops at once with wrong settings', () =>
    withWorker({ TEMPORAL_ADDRESS: NOBODY, TEMPORAL_TLS_CERT_PATH: '/nowhere/cert.pem' }, async ({ worker }) => {
      expect(await worker.exited).toBe(2);
      expect(worker.lines.join('\n')).toContain('TEMPORAL_TLS_CERT_PATH and TEMPORAL_TLS_KEY_PATH go together');
    }));
});

describe.concurrent('the health port of a worker', () => {
  it.each([
    ['127.0.0.1', {}],
    ['0.0.0.0', { WORKER_HOST: '0.0.0.0' }],
  ])('listens on %s with the setting %o, and the log shows the address', (host, setting) =>
    withWorker({ TEMPORAL_ADDRESS: NOBODY, LOG_LEVEL: 'info', ...setting }, async ({ worker }) => {
      expect(await worker.line('health and metrics are served')).toContain(`"url":"http://${host}:`);
    }),
  );
});

describe('tillflow setup', () => {
  it('tries again while Temporal cannot be reached, prints each try, and continues when Temporal answers', async () => {
    const line = await CutLine.to(inject('temporalAddress'));
    line.cut();
    const warnings: string[] = [];
    const warn = (text: string): void => {
      warnings.push(text);
      line.mend();
    };
    try {
      const { exit } = await run(['setup', '--dry-run'], { TEMPORAL_ADDRESS: line.address }, undefined, warn);
      expect(exit).toBe(0);
      expect(warnings).toEqual([
        expect.stringMatching(/^Cannot reach Temporal at .*TEMPORAL_ADDRESS.* Trying again in/),
      ]);
    } finally {
      line.close();
    }
  });

  it.each(['-1', '1.5', 'long', '3601'])('refuses --wait=%s', async (wait) => {
    const { exit, err } = await run(['setup', `--wait=${wait}`], { TEMPORAL_ADDRESS: NOBODY });
    expect(exit).toBe(2);
    expect(err).toContain('--wait is a whole number of seconds');
  });
});
