import { describe, expect, it } from 'vitest';
import type { RefundFacts } from '../activities.js';
import { always, Scenario, unknownOutcome, type ScriptedAnswer } from '../../testing/runner.js';
import { DAY, HOUR, MINUTE, SECOND, sumOf } from '../../testing/simulated-provider.js';

const refunded = ({ refunds }: Scenario): number => sumOf(refunds);

/** The provider makes the refund without its key, and its answer is lost. */
const lostWithoutKey =
  (scenario: Scenario): ScriptedAnswer<RefundFacts> =>
  (effect) => {
    effect();
    for (const one of scenario.refunds) one.key = null;
    return unknownOutcome;
  };

describe('the key of a refund', () => {
  it('a refund is made once when the reply to it omits its metadata', async () => {
    const scenario = await Scenario.paid();
    scenario.onCreateRefund = always('no key in the reply');
    scenario.requestRefund('a', 10_000);
    await scenario.pass(HOUR);
    expect(refunded(scenario)).toBe(10_000);
    expect(scenario.model.refund('a')?.status).toBe('succeeded');
  });

  it('a refund is made once when the provider keeps no metadata on refunds', async () => {
    const scenario = await Scenario.paid();
    scenario.onCreateRefund = Array.from({ length: 50 }, () => (effect) => {
      const outcome = effect();
      for (const one of scenario.refunds) one.key = null;
      return outcome.kind === 'done' ? { kind: 'done', value: { ...outcome.value, key: null } } : outcome;
    });
    scenario.requestRefund('a', 10_000);
    await scenario.pass(HOUR);
    expect(refunded(scenario)).toBe(10_000);
  });

  it('a refund of unknown outcome that is listed without its key is not made again', async () => {
    const scenario = await Scenario.paid();
    scenario.onCreateRefund = [lostWithoutKey(scenario)];
    scenario.requestRefund('a', 10_000);
    await scenario.pass(HOUR);
    expect(refunded(scenario)).toBe(10_000);
  });

  it('an operator can adopt a refund of unknown outcome that is listed without its key', async () => {
    const scenario = await Scenario.paid();
    scenario.onCreateRefund = [lostWithoutKey(scenario)];
    scenario.requestRefund('a', 10_000);
    await scenario.pass(5 * SECOND);
    const id = scenario.refunds[0]?.id ?? '';
    scenario.model.resolve(scenario.now, { action: 'adopt', id, reason: 'seen on the dashboard' });
    await scenario.pass(HOUR);
    expect(scenario.model.refund('a')).toMatchObject({ status: 'succeeded', id });
    expect(refunded(scenario)).toBe(10_000);
  });

  it('an adopted refund does not count as a later refund of the same amount when no refund was pending', async () => {
    const scenario = await Scenario.paid();
    const [charge] = scenario.charges;
    if (charge === undefined) throw new Error();
    scenario.makeRefund(charge, 10_000, false, null);
    const id = scenario.refunds[0]?.id ?? '';
    scenario.model.resolve(scenario.now, { action: 'adopt', id, reason: 'made on the dashboard' });
    await scenario.pass(HOUR);
    expect(scenario.model.refunds).toMatchObject([{ id, status: 'succeeded' }]);
    scenario.requestRefund('a', 10_000);
    await scenario.pass(HOUR);
    expect(refunded(scenario)).toBe(20_000);
    expect(scenario.model.refund('a')).toMatchObject({ status: 'succeeded', id: scenario.refunds[1]?.id });
    expect(scenario.view.refunded_amount).toBe(20_000);
  });

  it('an adopted refund id counts for no other refund once the pending refund was found by its key', async () => {
    const scenario = await Scenario.paid();
    const [charge] = scenario.charges;
    if (charge === undefined) throw new Error();
    scenario.onCreateRefund = ['lost after its effect'];
    scenario.requestRefund('a', 10_000);
    await scenario.pass(500);
    scenario.model.resolve(scenario.now, { action: 'adopt', id: 'rfnd_test_99', reason: 'a slip of the pen' });
    await scenario.pass(HOUR);
    expect(scenario.model.refund('a')?.status).toBe('succeeded');
    expect(scenario.model.state.refunding.adopting).toBeNull();
  });

  it('a refund is made once when one retrieve shows it without its key', async () => {
    const scenario = await Scenario.paid();
    scenario.onCreateRefund = ['lost after its effect'];
    let lies = 1;
    scenario.alter = (facts) =>
      facts.refunds.length > 0 && lies-- > 0
        ? { ...facts, refunds: facts.refunds.map((one) => ({ ...one, key: null })) }
        : facts;
    scenario.requestRefund('a', 10_000);
    await scenario.pass(HOUR);
    expect(refunded(scenario)).toBe(10_000);
  });
});

