import { describe, expect, it } from 'vitest';
import { World } from '../../testing/scripted-provider.js';
import { HOUR, MINUTE } from '../../testing/simulated-provider.js';

const late = { kind: 'rejected', code: 'send_by_passed', message: 'Nothing was sent.', retryable: true } as const;
const busy = { kind: 'rejected', code: 'http_429', message: 'no', retryable: true } as const;
const often = Array.from({ length: 500 });

describe('a worker that comes too late to every call', () => {
  it('is what attention tells of, not the provider, which was never asked', async () => {
    const world = new World();
    world.onCharge = often.map(() => () => late);
    await world.pass(5 * MINUTE);
    expect(world.state).toMatchObject({ status: 'creating', attention: { code: 'worker_late' } });
    expect(world.state.attention?.detail).toContain('its clock or its load');
    expect(world.state.attention?.detail).not.toContain('provider');
    expect(world.charges).toEqual([]);
  });

  it('is not told of any more once it is in time, and the checkout goes on', async () => {
    const world = new World({ sendWithinMs: 5_000 });
    world.onCharge = often.map(() => () => late);
    await world.pass(2 * MINUTE);
    expect(world.state.attention?.code).toBe('worker_late');
    world.onCharge = [];
    await world.pass(10 * MINUTE);
    expect(world.state).toMatchObject({ status: 'awaiting_payment', attention: null });
    expect(world.charges).toHaveLength(1);
  });

  it('and then meets a provider that refuses for now: that is told of instead, and the reverse', async () => {
    const world = await World.paid();
    world.onRefund = often.map(() => () => late);
    world.model.requestRefund(world.now, { key: 'a', amount: 10_000, reason: null });
    await world.pass(HOUR);
    expect(world.state.attention?.code).toBe('worker_late');
    expect(world.model.refund('a')?.status).toBe('pending');
    world.onRefund = often.map(() => () => busy);
    await world.pass(HOUR);
    expect(world.state.attention?.code).toBe('provider_unreachable');
    world.onRefund = [];
    await world.pass(HOUR);
    expect(world.state).toMatchObject({ refunded_amount: 10_000, attention: null });
  });

  it('stays known as late across a continue-as-new', async () => {
    const world = new World();
    world.onCharge = often.map(() => () => late);
    await world.pass(2 * MINUTE);
    world.restart();
    await world.pass(MINUTE);
    expect(world.state.attention?.code).toBe('worker_late');
  });
});
