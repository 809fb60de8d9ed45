import { describe, expect, it } from 'vitest';
import { lost, World } from '../../testing/scripted-provider.js';
import { DAY, HOUR, MINUTE, SECOND } from '../../testing/simulated-provider.js';

const total = (world: World): number => world.refunds.reduce((sum, { amount }) => sum + amount, 0);
const ask = (world: World, key: string, amount: number | null): void =>
  world.model.requestRefund(world.now, { key, amount, reason: null });

describe('refunds and keys', () => {
  it('a refund whose 200 reply does not echo the metadata is made once', async () => {
    const world = await World.paid();
    world.onRefund = Array.from({ length: 50 }, () => (effect) => {
      const outcome = effect();
      return outcome.kind === 'done' ? { kind: 'done', value: { ...outcome.value, key: null } } : outcome;
    });
    ask(world, 'a', 10_000);
    await world.pass(HOUR);
    expect(total(world)).toBe(10_000);
    expect(world.model.refund('a')?.status).toBe('succeeded');
  });

  it('a provider that keeps no metadata on refunds at all: one refund is made once', async () => {
    const world = await World.paid();
    world.onRefund = Array.from({ length: 50 }, () => (effect) => {
      const outcome = effect();
      for (const one of world.refunds) one.key = null;
      return outcome.kind === 'done' ? { kind: 'done', value: { ...outcome.value, key: null } } : outcome;
    });
    ask(world, 'a', 10_000);
    await world.pass(HOUR);
    expect(total(world)).toBe(10_000);
  });

  it('a lost refund that is listed without its key is attention, never a repeat', async () => {
    const world = await World.paid();
    world.onRefund = [
      (effect) => {
        effect();
        for (const one of world.refunds) one.key = null;
        return lost;
      },
    ];
    ask(world, 'a', 10_000);
    await world.pass(HOUR);
    expect(total(world)).toBe(10_000);
  });

  it('an operator can adopt a lost refund that is listed without its key', async () => {
    const world = await World.paid();
    world.onRefund = [
      (effect) => {
        effect();
        for (const one of world.refunds) one.key = null;
        return lost;
      },
    ];
    ask(world, 'a', 10_000);
    await world.pass(5 * SECOND);
    const id = world.refunds[0]?.id ?? '';
    world.model.resolve(world.now, { action: 'adopt', id, reason: 'seen on the dashboard' });
    await world.pass(HOUR);
    expect(world.model.refund('a')).toMatchObject({ status: 'succeeded', id });
    expect(total(world)).toBe(10_000);
  });

  it('one that was adopted while none was looked for does not stand for a later refund of the same amount', async () => {
    const world = await World.paid();
    const [charge] = world.charges;
    if (charge === undefined) throw new Error();
    world.makeRefund(charge, 10_000, false, null);
    const id = world.refunds[0]?.id ?? '';
    world.model.resolve(world.now, { action: 'adopt', id, reason: 'made on the dashboard' });
    await world.pass(HOUR);
    expect(world.model.refunds).toMatchObject([{ id, status: 'succeeded' }]);
    ask(world, 'a', 10_000);
    await world.pass(HOUR);
    expect(total(world)).toBe(20_000);
    expect(world.model.refund('a')).toMatchObject({ status: 'succeeded', id: world.refunds[1]?.id });
    expect(world.state.refunded_amount).toBe(20_000);
  });

  it('one that was adopted for a refund that then was found by its key stands for no other', async () => {
    const world = await World.paid();
    const [charge] = world.charges;
    if (charge === undefined) throw new Error();
    world.onRefund = [
      (effect) => {
        effect();
        return lost;
      },
    ];
    ask(world, 'a', 10_000);
    await world.pass(500);
    world.model.resolve(world.now, { action: 'adopt', id: 'rfnd_test_99', reason: 'a slip of the pen' });
    await world.pass(HOUR);
    expect(world.model.refund('a')?.status).toBe('succeeded');
    expect(world.model.state.refunding.adopting).toBeNull();
  });

  it('one look that shows the refund without its key (once) does not double it', async () => {
    const world = await World.paid();
    world.onRefund = [
      (effect) => {
        effect();
        return lost;
      },
    ];
    let lies = 1;
    world.bend = (facts) =>
      facts.refunds.length > 0 && lies-- > 0
        ? { ...facts, refunds: facts.refunds.map((one) => ({ ...one, key: null })) }
        : facts;
    ask(world, 'a', 10_000);
    await world.pass(HOUR);
    expect(total(world)).toBe(10_000);
  });
});