describe('a provider that carries out no request and shows that it did not', () => {
  const never = always('lost before its effect' as const);

  it('a refund is requested after growing delays and with an attention, and is finally made once', async () => {
    const scenario = await Scenario.paid();
    scenario.onCreateRefund = [...never];
    scenario.requestRefund('a', 10_000);
    await scenario.pass(2 * MINUTE);
    const attentions = scenario.model.timeline.filter(({ what }) => what === 'attention').length;
    for (let count = 0; count < 60; count += 1) {
      await scenario.pass(MINUTE);
      expect(scenario.view.attention?.code).toBe('outcome_unknown');
    }
    expect(scenario.model.timeline.filter(({ what }) => what === 'attention')).toHaveLength(attentions);
    await scenario.pass(DAY);
    expect(scenario.count('createRefund')).toBeLessThan(40);
    scenario.onCreateRefund = [];
    await scenario.pass(2 * HOUR);
    expect(scenario.view).toMatchObject({ refunded_amount: 10_000, attention: null });
    expect(refunded(scenario)).toBe(10_000);
  });

  it('a charge is requested after growing delays and with an attention', async () => {
    const scenario = new Scenario();
    scenario.onCreateCharge = [...never];
    await scenario.pass(2 * MINUTE);
    expect(scenario.view).toMatchObject({ status: 'creating', attention: { code: 'outcome_unknown' } });
    await scenario.pass(11 * MINUTE);
    expect(scenario.count('createCharge')).toBeLessThan(6);
    await scenario.pass(HOUR);
    expect(scenario.view).toMatchObject({ status: 'expired', attention: null });
  });

  it('a refund that the provider accepts no request for shows attention provider_unreachable', async () => {
    const scenario = await Scenario.paid();
    scenario.onCreateRefund = always(() => busy);
    scenario.requestRefund('a', 10_000);
    await scenario.pass(HOUR);
    expect(scenario.model.refund('a')?.status).toBe('pending');
    expect(scenario.view.attention?.code).toBe('provider_unreachable');
    scenario.onCreateRefund = [];
    await scenario.pass(HOUR);
    expect(scenario.view).toMatchObject({ refunded_amount: 10_000, attention: null });
  });
});

