import { randomUUID } from 'node:crypto';
import { freePorts } from '@tillflow/tools';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { bundleChanged } from './support/bundle.js';
import { buildsOf, Releases } from './support/releases.js';
import { chargeIdOf, Stack, type CheckoutJson } from './support/stack.js';
import { WorkerProcess } from './support/worker-process.js';

let stack: Stack;
let releases: Releases;
beforeEach(async () => {
  stack = await Stack.start({ worker: false });
  releases = new Releases(stack);
});
afterEach(async () => {
  await releases.stopAll();
  await stack.stop();
});

/** Pays the checkout. Returns the builds that took its steps, in their order. */
async function pay(checkout: CheckoutJson): Promise<(string | undefined)[]> {
  stack.sandbox.mark(chargeIdOf(checkout), { status: 'successful' });
  await stack.untilStatus(checkout.id, 'paid');
  return buildsOf(stack, checkout.reference);
}

describe('a worker with a build id', () => {
  it('takes over when it starts, and open checkouts continue on it', async () => {
    const a = await releases.start('a');
    expect(await releases.current()).toBe('a');
    const { body } = await stack.create();

    await releases.start('b');
    expect(await releases.current()).toBe('b');
    await releases.stop(a);
    const builds = await pay(body);
    expect(builds[0]).toBe('a');
    expect(builds.at(-1)).toBe('b');
  });

  it('is not ready before its build is current, so that a roll does not stop the old one too early', async () => {
    await releases.start('a');
    const [port = 0] = await freePorts(1);
    const versioned = {
      WORKER_BUILD_ID: 'b',
      WORKER_DEPLOYMENT: releases.deployment,
      WORKER_HEALTH_PORT: String(port),
    };
    const next = WorkerProcess.run({ ...stack.workerEnvironment(), ...versioned });
    try {
      const isReady = () =>
        fetch(`http://127.0.0.1:${port}/health/ready`).then(
          ({ ok }) => ok,
          () => false,
        );
      await vi.waitUntil(isReady, { timeout: 90_000, interval: 5 });
      expect(await releases.current()).toBe('b');
    } finally {
      await next.stop();
    }
  });

  it('takes over no checkout when it restarts after its build was replaced', async () => {
    await releases.stop(await releases.start('a'));
    await releases.start('b');
    await releases.start('a');
    expect(await releases.current()).toBe('b');
    const { body } = await stack.create();
    expect(new Set(await pay(body))).toEqual(new Set(['b']));
  });

  it('leaves the current build unchanged where WORKER_MAKE_CURRENT is false', async () => {
    await releases.start('a');
    await releases.start('b', { WORKER_MAKE_CURRENT: 'false' });
    expect(await releases.current()).toBe('a');
    const { body } = await stack.create();
    expect(new Set(await pay(body))).toEqual(new Set(['a']));
  });

  it('continues checkouts that an unversioned worker began', async () => {
    await stack.startWorker();
    const { body } = await stack.create();
    await releases.start('a');
    await stack.stopWorker();
    const builds = await pay(body);
    expect(builds[0]).toBeUndefined();
    expect(builds.at(-1)).toBe('a');
  });

  it('can run the bundle of another release, given as bundlePath', async () => {
    const another = await bundleChanged({
      from: 'const { resume, policy = {} } = input;',
      to: "return 'another release';",
    });
    try {
      await releases.start('b', {}, { bundlePath: another.path });
    } finally {
      await another.remove();
    }
    const { workflow } = stack.temporal.client;
    expect(
      await workflow.execute('checkout', { workflowId: randomUUID(), taskQueue: stack.taskQueue, args: [{}] }),
    ).toBe('another release');
  });
});
