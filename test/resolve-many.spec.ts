import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chargeIdOf, Stack, type CheckoutJson } from './support/stack.js';
import { operatorOf, tillflow } from './support/tillflow.js';

const MAIN = fileURLToPath(new URL('../apps/cli/dist/main.js', import.meta.url));
const STUCK = 36;
const DAY_MS = String(86_400_000);
const LOOK = [
  'resolve',
  '--query',
  'status=awaiting_payment&store=stuck',
  '--look',
  '--reason',
  'the provider is back',
];

let stack: Stack;
let stuck: readonly CheckoutJson[];
beforeAll(async () => {
  // Nothing but a lookup shows Tillflow that a customer has paid.
  stack = await Stack.start({ webhookUrl: null, api: { POLL_INTERVAL_MS: DAY_MS, RELAXED_POLL_INTERVAL_MS: DAY_MS } });
  stuck = await Promise.all(Array.from({ length: STUCK }, () => opened('stuck')));
  for (const checkout of stuck) stack.sandbox.mark(chargeIdOf(checkout), { status: 'successful' });
});
afterAll(() => stack.stop());

async function opened(store: string): Promise<CheckoutJson> {
  const { body } = await stack.create({ store: { id: store } });
  return stack.until(body.id, ({ qr }) => qr !== null);
}

async function operate(...args: readonly string[]): Promise<{ code: number | null; json: Record<string, unknown> }> {
  const { code, out } = await tillflow([...args, '--json'], operatorOf(stack));
  return { code, json: JSON.parse(out) as Record<string, unknown> };
}

async function statuses(): Promise<readonly string[]> {
  const read = stuck.map(async ({ id }) => (await stack.get(`/v1/checkouts/${id}`)).body.status);
  return Promise.all(read);
}

const countPaid = async (): Promise<number> => (await statuses()).filter((status) => status === 'paid').length;

/** How often operators asked each checkout to look. */
async function looks(): Promise<readonly number[]> {
  const timelines = await Promise.all(stuck.map(({ id }) => stack.timeline(id)));
  return timelines.map((timeline) => timeline.filter(({ what }) => what === 'resolve').length);
}

describe('tillflow resolve --query', () => {
  it('with --dry-run names the open checkouts that match, and asks none', async () => {
    await expect.poll(async () => (await operate(...LOOK, '--dry-run')).json['matching']).toBe(STUCK);
    const { code, json } = await operate(...LOOK, '--dry-run');
    expect({ code, ids: new Set(json['checkouts'] as string[]) }).toEqual({
      code: 0,
      ids: new Set(stuck.map(({ id }) => id)),
    });
    expect(await countPaid()).toBe(0);
  });

  it('that is killed on the way goes on when it runs again, and asks no checkout that no longer matches', async () => {
    // So slow that a busy machine kills it before its end.
    const first = spawn(process.execPath, [MAIN, ...LOOK, '--rate', '1'], {
      env: { PATH: process.env['PATH'], ...operatorOf(stack) },
      stdio: 'ignore',
    });
    await expect.poll(countPaid).toBeGreaterThanOrEqual(5);
    first.kill('SIGKILL');
    await once(first, 'close');
    // The lookups that the killed command has asked for still end, and the list then leaves their checkouts out.
    const unsettled = async (): Promise<number> => {
      const asked = (await looks()).filter((count) => count > 0).length;
      const { matching } = (await operate(...LOOK, '--dry-run')).json;
      return asked === (await countPaid()) ? Number(matching) - (STUCK - asked) : asked;
    };
    await expect.poll(unsettled).toBe(0);
    const paidBefore = await countPaid();
    expect(paidBefore).toBeLessThan(STUCK);
    const { code, json } = await operate(...LOOK, '--rate', '200');
    expect({ code, json }).toMatchObject({
      code: 0,
      json: { asked: STUCK - paidBefore, resolved: STUCK - paidBefore, still_matching: [], failed: [] },
    });
    expect(await countPaid()).toBe(STUCK);
    expect(new Set(await looks())).toEqual(new Set([1]));
    expect(await operate(...LOOK)).toMatchObject({ code: 0, json: { asked: 0 } });
  });

  it('exits with 1 and names the checkouts that still match after the lookup', async () => {
    const { id } = await opened('waiting');
    const look = ['resolve', '--query', 'store=waiting', '--look', '--reason', 'a check'];
    await expect.poll(async () => (await operate(...look, '--dry-run')).json['matching']).toBe(1);
    expect(await operate(...look)).toMatchObject({
      code: 1,
      json: { asked: 1, resolved: 0, still_matching: [id], failed: [] },
    });
  });

  it.each([
    [['--query', 'status=gone', '--look'], 'wrong value for status'],
    [['--query', 'status=paid&status=failed', '--look'], 'has status twice'],
    [['--query', 'charge=x', '--look'], 'not charge'],
    [['--query', '', '--look'], 'at least one filter'],
    [['--query', 'from=yesterday', '--look'], 'wrong value for from'],
    [['--query', "store=a'b", '--look'], 'wrong value for store'],
    [['--query', 'attention', '--abandon'], 'only valid with --look'],
    [['--query', 'attention', '--look', '--rate', '0'], '--rate must be'],
    [['x', '--query', 'attention', '--look'], 'takes 1 argument, or --query'],
    [['x', '--look', '--rate', '5'], '--rate is only valid with --query'],
    [['--look'], 'takes 1 argument, or --query'],
  ])('with the arguments %j is a usage error', async (args, message) => {
    const { code, err } = await tillflow(['resolve', ...args, '--reason', 'why'], operatorOf(stack));
    expect(code).toBe(2);
    expect(err).toContain(message);
  });
});