describe('a retrieved charge that does not match the intent', () => {
  it('a mismatched charge does not make a paid checkout refunded', async () => {
    const scenario = await Scenario.paid();
    scenario.alter = (facts) => ({ ...facts, checkoutId: 'chk_default_other', refundedAmount: 150_000 });
    scenario.hint('chrg_test_2');
    await scenario.pass(10 * SECOND);
    scenario.alter = (facts) => facts;
    scenario.lookUp('heal');
    await scenario.pass(HOUR);
    expect(scenario.view).toMatchObject({ status: 'paid', refunded_amount: 0 });
  });

  it('a mismatched charge does not prove that a refund is absent', async () => {
    const scenario = await Scenario.paid();
    scenario.onCreateRefund = ['lost after its effect'];
    scenario.requestRefund('a', 10_000);
    scenario.alter = (facts) =>
      scenario.refunds.length === 0 ? facts : { ...facts, isOtherMode: true, refunds: [], refundedAmount: 0 };
    await scenario.pass(3 * MINUTE);
    scenario.alter = (facts) => facts;
    await scenario.pass(HOUR);
    expect(refunded(scenario)).toBe(10_000);
  });

  it('a mismatched charge of a second payment does not stop its refund', async () => {
    const scenario = await Scenario.payable();
    scenario.model.requestAttempt(scenario.now, { after: 1 });
    scenario.onExpire = always('refused');
    await scenario.pass(SECOND);
    const [a] = scenario.charges;
    if (a) a.status = 'expired';
    scenario.onExpire = [];
    await scenario.pass(MINUTE);
    expect(scenario.charges).toHaveLength(2);
    scenario.pay(scenario.charges[1]);
    await scenario.pass(MINUTE);
    const second = scenario.charges[0];
    // The first retrieve of the second payment is correct, the next one is not.
    let retrieves = 0;
    scenario.alter = (facts) =>
      facts.chargeId === second?.id && ++retrieves === 2 ? { ...facts, amount: 1, refundedAmount: 150_000 } : facts;
    scenario.pay(second);
    await scenario.pass(DAY);
    expect(second?.refunds.reduce((sum, one) => sum + one.amount, 0)).toBe(150_000);
  });

  it('a found charge that does not match does not prove that no charge exists: no second create follows', async () => {
    const scenario = new Scenario();
    scenario.onCreateCharge = ['lost after its effect'];
    scenario.alterFound = (facts) => ({ ...facts, amount: 1 });
    await scenario.pass(5 * MINUTE);
    expect(scenario.count('createCharge')).toBe(1);
  });

  it('a reversed charge is not refunded by Tillflow', async () => {
    const scenario = await Scenario.payable();
    scenario.model.requestCancel(scenario.now);
    await scenario.pass(MINUTE);
    expect(scenario.view.status).toBe('cancelled');
    const [charge] = scenario.charges;
    let retrieves = 0;
    scenario.alter = (facts) => (++retrieves > 1 ? { ...facts, status: 'reversed', canVoid: false } : facts);
    scenario.pay(charge);
    await scenario.pass(DAY);
    expect(refunded(scenario)).toBe(0);
  });
});

describe('a refunded amount above the listed refunds', () => {
  it('a refund is not repeated when the provider once showed a higher refunded amount', async () => {
    const scenario = await Scenario.paid();
    scenario.onCreateRefund = ['lost after its effect'];
    let retrieves = 0;
    scenario.alter = (facts) => {
      if (scenario.refunds.length !== 1) return facts;
      retrieves += 1;
      // Replicas: behind, ahead (the sum is there, the list not), behind, behind.
      return retrieves === 2 ? { ...facts, refunds: [] } : { ...facts, refunds: [], refundedAmount: 0 };
    };
    scenario.requestRefund('a', 10_000);
    await scenario.pass(HOUR);
    expect(refunded(scenario)).toBe(10_000);
  });
});

describe('a search that lags', () => {
  it('one search without a result does not prove that no charge exists, however late it is', async () => {
    const scenario = new Scenario();
    scenario.onCreateCharge.push((effect) => {
      effect();
      scenario.isDown = true;
      return unknownOutcome;
    });
    await scenario.pass(5 * MINUTE + 10 * SECOND);
    let searches = 0;
    scenario.replace('findCharges', (findCharges) => async (call) => {
      searches += 1;
      return searches === 1 ? { seen: [] } : findCharges(call);
    });
    scenario.isDown = false;
    // One search after the usual pause of five minutes, and one that confirms it.
    await scenario.pass(30 * SECOND);
    expect(searches).toBe(2);
    expect(scenario.charges).toHaveLength(1);
    expect(scenario.view.qr).not.toBeNull();
  });
});