describe('a provider that never does what it is asked, and shows it', () => {
  const never = Array.from({ length: 500 }, () => () => lost);

  it('a refund is asked for ever less often, a person is told all the while, and it is made once in the end', async () => {
    const world = await World.paid();
    world.onRefund = [...never];
    ask(world, 'a', 10_000);
    await world.pass(2 * MINUTE);
    const told = world.model.timeline.filter(({ what }) => what === 'attention').length;
    for (let count = 0; count < 60; count += 1) {
      await world.pass(MINUTE);
      expect(world.state.attention?.code).toBe('outcome_unknown');
    }
    expect(world.model.timeline.filter(({ what }) => what === 'attention')).toHaveLength(told);
    await world.pass(DAY);
    expect(world.count('createRefund')).toBeLessThan(40);
    world.onRefund = [];
    await world.pass(2 * HOUR);
    expect(world.state).toMatchObject({ refunded_amount: 10_000, attention: null });
    expect(total(world)).toBe(10_000);
  });

  it('a charge is asked for ever less often, and a person is told', async () => {
    const world = new World();
    world.onCharge = [...never];
    await world.pass(2 * MINUTE);
    expect(world.state).toMatchObject({ status: 'creating', attention: { code: 'outcome_unknown' } });
    await world.pass(11 * MINUTE);
    expect(world.count('createCharge')).toBeLessThan(6);
    await world.pass(HOUR);
    expect(world.state).toMatchObject({ status: 'expired', attention: null });
  });

  it('a refund that it takes no request for, which is no doubt, is shown to a person too', async () => {
    const world = await World.paid();
    world.onRefund = never.map(() => () => ({ kind: 'rejected', code: 'http_429', message: 'no', retryable: true }));
    ask(world, 'a', 10_000);
    await world.pass(HOUR);
    expect(world.model.refund('a')?.status).toBe('pending');
    expect(world.state.attention?.code).toBe('provider_unreachable');
    world.onRefund = [];
    await world.pass(HOUR);
    expect(world.state).toMatchObject({ refunded_amount: 10_000, attention: null });
  });
});

describe('a look that is not believed', () => {
  it('does not make a paid checkout refunded', async () => {
    const world = await World.paid();
    world.bend = (facts) => ({ ...facts, checkoutId: 'chk_default_other', refundedAmount: 150_000 });
    world.hint('chrg_test_2');
    await world.pass(10 * SECOND);
    world.bend = (facts) => facts;
    world.model.resolve(world.now, { action: 'look', reason: 'heal' });
    await world.pass(HOUR);
    expect(world.state).toMatchObject({ status: 'paid', refunded_amount: 0 });
  });

  it('does not prove that a refund is absent', async () => {
    const world = await World.paid();
    world.onRefund = [
      (effect) => {
        effect();
        return lost;
      },
    ];
    ask(world, 'a', 10_000);
    world.bend = (facts) =>
      world.refunds.length === 0 ? facts : { ...facts, isOtherMode: true, refunds: [], refundedAmount: 0 };
    await world.pass(3 * MINUTE);
    world.bend = (facts) => facts;
    await world.pass(HOUR);
    expect(total(world)).toBe(10_000);
  });

  it('of a second payment does not keep the money from going back', async () => {
    const world = await World.ready();
    world.model.requestAttempt(world.now, { after: 1 });
    world.onExpire = () => ({ kind: 'rejected', code: 'failed_expire', message: 'no', retryable: false });
    await world.pass(SECOND);
    const [a] = world.charges;
    if (a) a.status = 'expired';
    world.onExpire = null;
    await world.pass(MINUTE);
    expect(world.charges).toHaveLength(2);
    world.pay(world.charges[1]);
    await world.pass(MINUTE);
    const second = world.charges[0];
    // The first look at the double payment is well, the next one is garbage.
    let looks = 0;
    world.bend = (facts) =>
      facts.chargeId === second?.id && ++looks === 2 ? { ...facts, amount: 1, refundedAmount: 150_000 } : facts;
    world.pay(second);
    await world.pass(DAY);
    expect(second?.refunds.reduce((sum, one) => sum + one.amount, 0)).toBe(150_000);
  });

  it('a charge that is found but not believed is no proof that there is none: no second create', async () => {
    const world = new World();
    world.onCharge = [
      (effect) => {
        effect();
        return lost;
      },
    ];
    world.bendFound = (facts) => ({ ...facts, amount: 1 });
    await world.pass(5 * MINUTE);
    expect(world.count('createCharge')).toBe(1);
  });

  it('reversed: money is not given back a second time by ourselves', async () => {
    const world = await World.ready();
    world.model.requestCancel(world.now);
    await world.pass(MINUTE);
    expect(world.state.status).toBe('cancelled');
    const [charge] = world.charges;
    let looks = 0;
    world.bend = (facts) => (++looks > 1 ? { ...facts, status: 'reversed', canVoid: false } : facts);
    world.pay(charge);
    await world.pass(DAY);
    expect(total(world)).toBe(0);
  });
});

