import { randomUUID } from 'node:crypto';
import { defaultPayloadConverter } from '@temporalio/common';
import { Worker } from '@temporalio/worker';
import { historyToJSON } from '@tillflow/temporal/sdk-internals';
import { refund } from '@tillflow/workflows';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { bundleChanged, type Change } from './support/bundle.js';
import { Releases } from './support/releases.js';
import { chargeIdOf, newReference, Stack, type CheckoutJson } from './support/stack.js';

const PATCH = 'pause-at-start';

/** A step where the handlers of all messages are set, and the loop begins. `$1` is the engine's library. */
const step = (condition: string): Change => ({
  from: /return (\w+)\.CancellationScope\.nonCancellable\(async \(\) => \{/,
  to: `$&\nif (${condition}) await $1.sleep(1);`,
});
/** The next release: it pauses at the start, and runs that began without the pause continue without it. */
const patchedStep = step(`$1.patched('${PATCH}')`);
/** The same without the patch: a release that breaks running checkouts. */
const plainStep = step('true');

let stack: Stack;
let releases: Releases;
const bundles: { remove(): Promise<void> }[] = [];
beforeEach(async () => {
  stack = await Stack.start({ worker: false });
  releases = new Releases(stack);
});
afterEach(async () => {
  await releases.stopAll();
  await stack.stop();
  for (const bundle of bundles.splice(0)) await bundle.remove();
});

async function bundleWith(change: Change): ReturnType<typeof bundleChanged> {
  const bundle = await bundleChanged(change);
  bundles.push(bundle);
  return bundle;
}

const handleOf = ({ reference }: CheckoutJson) =>
  stack.temporal.client.workflow.getHandle(`checkout/default/${reference}`);

const refundOf = (checkout: CheckoutJson, amount: number) =>
  handleOf(checkout).executeUpdate(refund, { args: [{ key: randomUUID(), amount, reason: null }] });

/** Repeats each request until there is a QR, as a till does. */
async function open(count: number): Promise<CheckoutJson[]> {
  const one = async (): Promise<CheckoutJson> => {
    const reference = newReference();
    return vi.waitFor(
      async () => {
        const { status, body } = await stack.create({ reference });
        if (status !== 200 && status !== 201) throw new Error(`${status}: ${JSON.stringify(body)}`);
        return body;
      },
      { timeout: 90_000, interval: 100 },
    );
  };
  return Promise.all(Array.from({ length: count }, one));
}

async function pay(checkouts: readonly CheckoutJson[]): Promise<void> {
  for (const checkout of checkouts) stack.sandbox.mark(chargeIdOf(checkout), { status: 'successful' });
  await Promise.all(checkouts.map(({ id }) => stack.untilStatus(id, 'paid')));
}

/** Of the checkout's present run: whether it took the new step, and what went wrong on the way. */
async function traces(checkout: CheckoutJson): Promise<{ tookNewStep: boolean; failures: number; builds: string[] }> {
  const events = (await handleOf(checkout).fetchHistory()).events ?? [];
  // Beside the new step's, perhaps those of `repeated-task.ts`.
  const patches = events.flatMap(({ markerRecordedEventAttributes: marker }) => {
    const [data] = marker?.details?.['patch-data']?.payloads ?? [];
    return data ? [defaultPayloadConverter.fromPayload<{ id: string }>(data).id] : [];
  });
  return {
    tookNewStep: patches.includes(PATCH),
    failures: events.filter(({ workflowTaskFailedEventAttributes: failed }) => failed).length,
    builds: events.flatMap(({ workflowTaskCompletedEventAttributes: task }) => task?.deploymentVersion?.buildId ?? []),
  };
}

describe('a release that adds a patched step', () => {
  it('takes over while checkouts and refunds are in progress, and none of them is lost or stops', async () => {
    const first = await releases.start('first');
    const [paidBefore, openBefore] = [await open(3), await open(3)];
    await pay(paidBefore);
    await Promise.all(paidBefore.map((checkout) => refundOf(checkout, 10_000)));

    // Traffic goes on all through the change of builds.
    const during: CheckoutJson[] = [];
    const over = new AbortController();
    const traffic = (async () => {
      do {
        const [checkout] = await open(1);
        if (checkout === undefined) throw new Error('No checkout');
        during.push(checkout);
        await pay([checkout]);
        await refundOf(checkout, 10_000);
        const before = paidBefore[during.length % paidBefore.length];
        if (before !== undefined) await refundOf(before, 100);
      } while (!over.signal.aborted);
    })();
    const release = (async () => {
      await releases.start('second', {}, { bundlePath: (await bundleWith(patchedStep)).path });
      expect(await releases.current()).toBe('second');
      await releases.stop(first);
      over.abort();
    })();
    await Promise.all([traffic, release]);

    const after = await open(2);
    await pay([...openBefore, ...after]);
    const all = [...paidBefore, ...openBefore, ...during, ...after];
    await Promise.all(all.map((checkout) => refundOf(checkout, 20_000)));

    for (const { id } of all) {
      const charges = stack.chargesOf(id);
      expect(charges).toHaveLength(1);
      const { body } = await stack.get(`/v1/checkouts/${id}`);
      expect(body).toMatchObject({ status: 'partially_refunded', attention: null });
      expect(body.refunded_amount).toBe(charges[0]?.refunded_amount);
    }
    const before = await Promise.all([...paidBefore, ...openBefore].map(traces));
    expect(before.filter(({ tookNewStep }) => tookNewStep)).toEqual([]);
    for (const { builds } of before) expect([builds[0], builds.at(-1)]).toEqual(['first', 'second']);
    const later = await Promise.all(after.map(traces));
    expect(later.every(({ tookNewStep }) => tookNewStep)).toBe(true);
    const seen = [...before, ...later, ...(await Promise.all(during.map(traces)))];
    expect(seen.reduce((sum, { failures }) => sum + failures, 0)).toBe(0);
  });

  it('without the patch, a history of the previous release fails to replay', async () => {
    await releases.start('first');
    const [checkout] = await open(1);
    if (checkout === undefined) throw new Error('No checkout');
    await pay([checkout]);
    await refundOf(checkout, 10_000);
    const history: unknown = JSON.parse(historyToJSON(await handleOf(checkout).fetchHistory()));
    const replay = async (change: Change): Promise<void> => {
      const { code } = await bundleWith(change);
      await Worker.runReplayHistory({ workflowBundle: { code } }, history, checkout.reference);
    };
    await replay(patchedStep);
    await expect(replay(plainStep)).rejects.toThrow(/TMPRL1100|[Nn]ondeterminism/);
  });
});