describe('attention', () => {
  it('a forged hint does not leave a paid checkout with provider_unreachable for a year', async () => {
    const scenario = await Scenario.paid();
    scenario.hint('chrg_test_forged', 'charge.complete');
    await scenario.pass(30 * DAY);
    expect(scenario.view.attention).toBeNull();
  });

  it('integrity_mismatch of a refund reply over another amount ends when the refund shows as requested', async () => {
    const scenario = await Scenario.paid();
    scenario.onCreateRefund = [
      (effect) => {
        const outcome = effect();
        return outcome.kind === 'done' ? { kind: 'done', value: { ...outcome.value, amount: 1 } } : outcome;
      },
    ];
    scenario.requestRefund('a', 10_000);
    await scenario.pass(500);
    expect(scenario.view.attention?.code).toBe('integrity_mismatch');
    await scenario.pass(HOUR);
    expect(scenario.model.refund('a')?.status).toBe('succeeded');
    expect(scenario.view.attention).toBeNull();
    expect(refunded(scenario)).toBe(10_000);
  });

  it('return_refused of one payment stays when another payment is refunded', async () => {
    const scenario = await Scenario.payable();
    await scenario.pass(16 * MINUTE);
    scenario.model.requestAttempt(scenario.now, { after: 1 });
    await scenario.pass(30 * MINUTE);
    expect(scenario.view.status).toBe('expired');
    scenario.pay(scenario.charges[0]);
    await scenario.pass(MINUTE);
    expect(scenario.view.status).toBe('refunded');
    scenario.onCreateRefund = always('refused');
    scenario.pay(scenario.charges[1]);
    await scenario.pass(HOUR);
    expect(scenario.charges[1]?.refunds).toEqual([]);
    expect(scenario.view.attention?.code).toBe('return_refused');
  });

  it('return_refused of a second payment is shown although a third payment was refunded', async () => {
    const scenario = await Scenario.payable();
    await scenario.pass(16 * MINUTE);
    for (const after of [1, 2]) {
      scenario.model.requestAttempt(scenario.now, { after });
      await scenario.pass(16 * MINUTE);
    }
    scenario.model.requestAttempt(scenario.now, { after: 3 });
    await scenario.pass(MINUTE);
    scenario.pay(scenario.charges[3]);
    await scenario.pass(MINUTE);
    scenario.pay(scenario.charges[0]);
    await scenario.pass(MINUTE);
    expect(scenario.charges[0]?.refunds).toHaveLength(1);
    scenario.onCreateRefund = always('refused');
    scenario.pay(scenario.charges[1]);
    await scenario.pass(HOUR);
    expect(scenario.charges[1]?.refunds).toEqual([]);
    expect(scenario.view.attention?.code).toBe('return_refused');
  });

  it('unknown_status of a reversed charge stays when another charge is retrieved', async () => {
    const scenario = await Scenario.payable();
    await scenario.pass(16 * MINUTE);
    scenario.model.requestAttempt(scenario.now, { after: 1 });
    await scenario.pass(MINUTE);
    const [first, second] = scenario.charges;
    scenario.pay(second);
    await scenario.pass(MINUTE);
    if (second) second.status = 'reversed';
    scenario.hint(second?.id ?? null);
    await scenario.pass(MINUTE);
    expect(scenario.view.attention?.code).toBe('unknown_status');
    scenario.hint(first?.id ?? null);
    await scenario.pass(MINUTE);
    expect(scenario.view.attention?.code).toBe('unknown_status');
  });

  it('abandoning a refused late refund does not show the kept money as expired', async () => {
    const scenario = await Scenario.payable();
    await scenario.pass(16 * MINUTE);
    scenario.onCreateRefund = always('refused');
    scenario.pay(scenario.charges[0]);
    await scenario.pass(HOUR);
    expect(scenario.view).toMatchObject({ status: 'paid', attention: { code: 'return_refused' } });
    scenario.model.resolve(scenario.now, { action: 'abandon', reason: 'kept, as agreed with the customer' });
    await scenario.pass(HOUR);
    expect(scenario.view.status).toBe('paid');
  });
});