describe('refunded_amount above the listed', () => {
  it('seen once is never followed by a repeat, also when a later look shows less', async () => {
    const world = await World.paid();
    world.onRefund = [
      (effect) => {
        effect();
        return lost;
      },
    ];
    let looks = 0;
    world.bend = (facts) => {
      if (world.refunds.length !== 1) return facts;
      looks += 1;
      // Replicas: behind, ahead (the sum is there, the list not), behind, behind.
      return looks === 2 ? { ...facts, refunds: [] } : { ...facts, refunds: [], refundedAmount: 0 };
    };
    ask(world, 'a', 10_000);
    await world.pass(HOUR);
    expect(total(world)).toBe(10_000);
  });
});

describe('a list that lags', () => {
  it('does not prove by one look that nothing was made, however late the look', async () => {
    const world = new World();
    world.onCharge.push((effect) => {
      effect();
      world.down = true;
      return lost;
    });
    await world.pass(5 * MINUTE + 10 * SECOND);
    const { findCharges } = world.calls;
    let looks = 0;
    world.calls.findCharges = async (call) => {
      looks += 1;
      return looks === 1 ? { seen: [] } : findCharges(call);
    };
    world.down = false;
    // One look at its usual pause, five minutes, and one that confirms it.
    await world.pass(30 * SECOND);
    expect(looks).toBe(2);
    expect(world.charges).toHaveLength(1);
    expect(world.state.qr).not.toBeNull();
  });
});

describe('attention', () => {
  it('a forged hint does not leave a paid checkout with provider_unreachable for a year', async () => {
    const world = await World.paid();
    world.hint('chrg_test_forged', 'charge.complete');
    await world.pass(30 * DAY);
    expect(world.state.attention).toBeNull();
  });

  it('of a refund whose reply was over another amount ends when it shows as it was asked for', async () => {
    const world = await World.paid();
    world.onRefund = [
      (effect) => {
        const outcome = effect();
        return outcome.kind === 'done' ? { kind: 'done', value: { ...outcome.value, amount: 1 } } : outcome;
      },
    ];
    ask(world, 'a', 10_000);
    await world.pass(500);
    expect(world.state.attention?.code).toBe('integrity_mismatch');
    await world.pass(HOUR);
    expect(world.model.refund('a')?.status).toBe('succeeded');
    expect(world.state.attention).toBeNull();
    expect(total(world)).toBe(10_000);
  });

  it('that a return was refused is not settled by another return that went well', async () => {
    const world = await World.ready();
    await world.pass(16 * MINUTE);
    world.model.requestAttempt(world.now, { after: 1 });
    await world.pass(30 * MINUTE);
    expect(world.state.status).toBe('expired');
    world.pay(world.charges[0]);
    await world.pass(MINUTE);
    expect(world.state.status).toBe('refunded');
    world.onRefund = Array.from({ length: 9 }, () => () => ({
      kind: 'rejected',
      code: 'failed_refund',
      message: 'no',
      retryable: false,
    }));
    world.pay(world.charges[1]);
    await world.pass(HOUR);
    expect(world.charges[1]?.refunds).toEqual([]);
    expect(world.state.attention?.code).toBe('return_refused');
  });

  it('that a second return was refused is shown although a third payment went back well', async () => {
    const world = await World.ready();
    await world.pass(16 * MINUTE);
    for (const after of [1, 2]) {
      world.model.requestAttempt(world.now, { after });
      await world.pass(16 * MINUTE);
    }
    world.model.requestAttempt(world.now, { after: 3 });
    await world.pass(MINUTE);
    world.pay(world.charges[3]);
    await world.pass(MINUTE);
    world.pay(world.charges[0]);
    await world.pass(MINUTE);
    expect(world.charges[0]?.refunds).toHaveLength(1);
    world.onRefund = Array.from({ length: 9 }, () => () => ({
      kind: 'rejected',
      code: 'failed_refund',
      message: 'no',
      retryable: false,
    }));
    world.pay(world.charges[1]);
    await world.pass(HOUR);
    expect(world.charges[1]?.refunds).toEqual([]);
    expect(world.state.attention?.code).toBe('return_refused');
  });

  it('of a reversed charge is not settled by a look at another charge', async () => {
    const world = await World.ready();
    await world.pass(16 * MINUTE);
    world.model.requestAttempt(world.now, { after: 1 });
    await world.pass(MINUTE);
    const [first, second] = world.charges;
    world.pay(second);
    await world.pass(MINUTE);
    if (second) second.status = 'reversed';
    world.hint(second?.id ?? null);
    await world.pass(MINUTE);
    expect(world.state.attention?.code).toBe('unknown_status');
    world.hint(first?.id ?? null);
    await world.pass(MINUTE);
    expect(world.state.attention?.code).toBe('unknown_status');
  });

  it('abandoning after a refused late return does not show held money as expired', async () => {
    const world = await World.ready();
    await world.pass(16 * MINUTE);
    world.onRefund = Array.from({ length: 9 }, () => () => ({
      kind: 'rejected',
      code: 'failed_refund',
      message: 'no',
      retryable: false,
    }));
    world.pay(world.charges[0]);
    await world.pass(HOUR);
    expect(world.state).toMatchObject({ status: 'paid', attention: { code: 'return_refused' } });
    world.model.resolve(world.now, { action: 'abandon', reason: 'acceptedCharge, agreed with the customer' });
    await world.pass(HOUR);
    expect(world.state.status).toBe('paid');
  });
});