describe('retrieves and hints', () => {
  it('a payment during an outage of two hours is noticed within ten minutes after it', async () => {
    const scenario = await Scenario.payable();
    await scenario.pass(14 * MINUTE);
    scenario.isDown = true;
    scenario.pay(scenario.charges[0], false);
    await scenario.pass(2 * HOUR);
    scenario.isDown = false;
    const up = scenario.now;
    while (!scenario.model.isPaid && scenario.now - up < 2 * DAY) await scenario.pass(MINUTE);
    expect(scenario.now - up).toBeLessThan(10 * MINUTE);
  });

  it('a hint that arrives during a retrieve is followed by another retrieve', async () => {
    const scenario = await Scenario.payable();
    const [charge] = scenario.charges;
    if (charge === undefined) throw new Error();
    charge.status = 'expired';
    // The provider answers with the expiry, and the customer's late payment comes before that answer is here.
    scenario.alter = (facts) => {
      if (charge.status === 'expired') {
        scenario.takePayment(charge);
        scenario.hint(charge.id, 'charge.complete');
      }
      return facts;
    };
    scenario.hint(charge.id, 'charge.expire');
    await scenario.pass(MINUTE);
    expect(scenario.model.isPaid).toBe(true);
    expect(scenario.view).toMatchObject({ status: 'refunded', refunded_amount: 150_000 });
  });

  it('a charge that a hint named is forgotten when the provider does not have it, whatever the form of that answer', async () => {
    for (const answer of [
      { unseen: 'a page', code: 'http_404', status: 404 },
      { unseen: 'no id', code: 'invalid_id', status: null },
    ]) {
      const scenario = await Scenario.paid();
      scenario.replace(
        'retrieveCharge',
        (retrieveCharge) => async (call) => (call.chargeId === 'chrg_odd' ? answer : retrieveCharge(call)),
      );
      scenario.hint('chrg_odd');
      await scenario.pass(DAY);
      expect(scenario.count('retrieveCharge')).toBeLessThan(20);
      expect(scenario.view.attention).toBeNull();
    }
  });

  it('a reply about another charge raises integrity_mismatch and does not count as silence', async () => {
    const other = { unseen: 'the reply chrg_other differs in id', code: 'integrity_mismatch', status: 200 };
    const scenario = await Scenario.payable();
    const [charge] = scenario.charges;
    let isConfused = true;
    scenario.replace('retrieveCharge', (retrieve) => async (id) => (isConfused ? other : retrieve(id)));
    scenario.pay(charge);
    await scenario.pass(HOUR);
    expect(scenario.view).toMatchObject({
      status: 'awaiting_payment',
      attention: { code: 'integrity_mismatch', detail: expect.stringContaining('chrg_other') },
    });
    expect(scenario.model.view(scenario.now).provider_silent_since).toBeNull();
    isConfused = false;
    await scenario.pass(HOUR);
    expect(scenario.view).toMatchObject({ status: 'paid', attention: null });
  });

  it('a named charge for which the provider answers with another charge is forgotten without attention', async () => {
    const scenario = await Scenario.paid();
    scenario.replace(
      'retrieveCharge',
      (retrieveCharge) => async (call) =>
        call.chargeId === 'chrg_odd'
          ? { unseen: 'another', code: 'integrity_mismatch', status: 200 }
          : retrieveCharge(call),
    );
    scenario.hint('chrg_odd');
    await scenario.pass(DAY);
    expect(scenario.count('retrieveCharge')).toBeLessThan(20);
    expect(scenario.view.attention).toBeNull();
  });

  it('300 hints lead to fewer than five retrieves afterwards, and the state does not grow', async () => {
    const scenario = await Scenario.payable();
    scenario.model.requestCancel(scenario.now);
    await scenario.pass(MINUTE);
    for (let index = 0; index < 300; index += 1) {
      scenario.hint(null, 'charge.expire');
      await scenario.pass(1_100);
    }
    const pendingRechecks = scenario.model.state.charges.all[0]?.pendingRechecks.length ?? 0;
    const stopped = scenario.now;
    await scenario.pass(DAY);
    const afterwards = scenario.count('retrieveCharge', stopped);
    expect(pendingRechecks).toBeLessThan(5);
    expect(afterwards).toBeLessThan(5);
  });

  it('the late-effect check after a repeated refund is not lost to the webhook of that refund', async () => {
    const scenario = await Scenario.paid();
    const [charge] = scenario.charges;
    // The worker freezes before its request; it leaves four minutes later.
    scenario.onCreateRefund = [
      () => {
        scenario.after(4 * MINUTE, () => {
          if (charge) scenario.makeRefund(charge, 10_000, false, 'a');
        });
        return unknownOutcome;
      },
      (effect) => {
        scenario.after(500, () => scenario.hint(charge?.id ?? null, 'refund.create'));
        return effect();
      },
    ];
    scenario.requestRefund('a', 10_000);
    await scenario.pass(DAY);
    expect(refunded(scenario)).toBe(20_000);
    expect(scenario.view).toMatchObject({ refunded_amount: 20_000, attention: { code: 'refund_doubled' } });
  });

  it('a refund made twice raises refund_doubled although the second was first shown without its key', async () => {
    const scenario = await Scenario.paid();
    const [charge] = scenario.charges;
    if (charge === undefined) throw new Error();
    scenario.onCreateRefund = [
      () => {
        scenario.after(4 * MINUTE, () => scenario.makeRefund(charge, 10_000, false, 'a'));
        return unknownOutcome;
      },
    ];
    scenario.requestRefund('a', 10_000);
    await scenario.pass(MINUTE);
    scenario.alter = (facts) => ({ ...facts, refunds: facts.refunds.map((one) => ({ ...one, key: null })) });
    await scenario.pass(HOUR);
    expect(refunded(scenario)).toBe(20_000);
    scenario.alter = (facts) => facts;
    scenario.hint(charge.id);
    await scenario.pass(MINUTE);
    expect(scenario.view).toMatchObject({ refunded_amount: 20_000, attention: { code: 'refund_doubled' } });
    scenario.model.resolve(scenario.now, { action: 'abandon', reason: 'settled with the customer' });
    scenario.hint(charge.id);
    await scenario.pass(MINUTE);
    expect(scenario.view.attention).toBeNull();
  });

  it('a closing retrieve that the provider answers with 404 does not keep the workflow open', async () => {
    const scenario = await Scenario.paid();
    await scenario.pass(364 * DAY);
    scenario.charges.length = 0;
    await scenario.pass(2 * DAY);
    expect(await scenario.pass(365 * DAY)).toBe('close');
  });

  it('an adopted charge is retrieved although forged hints fill the list of unrecognized charges', async () => {
    const scenario = await Scenario.payable();
    const [mine] = scenario.charges;
    if (mine === undefined) throw new Error();
    const other = { ...mine, id: 'chrg_test_late', refunds: [] };
    scenario.charges.push(other);
    for (let index = 0; index < 5; index += 1) scenario.hint(`chrg_test_forged${index}`);
    scenario.model.resolve(scenario.now, { action: 'adopt', id: other.id, reason: 'on the dashboard' });
    await scenario.pass(20 * MINUTE);
    expect(scenario.model.chargeIds).toContain(other.id);
  });
});

describe('requests of callers and operators', () => {
  it('a refund of an amount that is not a whole positive number is refused', async () => {
    const scenario = await Scenario.paid();
    for (const amount of [0, -5, 0.5]) {
      expect(scenario.model.refuseRefund(scenario.now, { key: `k${amount}`, amount, reason: null })).not.toBeNull();
    }
  });

  it('a refund key with the prefix auto: does not make the workflow loop', async () => {
    const scenario = await Scenario.payable();
    await scenario.pass(16 * MINUTE);
    scenario.model.requestAttempt(scenario.now, { after: 1 });
    await scenario.pass(MINUTE);
    const [first, second] = scenario.charges;
    scenario.pay(second);
    await scenario.pass(MINUTE);
    scenario.requestRefund(`auto:${first?.id ?? ''}`, 1_000);
    await scenario.pass(MINUTE);
    scenario.pay(first);
    await scenario.pass(MINUTE);
    expect(scenario.count('retrieveCharge')).toBeLessThan(50);
    expect(first?.refunds).toHaveLength(1);
  });

  it('an abandoned automatic refund that may be in flight is not sent again at once', async () => {
    const scenario = await Scenario.payable();
    await scenario.pass(16 * MINUTE);
    scenario.onCreateRefund = ['lost before its effect'];
    scenario.pay(scenario.charges[0]);
    await scenario.pass(3 * SECOND);
    expect(scenario.model.state.refunding.inProgress?.stage).toBe('unknown');
    scenario.model.resolve(scenario.now, { action: 'abandon', reason: 'x' });
    await scenario.pass(SECOND);
    scenario.lookUp('x');
    const sent = scenario.count('createRefund');
    await scenario.pass(5 * SECOND);
    expect(scenario.count('createRefund')).toBe(sent);
  });

  it('an abandoned refund that may be in flight reserves its amount, until it can take no effect any more', async () => {
    const scenario = await Scenario.paid();
    scenario.onCreateRefund = ['lost before its effect'];
    scenario.requestRefund('a', 100_000);
    await scenario.pass(3 * SECOND);
    scenario.model.resolve(scenario.now, { action: 'abandon', reason: 'x' });
    const another = { key: 'b', amount: 100_000, reason: null };
    expect(scenario.model.refuseRefund(scenario.now, another)).toMatchObject({ code: 'refund_exceeds_paid' });
    await scenario.pass(MINUTE);
    expect(scenario.model.refuseRefund(scenario.now, another)).toBeNull();
  });

  it('abandoning does not reject a refund whose outcome is not unknown', async () => {
    const scenario = await Scenario.paid();
    scenario.isDown = true;
    scenario.requestRefund('a', 10_000);
    await scenario.pass(2 * MINUTE);
    // Nothing was sent: the refund waits for its first retrieve. The operator means the attention.
    scenario.model.resolve(scenario.now, { action: 'abandon', reason: 'the outage is known' });
    scenario.isDown = false;
    await scenario.pass(DAY);
    expect(scenario.model.refund('a')?.status).toBe('succeeded');
  });

  it('a pending refund is made within ten minutes after an outage of three days', async () => {
    const scenario = await Scenario.paid();
    scenario.isDown = true;
    scenario.requestRefund('a', 10_000);
    await scenario.pass(3 * DAY);
    expect(scenario.view.attention).not.toBeNull();
    scenario.isDown = false;
    const up = scenario.now;
    while (scenario.model.refund('a')?.status === 'pending' && scenario.now - up < 2 * DAY) await scenario.pass(MINUTE);
    expect(scenario.now - up).toBeLessThan(10 * MINUTE);
  });
});