describe('looks', () => {
  it('after an outage of two hours a payment is noticed within minutes, not a day later', async () => {
    const world = await World.ready();
    await world.pass(14 * MINUTE);
    world.down = true;
    world.pay(world.charges[0], false);
    await world.pass(2 * HOUR);
    world.down = false;
    const up = world.now;
    while (!world.model.isPaid && world.now - up < 2 * DAY) await world.pass(MINUTE);
    expect(world.now - up).toBeLessThan(10 * MINUTE);
  });

  it('a hint that comes while a look is under way is not lost to what that look shows', async () => {
    const world = await World.ready();
    const [charge] = world.charges;
    if (charge === undefined) throw new Error();
    charge.status = 'expired';
    // The provider answers with the expiry, and the customer's late payment comes before that answer is here.
    world.bend = (facts) => {
      if (charge.status === 'expired') {
        world.takePayment(charge);
        world.hint(charge.id, 'charge.complete');
      }
      return facts;
    };
    world.hint(charge.id, 'charge.expire');
    await world.pass(MINUTE);
    expect(world.model.isPaid).toBe(true);
    expect(world.state).toMatchObject({ status: 'refunded', refunded_amount: 150_000 });
  });

  it('a named charge that there is not is forgotten, in whatever words the provider says so', async () => {
    for (const answer of [
      { unseen: 'a page', code: 'http_404', status: 404 },
      { unseen: 'no id', code: 'invalid_id', status: null },
    ]) {
      const world = await World.paid();
      const { retrieveCharge } = world.calls;
      world.calls.retrieveCharge = async (id) => (id === 'chrg_odd' ? answer : retrieveCharge(id));
      world.hint('chrg_odd');
      await world.pass(DAY);
      expect(world.count('retrieveCharge')).toBeLessThan(20);
      expect(world.state.attention).toBeNull();
    }
  });

  it('a look that is answered with another charge is for a person to see, and is no silence', async () => {
    const other = { unseen: 'the reply chrg_other differs in id', code: 'integrity_mismatch', status: 200 };
    const world = await World.ready();
    const [charge] = world.charges;
    const { retrieveCharge } = world.calls;
    world.calls.retrieveCharge = async () => other;
    world.pay(charge);
    await world.pass(HOUR);
    expect(world.state).toMatchObject({
      status: 'awaiting_payment',
      attention: { code: 'integrity_mismatch', detail: expect.stringContaining('chrg_other') },
    });
    expect(world.model.view(world.now).provider_silent_since).toBeNull();
    world.calls.retrieveCharge = retrieveCharge;
    await world.pass(HOUR);
    expect(world.state).toMatchObject({ status: 'paid', attention: null });
  });

  it('a named charge that the provider shows as another one is forgotten, and is nothing for a person', async () => {
    const world = await World.paid();
    const { retrieveCharge } = world.calls;
    world.calls.retrieveCharge = async (id) =>
      id === 'chrg_odd' ? { unseen: 'another', code: 'integrity_mismatch', status: 200 } : retrieveCharge(id);
    world.hint('chrg_odd');
    await world.pass(DAY);
    expect(world.count('retrieveCharge')).toBeLessThan(20);
    expect(world.state.attention).toBeNull();
  });

  it('hints cost no more than a few looks each, and the state does not grow', async () => {
    const world = await World.ready();
    world.model.requestCancel(world.now);
    await world.pass(MINUTE);
    for (let index = 0; index < 300; index += 1) {
      world.hint(null, 'charge.expire');
      await world.pass(1_100);
    }
    const pendingRechecks = world.model.state.charges.all[0]?.pendingRechecks.length ?? 0;
    const stopped = world.now;
    await world.pass(DAY);
    const afterwards = world.count('retrieveCharge', stopped);
    expect(pendingRechecks).toBeLessThan(5);
    expect(afterwards).toBeLessThan(5);
  });

  it('the second look after a repeated refund is not lost to the webhook of that refund', async () => {
    const world = await World.paid();
    const [charge] = world.charges;
    // The worker freezes before its request; it leaves four minutes later.
    world.onRefund = [
      () => {
        world.after(4 * MINUTE, () => {
          if (charge) world.makeRefund(charge, 10_000, false, 'a');
        });
        return lost;
      },
      (effect) => {
        world.after(500, () => world.hint(charge?.id ?? null, 'refund.create'));
        return effect();
      },
    ];
    ask(world, 'a', 10_000);
    await world.pass(DAY);
    expect(total(world)).toBe(20_000);
    expect(world.state).toMatchObject({ refunded_amount: 20_000, attention: { code: 'refund_doubled' } });
  });

  it('a refund made twice is told although its second was first shown without its key', async () => {
    const world = await World.paid();
    const [charge] = world.charges;
    if (charge === undefined) throw new Error();
    world.onRefund = [
      () => {
        world.after(4 * MINUTE, () => world.makeRefund(charge, 10_000, false, 'a'));
        return lost;
      },
    ];
    ask(world, 'a', 10_000);
    await world.pass(MINUTE);
    world.bend = (facts) => ({ ...facts, refunds: facts.refunds.map((one) => ({ ...one, key: null })) });
    await world.pass(HOUR);
    expect(total(world)).toBe(20_000);
    world.bend = (facts) => facts;
    world.hint(charge.id);
    await world.pass(MINUTE);
    expect(world.state).toMatchObject({ refunded_amount: 20_000, attention: { code: 'refund_doubled' } });
    world.model.resolve(world.now, { action: 'abandon', reason: 'settled with the customer' });
    world.hint(charge.id);
    await world.pass(MINUTE);
    expect(world.state.attention).toBeNull();
  });

  it('a look at closing that the provider answers with 404 for ever does not keep the workflow open for ever', async () => {
    const world = await World.paid();
    await world.pass(364 * DAY);
    world.charges.length = 0;
    await world.pass(2 * DAY);
    expect(await world.pass(365 * DAY)).toBe('close');
  });

  it('an adopted charge is looked at although forged hints fill the list', async () => {
    const world = await World.ready();
    const [mine] = world.charges;
    if (mine === undefined) throw new Error();
    const other = { ...mine, id: 'chrg_test_late', refunds: [] };
    world.charges.push(other);
    for (let index = 0; index < 5; index += 1) world.hint(`chrg_test_forged${index}`);
    world.model.resolve(world.now, { action: 'adopt', id: other.id, reason: 'on the dashboard' });
    await world.pass(20 * MINUTE);
    expect(world.model.chargeIds).toContain(other.id);
  });
});