describe('a checkout that could get stuck', () => {
  it('a webhook that arrives before the reply to the create does not make the workflow loop while the provider fails', async () => {
    const scenario = new Scenario();
    scenario.during = (what) => {
      if (what === 'createCharge') scenario.hint('chrg_test_3', 'charge.update');
      if (what === 'retrieveCharge') scenario.isDown = true;
    };
    await scenario.pass(MINUTE);
    expect(scenario.count('retrieveCharge')).toBeLessThan(20);
  });

  it('a reversed charge gets expire calls after growing delays until an operator abandons it', async () => {
    const scenario = await Scenario.payable();
    const [charge] = scenario.charges;
    if (charge) charge.status = 'reversed';
    expect(await scenario.pass(10 * DAY)).toBe('wait');
    expect(scenario.count('expireCharge')).toBeLessThan(300);
    expect(scenario.view.attention).toMatchObject({ code: 'unknown_status' });
    scenario.model.resolve(scenario.now, { action: 'abandon', reason: 'settled with the provider' });
    expect(await scenario.pass(3 * DAY)).toBe('close');
  });

  it('a late charge of an abandoned attempt is expired', async () => {
    const scenario = new Scenario();
    scenario.onCreateCharge = [
      (effect) => {
        scenario.after(4 * MINUTE, () => void effect());
        return unknownOutcome;
      },
    ];
    await scenario.pass(2 * SECOND);
    scenario.model.resolve(scenario.now, { action: 'abandon', reason: 'x' });
    await scenario.pass(SECOND);
    expect(scenario.view.status).toBe('expired');
    await scenario.pass(8 * MINUTE);
    expect(scenario.charges.map(({ status }) => status)).toEqual(['expired']);
  });

  it('a late charge of a refused attempt is expired', async () => {
    const scenario = new Scenario();
    scenario.onCreateCharge = [
      'lost before its effect',
      (effect) => {
        scenario.after(2 * MINUTE, () => void effect());
        return { kind: 'rejected', code: 'invalid_charge', message: 'no', retryable: false };
      },
    ];
    await scenario.pass(90 * SECOND);
    expect(scenario.view.status).toBe('failed');
    await scenario.pass(8 * MINUTE);
    expect(scenario.charges.map(({ status }) => status)).toEqual(['expired']);
  });
});