describe('requests', () => {
  it('an amount that is no whole positive number is refused', async () => {
    const world = await World.paid();
    for (const amount of [0, -5, 0.5]) {
      expect(world.model.refuseRefund(world.now, { key: `k${amount}`, amount, reason: null })).not.toBeNull();
    }
  });

  it('a key in our own name space does not make the loop spin', async () => {
    const world = await World.ready();
    await world.pass(16 * MINUTE);
    world.model.requestAttempt(world.now, { after: 1 });
    await world.pass(MINUTE);
    const [first, second] = world.charges;
    world.pay(second);
    await world.pass(MINUTE);
    ask(world, `auto:${first?.id ?? ''}`, 1_000);
    await world.pass(MINUTE);
    world.pay(first);
    await world.pass(MINUTE);
    expect(world.count('retrieveCharge')).toBeLessThan(50);
    expect(first?.refunds).toHaveLength(1);
  });

  it('an abandoned return that may be under way is not sent again at once', async () => {
    const world = await World.ready();
    await world.pass(16 * MINUTE);
    world.onRefund = [() => lost];
    world.pay(world.charges[0]);
    await world.pass(3 * SECOND);
    expect(world.model.state.refunding.inProgress?.stage).toBe('unknown');
    world.model.resolve(world.now, { action: 'abandon', reason: 'x' });
    await world.pass(SECOND);
    world.model.resolve(world.now, { action: 'look', reason: 'x' });
    const sent = world.count('createRefund');
    await world.pass(5 * SECOND);
    expect(world.count('createRefund')).toBe(sent);
  });

  it('abandon of one unresolved thing does not reject a refund that is not even in doubt', async () => {
    const world = await World.paid();
    world.down = true;
    ask(world, 'a', 10_000);
    await world.pass(2 * MINUTE);
    // Nothing was sent: the refund waits for its first look. The operator means the attention.
    world.model.resolve(world.now, { action: 'abandon', reason: 'the outage is known' });
    world.down = false;
    await world.pass(DAY);
    expect(world.model.refund('a')?.status).toBe('succeeded');
  });

  it('pending refunds do not block: attention and status while the provider is down for days', async () => {
    const world = await World.paid();
    world.down = true;
    ask(world, 'a', 10_000);
    await world.pass(3 * DAY);
    expect(world.state.attention).not.toBeNull();
    world.down = false;
    const up = world.now;
    while (world.model.refund('a')?.status === 'pending' && world.now - up < 2 * DAY) await world.pass(MINUTE);
    expect(world.now - up).toBeLessThan(10 * MINUTE);
  });
});