const late = { kind: 'rejected', code: 'send_by_passed', message: 'Nothing was sent.', retryable: true } as const;
const busy = { kind: 'rejected', code: 'http_429', message: 'no', retryable: true } as const;

describe('a worker that is too late to send', () => {
  it('a late worker raises worker_late, which names its clock or its load and not the provider', async () => {
    const scenario = new Scenario();
    scenario.onCreateCharge = always(() => late);
    await scenario.pass(5 * MINUTE);
    expect(scenario.view).toMatchObject({ status: 'creating', attention: { code: 'worker_late' } });
    expect(scenario.view.attention?.detail).toContain('its clock or its load');
    expect(scenario.view.attention?.detail).not.toContain('provider');
    expect(scenario.charges).toEqual([]);
  });

  it('worker_late ends and the checkout goes on once the worker is in time', async () => {
    const scenario = new Scenario({ sendWithinMs: 5_000 });
    scenario.onCreateCharge = always(() => late);
    await scenario.pass(2 * MINUTE);
    expect(scenario.view.attention?.code).toBe('worker_late');
    scenario.onCreateCharge = [];
    await scenario.pass(10 * MINUTE);
    expect(scenario.view).toMatchObject({ status: 'awaiting_payment', attention: null });
    expect(scenario.charges).toHaveLength(1);
  });

  it('worker_late gives way to provider_unreachable when the provider refuses for now', async () => {
    const scenario = await Scenario.paid();
    scenario.onCreateRefund = always(() => late);
    scenario.model.requestRefund(scenario.now, { key: 'a', amount: 10_000, reason: null });
    await scenario.pass(HOUR);
    expect(scenario.view.attention?.code).toBe('worker_late');
    expect(scenario.model.refund('a')?.status).toBe('pending');
    scenario.onCreateRefund = always(() => busy);
    await scenario.pass(HOUR);
    expect(scenario.view.attention?.code).toBe('provider_unreachable');
    scenario.onCreateRefund = [];
    await scenario.pass(HOUR);
    expect(scenario.view).toMatchObject({ refunded_amount: 10_000, attention: null });
  });

  it('worker_late stays across continue-as-new', async () => {
    const scenario = new Scenario();
    scenario.onCreateCharge = always(() => late);
    await scenario.pass(2 * MINUTE);
    scenario.restart();
    await scenario.pass(MINUTE);
    expect(scenario.view.attention?.code).toBe('worker_late');
  });
});