describe('stuck', () => {
  it('a webhook that outruns the reply to the create does not spin when the provider then fails', async () => {
    const world = new World();
    world.during = (what) => {
      if (what === 'createCharge') world.hint('chrg_test_3', 'charge.update');
      if (what === 'retrieveCharge') world.down = true;
    };
    await world.pass(MINUTE);
    expect(world.count('retrieveCharge')).toBeLessThan(20);
  });

  it('a charge that the provider shows as reversed is asked for ever less often, until a person gives it up', async () => {
    const world = await World.ready();
    const [charge] = world.charges;
    if (charge) charge.status = 'reversed';
    expect(await world.pass(10 * DAY)).toBe('wait');
    expect(world.count('expireCharge')).toBeLessThan(300);
    expect(world.state.attention).toMatchObject({ code: 'unknown_status' });
    world.model.resolve(world.now, { action: 'abandon', reason: 'settled with the provider' });
    expect(await world.pass(3 * DAY)).toBe('close');
  });

  it('a late charge of an abandoned attempt is expired, not left payable', async () => {
    const world = new World();
    world.onCharge = [
      (effect) => {
        world.after(4 * MINUTE, () => void effect());
        return lost;
      },
    ];
    await world.pass(2 * SECOND);
    world.model.resolve(world.now, { action: 'abandon', reason: 'x' });
    await world.pass(SECOND);
    expect(world.state.status).toBe('expired');
    await world.pass(8 * MINUTE);
    expect(world.charges.map(({ status }) => status)).toEqual(['expired']);
  });

  it('one that was refused and turns up later is expired, not left payable', async () => {
    const world = new World();
    world.onCharge = [
      () => lost,
      (effect) => {
        world.after(2 * MINUTE, () => void effect());
        return { kind: 'rejected', code: 'invalid_charge', message: 'no', retryable: false };
      },
    ];
    await world.pass(90 * SECOND);
    expect(world.state.status).toBe('failed');
    await world.pass(8 * MINUTE);
    expect(world.charges.map(({ status }) => status)).toEqual(['expired']);
  });
});
