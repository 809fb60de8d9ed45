import { readFile } from 'node:fs/promises';
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { run } from '@tillflow/cli';
import { nameOnQueue } from '@tillflow/temporal';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { QUICK_TAIL, TailRun } from './support/event-tail.js';
import { eventually } from './support/eventually.js';
import { startDirectly } from './support/paths.js';
import { Receiver } from './support/receiver.js';
import { chargeIdOf, newReference, Stack, type CheckoutJson } from './support/stack.js';
import { forgetSchedules, operatorOf, tillflow, tillflowProcess, type Ended } from './support/tillflow.js';

vi.setConfig({ testTimeout: 180_000 });

const COMMANDS = [
  'setup',
  'doctor',
  'list',
  'show',
  'resolve',
  'refund',
  'reconcile',
  'breaks',
  'day',
  'backfill',
  'notices',
  'plans',
  'endpoints',
  'pause',
  'resume',
] as const;

let stack: Stack;
beforeAll(async () => {
  stack = await Stack.start({ shared: { EVENT_ENDPOINT_NETWORKS: '127.0.0.0/8' } });
});
afterAll(() => stack.stop());

function operate(...args: readonly string[]): Promise<Ended> {
  return tillflow(args, operatorOf(stack));
}

async function operateAsProgram(...args: readonly string[]): Promise<{ code: number | null; json: unknown }> {
  const { code, out, err } = await operate(...args, '--json');
  expect(err).toBe('');
  return { code, json: JSON.parse(out) as unknown };
}

async function pay(fields: Readonly<Record<string, unknown>> = {}): Promise<CheckoutJson> {
  const open = await opened(stack, fields);
  stack.sandbox.mark(chargeIdOf(open), { status: 'successful' });
  return stack.untilStatus(open.id, 'paid');
}

/** A checkout whose QR is there, also on a machine that is busy. */
async function opened(of: Stack, fields: Readonly<Record<string, unknown>> = {}): Promise<CheckoutJson> {
  const { body } = await of.create(fields);
  return of.until(body.id, ({ qr }) => qr !== null);
}

describe('tillflow', () => {
  it.each([
    [[], 'Usage: pnpm tillflow <command>'],
    [['fly'], 'Unknown command: fly'],
    [['list', '--fast'], "Unknown option '--fast'"],
    [['list', 'all'], 'list takes no arguments'],
    [['list', '--status', 'gone'], '--status must be one of'],
    [['list', '--limit', '0'], '--limit must be'],
    [['endpoints', '--enable', 'a', '--delete', 'b'], 'Use one of --enable, --delete'],
    [['endpoints', '--events', 'paid'], '--events needs --add'],
    [['endpoints', '--add', 'https://orders.example/', '--events', 'sold'], 'sold is not one of'],
    [['endpoints', '--replay', 'a'], '--replay, --from and --to need one another'],
    [['endpoints', '--replay', 'a', '--from', 'today', '--to', '2026-11-21'], 'ISO 8601'],
    [['show'], 'show takes 1 argument'],
    [['show', 'a b'], 'neither'],
    [['resolve', 'x', '--look'], 'needs a --reason'],
    [['resolve', 'x', '--reason', 'y'], 'exactly one of'],
    [['resolve', 'x', '--look', '--abandon', '--reason', 'y'], 'exactly one of'],
    [['resolve', 'x', '--adopt', 'src_1', '--reason', 'y'], '--adopt needs'],
    [['refund', 'x'], '--key must be'],
    [['refund', 'x', '--key', 'auto:1'], '--key must be'],
    [['refund', 'x', '--key', 'k', '--amount', '5.0'], '--amount must be'],
    [['refund', 'x', '--key', 'k', '--amount', '0'], '--amount must be'],
    [['refund', 'x', '--key', 'k', '--amount', '-5'], 'refund'],
    [['refund', 'x', '--key', 'k', '--amount', 'USD 5.00'], '--amount must be'],
    [['refund', 'x', '--key', 'k', '--amount', '1500'], '1,500.00 (write 1500.00) or 15.00 (write 15.00)'],
    [['refund', 'x', '--key', 'k', '--amount', '500.00', '--amount', '50.00'], '--amount is given twice'],
    [['refund', 'x', '--key', 'k', '--reason', 'x'.repeat(201)], 'at most 200 characters'],
    [['resolve', 'x', '--look', '--reason', 'two\nlines'], 'one line'],
    [['notices', '--dismiss', 'x'], 'needs a --reason'],
    [['notices', '--reason', 'x'], 'only valid with --dismiss'],
    [['plans', '--resolve', 'x', '--look'], 'needs a --reason'],
    [['plans', '--abandon', '--reason', 'y'], 'need --resolve'],
    [['plans', '--resolve', 'x', '--reason', 'y'], 'exactly one of'],
    [['plans', '--resolve', 'x', '--adopt', 'a b', '--reason', 'y'], '--adopt needs'],
    [['breaks', '--reason', 'known'], 'only valid with --acknowledge'],
    [['breaks', '--acknowledge', '0', '--reconciliation', 'rec_1', '--reason', 'known'], 'needs the number of a break'],
    [['breaks', '--acknowledge', '1', '--reason', 'known'], '--acknowledge needs a --reconciliation'],
    [['breaks', '--acknowledge', '1', '--reconciliation', 'rec_1'], '--acknowledge needs a --reason'],
    [['breaks', '--acknowledge', '1', '--reconciliation', 'rec_1', '--reason', 'a\nb'], 'must be one line'],
    [['reconcile', '--to', '2026-11-21T00:00:00Z'], 'needs a --from'],
    [['reconcile', '--from', '2026-11-21', '--to', '2026-11-22'], '--from must be ISO 8601'],
    [['reconcile', '--from', '2026-11-21T00:00:00Z', '--to', '2026-11-21T00:00:00Z'], '--from must be before --to'],
    [['reconcile', '--from', '2026-01-01T00:00:00Z', '--to', '2026-03-01T00:00:00Z'], 'at most 31 days'],
    [['pause'], 'pause needs a --reason'],
    [['pause', '--reason', 'two\nlines'], 'one line'],
    [['resume', 'now'], 'resume takes no arguments'],
    [['day'], 'day takes 1 argument'],
    [['day', 'yesterday'], 'The date must be'],
    [['day', '2026-02-30'], 'The date must be'],
    [['day', '2999-01-01'], 'has not begun'],
    [['day', '2026-11-20', '--store', 'a b'], '--store must be'],
    [['day', '2026-11-20', '--terminal', ''], '--terminal must have'],
    [['backfill'], 'needs a --from'],
    [['backfill', '--from', 'yesterday'], '--from must be'],
  ])('exits with 2 and prints the reason for the wrong arguments %j', async (args, words) => {
    const { exit, out, err } = await run(args, operatorOf(stack));
    expect({ exit, out }).toEqual({ exit: 2, out: '' });
    expect(err).toContain(words);
    const asJson = await run([...args, '--json'], operatorOf(stack));
    expect(JSON.parse(asJson.out)).toMatchObject({ error: { code: 'usage' } });
  });

  it.each([[], ['--json']])('shows control characters as text and never executes them %j', async (...options) => {
    const { out, err } = await run(['show\u001b[2J\u009b2J\u202e', ...options], {});
    expect(out + err).toContain('\\u001b[2J\\u009b2J\\u202e');
    expect(out + err).not.toMatch(/[^\P{Cc}\n]|\u202e/u);
  });

  it('exits with 2 when it is used wrongly, and prints the reason', async () => {
    const [forPeople, forPrograms] = await Promise.all([
      tillflowProcess(['resolve', 'x'], operatorOf(stack)),
      tillflowProcess(['fly', '--json'], operatorOf(stack)),
    ]);
    expect(forPeople).toMatchObject({ code: 2, out: '', err: expect.stringContaining('exactly one of') });
    expect(forPrograms).toMatchObject({ code: 2, err: '' });
    expect(JSON.parse(forPrograms.out)).toMatchObject({ error: { code: 'usage' } });
  });

  it.each(COMMANDS)('%s --help lists its options and describes the command', async (name) => {
    const { exit, out } = await run([name, '--help'], {});
    expect(exit).toBe(0);
    expect(out).toMatch(new RegExp(`^Usage: pnpm tillflow ${name}`));
    expect(out).toContain('--json');
  });

  it('lists every command', async () => {
    const { code, out } = await operate('--help');
    expect(code).toBe(0);
    for (const name of COMMANDS) expect(out).toMatch(new RegExp(`^ {2}${name} `, 'm'));
  });

  it('exits with 2 and names each wrong setting', async () => {
    const { code, err } = await tillflowProcess(['list'], { TEMPORAL_ADDRESS: 'nowhere', TEMPORAL_TLS: 'maybe' });
    expect(code).toBe(2);
    expect(err).toContain('TEMPORAL_ADDRESS');
    expect(err).toContain('TEMPORAL_TLS');
  });

  it.concurrent.each([
    ['list'],
    ['refund', 'x', '--key', 'k'],
    ['setup', '--wait', '0'],
    ['backfill', '--from', '2026-01-01T00:00:00Z'],
  ])('with the arguments %s … exits with 3 and names the address when it cannot reach Temporal', async (...args) => {
    const lost = { ...operatorOf(stack), TEMPORAL_ADDRESS: '127.0.0.1:1' };
    const [forPeople, forPrograms] = await Promise.all([tillflow(args, lost), tillflow([...args, '--json'], lost)]);
    expect(forPeople).toMatchObject({ code: 3, err: expect.stringContaining('127.0.0.1:1') });
    expect(forPrograms).toMatchObject({ code: 3, err: '' });
    expect(JSON.parse(forPrograms.out)).toMatchObject({ error: { code: 'unreachable' } });
  });

  it('is run by pnpm tillflow', async () => {
    const root = fileURLToPath(new URL('../package.json', import.meta.url));
    const { scripts } = JSON.parse(await readFile(root, 'utf8')) as { scripts: Record<string, string> };
    expect(scripts['tillflow']).toContain('node apps/cli/dist/main.js');
  });
});

describe('tillflow list and tillflow show', () => {
  it('show amounts in major units to people, in the smallest unit to programs', async () => {
    const paid = await pay({ description: 'two coffees', terminal: 'till-9' });
    const shown = await tillflowProcess(['show', paid.reference], operatorOf(stack));
    expect(shown.code).toBe(0);
    for (const text of [paid.id, 'THB 1,500.00', 'two coffees', 'till-9', chargeIdOf(paid), 'void until', 'opened']) {
      expect(shown.out).toContain(text);
    }
    const { json } = await operateAsProgram('show', paid.id);
    expect(json).toMatchObject({
      id: paid.id,
      amount: 150_000,
      currency: 'THB',
      status: 'paid',
      closed: false,
      workflow_id: `checkout/default/${paid.reference}`,
      refunds: [],
      timeline: await stack.timeline(paid.id),
    });
  });

  it('exit with 1 for an unknown checkout', async () => {
    expect(await operate('show', 'nobody')).toMatchObject({ code: 1, err: expect.stringContaining('nobody') });
  });

  it('find a checkout whose reference looks like the id of a checkout', async () => {
    const reference = `chk_default_${randomUUID()}`;
    const body = await opened(stack, { reference });
    expect(await operateAsProgram('show', reference)).toMatchObject({ json: { id: body.id } });
  });

  it('exit with 2 for a name that is the id of one checkout and the reference of another', async () => {
    const first = await opened(stack);
    const second = await opened(stack, { reference: first.id });
    const { code, err } = await operate('show', first.id);
    expect(code).toBe(2);
    expect(err).toContain(`Use ${first.reference} or ${second.id}`);
    expect(await operateAsProgram('show', second.id)).toMatchObject({ json: { id: second.id } });
    expect(await operateAsProgram('show', first.reference)).toMatchObject({ json: { id: first.id } });
  });

  it('select checkouts by status up to --limit, and say that there are more', async () => {
    const paid = [await pay(), await pay(), await pay()];
    const listed = async (...args: string[]) =>
      (await operateAsProgram('list', '--status', 'paid', ...args)).json as { data: CheckoutJson[]; more: boolean };
    await vi.waitFor(
      async () => {
        const ids = (await listed('--limit', '10000')).data.map(({ id }) => id);
        for (const { id } of paid) expect(ids).toContain(id);
      },
      { timeout: 90_000 },
    );
    const few = await listed('--limit', '2');
    expect(few.more).toBe(true);
    expect(few.data).toHaveLength(2);
    expect(new Set(few.data.map(({ status }) => status))).toEqual(new Set(['paid']));
    const { out } = await operate('list', '--limit', '10000');
    expect(out).toMatch(new RegExp(`^${paid[0]?.reference} +paid +THB 1,500.00 `, 'm'));
  });
});

describe('tillflow refund', () => {
  it('with --dry-run prints what it would do, and refunds nothing', async () => {
    const paid = await pay();
    const { code, out } = await operate('refund', paid.id, '--key', 'k', '--amount', '500.00', '--dry-run');
    expect({ code, out }).toEqual({
      code: 0,
      out: `would refund THB 500.00 of ${paid.id} by a refund\nleft to refund: THB 1,500.00\n`,
    });
    expect((await operate('refund', paid.id, '--key', 'k', '--amount', '1500.01', '--dry-run')).code).toBe(1);
    expect((await stack.get(`/v1/checkouts/${paid.id}/refunds`)).body).toMatchObject({ data: [] });
  });

  it('refuses a whole number and another currency, names both readings, and refunds nothing', async () => {
    const paid = await pay();
    const refund = ['refund', paid.id, '--key', 'k', '--amount'] as const;
    const both = 'can mean THB 1,500.00 (write 1500.00) or THB 15.00 (write 15.00)';
    for (const amount of ['1500', 'THB 1500', '1,500']) {
      const { code, out, err } = await operate(...refund, amount);
      expect({ code, out }).toEqual({ code: 2, out: '' });
      expect(err).toContain(`${amount} ${both}`);
    }
    expect(await operateAsProgram(...refund, '1500', '--dry-run')).toMatchObject({
      code: 2,
      json: { error: { code: 'usage', message: `--amount: 1500 ${both}` } },
    });
    expect(await operate(...refund, 'SGD 15.00')).toMatchObject({
      code: 2,
      err: expect.stringContaining('--amount is in SGD, and the checkout is in THB'),
    });
    expect((await stack.get(`/v1/checkouts/${paid.id}/refunds`)).body).toMatchObject({ data: [] });
  });

  it('refunds once per key, in major units with or without the currency, and the rest without an amount', async () => {
    const paid = await pay();
    const first = ['refund', paid.reference, '--key', 'k-1', '--amount', '500.00', '--reason', 'cold'] as const;
    expect(await operate(...first)).toMatchObject({ code: 0, out: expect.stringContaining('refunded: THB 500.00') });
    expect(await operate(...first)).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^already refunded: THB 500\.00 .+ Nothing more was refunded now\.$/m),
    });
    const other = await operate('refund', paid.id, '--key', 'k-1', '--amount', '1.00', '--dry-run');
    expect(other).toMatchObject({
      code: 1,
      out: expect.stringContaining('This key already belongs to a refund of THB 500.00'),
    });
    const second = await operateAsProgram('refund', paid.id, '--key', 'k-2', '--amount', 'THB 250.00');
    expect(second).toMatchObject({ code: 0, json: { outcome: 'succeeded', refund: { amount: 25_000, key: 'k-2' } } });
    expect((await operate('refund', paid.id, '--key', 'k-3')).code).toBe(0);
    const { body } = await stack.get(`/v1/checkouts/${paid.id}`);
    expect(body).toMatchObject({ status: 'refunded', refunded_amount: 150_000 });
    expect(stack.sandbox.state().refunds.filter(({ charge }) => charge === chargeIdOf(paid))).toHaveLength(3);
  });

  it('exits with 1 when the refund is refused, and says that no money was refunded', async () => {
    const paid = await pay();
    const { code, out } = await operate('refund', paid.id, '--key', 'k', '--amount', '1500.01');
    expect(code).toBe(1);
    expect(out).toContain('refund_exceeds_paid');
    expect(out).toContain('No money was refunded');
    const open = await opened(stack);
    expect(await operateAsProgram('refund', open.id, '--key', 'k')).toMatchObject({
      code: 1,
      json: { outcome: 'refused', code: 'not_paid' },
    });
  });
});

describe('a refund that an operator has stopped waiting for', () => {
  it('is not reported as refused, because it may have been made', async () => {
    const odd = await Stack.start({
      webhookUrl: null,
      api: {
        POLL_INTERVAL_MS: '500',
        ATTENTION_AFTER_MS: '500',
        LOOK_DELAYS_MS: '3600000',
        SETTLE_DELAY_MS: '3600000',
        CALL_DEADLINE_MS: '1000',
        ANSWER_WITHIN_MS: '500',
      },
    });
    try {
      const open = await opened(odd);
      odd.sandbox.mark(chargeIdOf(open), { status: 'successful' });
      await odd.untilStatus(open.id, 'paid');
      odd.sandbox.faults.add({ method: 'POST', path: '/charges/{id}/refunds', action: 'commit_then_hang' });
      await odd.request('POST', `/v1/checkouts/${open.id}/refunds`, { headers: { 'idempotency-key': 'k' } });
      await odd.until(open.id, ({ attention }) => attention?.code === 'outcome_unknown');
      const abandon = ['resolve', open.id, '--abandon', '--reason', 'tired of waiting'];
      expect(await tillflow(abandon, operatorOf(odd))).toMatchObject({ code: 0 });
      const { code, out } = await tillflow(['refund', open.id, '--key', 'k'], operatorOf(odd));
      expect(code).toBe(1);
      expect(out).toContain('Whether it was made is not known');
      expect(out).not.toContain('No money was refunded');
      expect((await tillflow(['refund', open.id, '--key', 'k', '--dry-run'], operatorOf(odd))).code).toBe(1);
    } finally {
      await odd.stop();
    }
  });
});

describe.concurrent('tillflow resolve', () => {
  it('exits with 3 and says that nothing was learned when the provider does not answer', async () => {
    const silent = await Stack.start({ webhookUrl: null, api: { POLL_INTERVAL_MS: '3600000' } });
    try {
      const body = await opened(silent);
      silent.sandbox.mark(chargeIdOf(body), { status: 'successful' });
      silent.sandbox.faults.add({ method: 'GET', path: '/charges/{id}', action: 'status', status: 500 });
      const look = ['resolve', body.id, '--look', '--reason', 'the customer shows a receipt'];
      const { code, out } = await tillflow(look, operatorOf(silent));
      expect({ code, out }).toMatchObject({ code: 3, out: expect.stringContaining('the provider has not answered') });
      expect(out).not.toContain('done');
    } finally {
      await silent.stop();
    }
  });

  it("with --adopt of an unknown id or of another checkout's charge exits with 1 and says that the id was not adopted", async () => {
    const [mine, other] = [await opened(stack), await opened(stack)];
    for (const id of [chargeIdOf(other), 'rfnd_test_nowhere']) {
      const adopt = await operate('resolve', mine.id, '--adopt', id, '--reason', 'a guess');
      expect(adopt).toMatchObject({ code: 1, out: expect.stringContaining(`not adopted: ${id}`) });
    }
    const own = ['resolve', mine.id, '--adopt', chargeIdOf(mine), '--reason', 'it is'] as const;
    expect(await operate(...own)).toMatchObject({ code: 0, out: expect.stringContaining('done: adopt') });
  });

  it('with --adopt of a refund made elsewhere exits with 1 and says that the refund is recorded as made elsewhere', async () => {
    const paid = await pay();
    await stack.refundElsewhere(chargeIdOf(paid), 700);
    const id = stack.sandbox.state().refunds.find(({ charge }) => charge === chargeIdOf(paid))?.id ?? '';
    const adopt = ['resolve', paid.id, '--adopt', id, '--reason', 'a guess'] as const;
    expect(await operate(...adopt)).toMatchObject({
      code: 1,
      out: expect.stringMatching(new RegExp(`^not adopted: ${id} .+made elsewhere`, 'm')),
    });
    expect((await stack.get(`/v1/checkouts/${paid.id}`)).body.refunded_amount).toBe(700);
  });

  it('exits with 1 for a closed checkout, also with --dry-run', async () => {
    const { id, reference } = await startDirectly(stack, { unpaidGraceMs: 200 });
    const open = await stack.until(id, ({ qr }) => qr !== null);
    stack.sandbox.mark(chargeIdOf(open), { status: 'failed' });
    await stack.workflowOf(id).result();
    for (const more of [[], ['--dry-run']]) {
      const ended = await operate('resolve', reference, '--look', '--reason', 'a receipt', ...more);
      expect(ended).toMatchObject({
        code: 1,
        out: expect.stringContaining('has closed: it can no longer be resolved'),
      });
    }
  });

  it('with --look finds a payment whose webhook was lost', async () => {
    const silent = await Stack.start({ webhookUrl: null, api: { POLL_INTERVAL_MS: '3600000' } });
    try {
      const body = await opened(silent);
      silent.sandbox.mark(chargeIdOf(body), { status: 'successful' });
      const look = ['resolve', body.reference, '--look', '--reason', 'the customer shows a receipt'];
      const dry = await tillflow([...look, '--dry-run'], operatorOf(silent));
      expect(dry).toMatchObject({ code: 0, out: expect.stringContaining('would: look up') });
      expect((await silent.get(`/v1/checkouts/${body.id}`)).body.status).toBe('awaiting_payment');
      expect(await tillflow(look, operatorOf(silent))).toMatchObject({
        code: 0,
        out: expect.stringContaining('status: paid'),
      });
      expect(await silent.timeline(body.id)).toContainEqual(
        expect.objectContaining({ what: 'resolve', detail: 'look: the customer shows a receipt' }),
      );
    } finally {
      await silent.stop();
    }
  });

  it('with --abandon exits with 1 when nothing is unresolved', async () => {
    const body = await opened(stack);
    const args = ['resolve', body.id, '--abandon', '--reason', 'tidy up'] as const;
    expect(await operate(...args)).toMatchObject({
      code: 1,
      out: expect.stringContaining('refused (invalid_resolution)'),
    });
    expect(await operateAsProgram(...args)).toMatchObject({
      code: 1,
      json: { outcome: 'refused', code: 'invalid_resolution' },
    });
  });

  it('exits with 3 when no worker runs', async () => {
    const idle = await Stack.start();
    try {
      const body = await opened(idle);
      await idle.stopWorker();
      const { code, err } = await tillflow(['resolve', body.id, '--look', '--reason', 'why not'], operatorOf(idle));
      expect({ code, err }).toMatchObject({ code: 3, err: expect.stringContaining('nothing was requested') });
    } finally {
      await idle.stop();
    }
  });
});

describe('a checkout that needs a person', () => {
  it('is listed with the meaning and the next step, and shows its charge after an operator adopts it', async () => {
    const odd = await Stack.start({
      api: {
        ATTENTION_AFTER_MS: '500',
        LOOK_DELAYS_MS: '300,3600000',
        SEND_WITHIN_MS: '1000',
        CALL_DEADLINE_MS: '1000',
        SETTLE_DELAY_MS: '0',
      },
    });
    try {
      const operateOdd = (...args: string[]): Promise<Ended> => tillflow(args, operatorOf(odd));
      const reference = newReference();
      const quiet = await operateOdd('list', '--attention');
      expect(quiet.code).toBe(0);
      expect(quiet.out).not.toContain(reference);
      // The charge is made, its answer is lost, and the provider does not show it.
      odd.sandbox.faults.add({ method: 'POST', path: '/charges', action: 'commit_then_reset', times: 1 });
      odd.sandbox.faults.add({ method: 'GET', path: '/sources/{id}', action: 'status', status: 500 });
      odd.sandbox.faults.add({ method: 'GET', path: '/charges', action: 'status', status: 500 });
      await odd.create({ reference });
      await vi.waitFor(
        async () => {
          const { out } = await operateOdd('list', '--attention');
          expect(out).toMatch(new RegExp(`^${reference} +creating +THB 1,500.00 .*outcome_unknown for `, 'm'));
        },
        { timeout: 60_000 },
      );
      const { out } = await operateOdd('show', reference);
      expect(out).toMatch(
        /^attention +outcome_unknown for \d+ s: .+\n +means +Tillflow does not know yet whether .+\n +to do +Wait\. .+$/m,
      );
      const [charge] = odd.sandbox.state().charges;
      const adopt = await operateOdd(
        'resolve',
        reference,
        '--adopt',
        charge?.id ?? '',
        '--reason',
        'seen in the dashboard',
      );
      expect(adopt).toMatchObject({ code: 0, out: expect.stringContaining('attention: none') });
      const { body } = await odd.get(`/v1/checkouts/chk_default_${reference}`);
      expect(body).toMatchObject({ status: 'awaiting_payment', attempts: [{ charge_id: charge?.id }] });
    } finally {
      await odd.stop();
    }
  });
});

describe('tillflow setup', () => {
  it('prints the changes with --dry-run, makes them once, and changes nothing the second time', async () => {
    const fresh = await Stack.start({ worker: false, webhookUrl: null });
    const schedule = fresh.temporal.client.schedule.getHandle(nameOnQueue('event-tail', fresh.taskQueue));
    const webhookUri = () => fresh.sandbox.state().account.webhook_uri;
    const address = `${fresh.api.url}/webhooks/provider`;
    try {
      const dry = await tillflow(['setup', '--dry-run'], operatorOf(fresh));
      expect(dry.code).toBe(0);
      expect(dry.out).toContain(`would: send webhooks to ${address}`);
      expect(dry.out).toContain('would: create schedule event-tail@');
      await expect(schedule.describe()).rejects.toThrow('not found');
      expect(webhookUri()).toBeNull();
      const done = await tillflow(['setup'], operatorOf(fresh));
      expect(done).toMatchObject({ code: 0, out: dry.out.replaceAll('would: ', 'done: ') });
      expect(webhookUri()).toBe(address);
      expect(await tillflow(['setup'], operatorOf(fresh))).toMatchObject({ code: 0, out: 'default: nothing to do\n' });
      expect(await tillflow(['setup', '--json'], operatorOf(fresh))).toMatchObject({ out: '{\n  "steps": []\n}\n' });
    } finally {
      await forgetSchedules(fresh);
      await fresh.stop();
    }
  });

  it('does not change the webhook address when PUBLIC_URL is not set', async () => {
    const before = stack.sandbox.state().account.webhook_uri;
    const { out } = await tillflow(['setup', '--dry-run'], { ...operatorOf(stack), PUBLIC_URL: undefined });
    expect(out).not.toContain('webhooks');
    const moved = { ...operatorOf(stack), PUBLIC_URL: 'https://pay.example/' };
    expect((await tillflow(['setup', '--dry-run'], moved)).out).toContain(
      `would: send webhooks to https://pay.example/webhooks/provider instead of ${before}`,
    );
    expect(stack.sandbox.state().account.webhook_uri).toBe(before);
  });

  it('exits with 3 when it cannot reach the provider', async () => {
    const lost = { ...operatorOf(stack), PROVIDER_BASE_URL: 'http://127.0.0.1:1' };
    const { code, err } = await tillflow(['setup', '--dry-run'], lost);
    expect(code).toBe(3);
    expect(err).toContain('The provider does not answer');
  });
});

describe('tillflow backfill and tillflow notices', () => {
  it('notices exits with 3 when no event tail runs', async () => {
    const { code, err } = await operate('notices');
    expect(code).toBe(3);
    expect(err).toContain('No event tail runs');
  });

  it('backfill exits with 3 and requests nothing when no worker runs', async () => {
    const idle = await Stack.start({ worker: false });
    const tail = await TailRun.start(idle);
    try {
      await vi.waitFor(
        async () => {
          const { code, err } = await tillflow(['backfill', '--from', '2026-01-01T00:00:00Z'], operatorOf(idle));
          expect({ code, err }).toMatchObject({ code: 3, err: expect.stringContaining('nothing was requested') });
        },
        { timeout: 60_000 },
      );
    } finally {
      await tail.stop();
      await idle.stop();
    }
  });

  it("read the events again, and show and dismiss notices about the provider's other records", async () => {
    const tailed = await Stack.start({ shared: QUICK_TAIL });
    const tail = await TailRun.start(tailed);
    try {
      const operateTailed = (...args: string[]): Promise<Ended> => tillflow(args, operatorOf(tailed));
      const body = await opened(tailed);
      tailed.sandbox.mark(chargeIdOf(body), { status: 'successful' });
      await tailed.untilStatus(body.id, 'paid');
      await tail.nextPass();
      const from = '2026-01-01T00:00:00Z';
      expect(await operateTailed('backfill', '--from', from, '--dry-run')).toMatchObject({
        code: 0,
        out: expect.stringContaining('would: read all events since 2026-01-01 00:00:00 UTC'),
      });
      const { code, out } = await operateTailed('backfill', '--from', from, '--json');
      expect(code).toBe(0);
      expect((JSON.parse(out) as { read: number }).read).toBeGreaterThanOrEqual(2);

      expect(await operateTailed('notices')).toMatchObject({ code: 0, out: 'No notices.\n' });
      tailed.sandbox.seedRecords({ disputes: [{ charge: chargeIdOf(body) }] });
      const noticed = await vi.waitFor(
        async () => {
          const { notices } = JSON.parse((await operateTailed('notices', '--json')).out) as {
            notices: { id: string }[];
          };
          expect(notices).toHaveLength(1);
          return notices[0]?.id ?? '';
        },
        { timeout: 90_000 },
      );
      const dismiss = ['notices', '--dismiss', noticed, '--reason', 'evidence was sent'];
      expect((await operateTailed(...dismiss, '--dry-run')).out).toContain('would dismiss');
      expect((await operateTailed('notices')).out).toContain(noticed);
      expect((await operateTailed(...dismiss)).code).toBe(0);
      await vi.waitFor(async () => expect((await operateTailed('notices')).out).toBe('No notices.\n'), {
        timeout: 90_000,
      });
      expect((await operateTailed(...dismiss)).code).toBe(1);

      // An event that cannot be placed is shown with its reason, and given up by its own id.
      await fetch(`${tailed.sandboxUrl}/charges`, {
        method: 'POST',
        headers: { authorization: `Basic ${btoa(`${tailed.sandbox.keys.secret}:`)}` },
        body: new URLSearchParams({
          amount: '150000',
          currency: 'THB',
          'source[type]': 'wallet_mpm',
          'metadata[checkout]': 'chk_default_gone',
        }),
      });
      const paid = tailed.sandbox
        .state(['charges'])
        .charges?.find(({ metadata }) => metadata['checkout'] === 'chk_default_gone');
      tailed.sandbox.mark(paid?.id ?? '', { status: 'successful' });
      const event = tailed.sandbox.state(['events']).events?.at(-1)?.id ?? '';
      const shown = new RegExp(`^${event} .* charge.complete of chk_default_gone: checkout_missing`, 'm');
      await vi.waitFor(async () => expect((await operateTailed('notices')).out).toMatch(shown), { timeout: 90_000 });
      const giveUp = ['notices', '--dismiss', event, '--reason', 'another stage'];
      expect(await operateTailed(...giveUp)).toMatchObject({
        code: 0,
        out: expect.stringContaining('checkout_missing'),
      });
      await vi.waitFor(async () => expect((await operateTailed('notices')).out).toBe('No notices.\n'), {
        timeout: 90_000,
      });
    } finally {
      await tail.stop();
      await tailed.stop();
    }
  });
});

describe('tillflow endpoints', () => {
  it('adds, lists, changes and deletes an endpoint, and shows its secret once', async () => {
    const endpoints = (...args: string[]): Promise<Ended> => operate('endpoints', ...args);
    const receiver = await Receiver.start();
    try {
      expect(await endpoints('--add', 'https://10.0.0.1/')).toMatchObject({
        code: 1,
        out: expect.stringContaining('10.0.0.1 is not a public address'),
      });
      expect(await endpoints('--add', receiver.url, '--dry-run')).toMatchObject({ code: 0 });
      expect((await endpoints()).out).toContain('No endpoints.');
      const added = await endpoints('--add', receiver.url, '--events', 'paid,checkout.refunded');
      const [, id = '', secret = ''] = /added: (evep_\w+)\nsecret: (whsec_\S+)/.exec(added.out) ?? [];
      expect(id).not.toBe('');
      const listed = await eventually(async () => {
        const { out } = await endpoints();
        expect(out).toContain(id);
        return out;
      });
      expect(listed).toContain('paid,refunded');
      expect(listed).not.toContain(secret);

      expect((await endpoints('--disable', id)).out).toContain(`disabled: ${id}`);
      await expect.poll(async () => (await endpoints()).out).toContain('disabled (requested)');
      expect((await endpoints('--enable', id)).out).toContain(`enabled: ${id}`);
      const rotated = /secret: (\S+)/.exec((await endpoints('--rotate', id)).out)?.[1] ?? '';
      expect((await endpoints('--test', id)).out).toContain('sent: evt_');
      await expect.poll(() => receiver.received).toHaveLength(1);
      const [delivery] = receiver.received;
      if (delivery !== undefined) {
        for (const one of [secret, rotated]) new Webhook(one).verify(delivery.raw, delivery.headers);
      }
      await expect.poll(async () => (await endpoints('--deliveries', id)).out).toMatch(/test\s+-\s+200/);
      const range = ['--from', '2026-11-21T00:00:00Z', '--to', '2026-11-22T00:00:00Z'];
      expect((await endpoints('--replay', id, ...range)).code).toBe(0);
      expect((await endpoints('--delete', id, '--dry-run')).out).toContain(`would delete ${id}`);
      expect((await endpoints('--delete', id)).out).toContain(`deleted: ${id}`);
      for (const action of ['--enable', '--delete', '--deliveries', '--test']) {
        expect(await endpoints(action, id)).toMatchObject({
          code: 1,
          out: expect.stringContaining('No event endpoint'),
        });
      }
    } finally {
      await receiver.close();
    }
  });
});

describe('tillflow reconcile', () => {
  const agoMs = (milliseconds: number): string => new Date(Date.now() - milliseconds).toISOString();

  it('exits with 3 when no worker polls, and says that the run continues without the command', async () => {
    const idle = await Stack.start({ worker: false });
    try {
      const ended = await tillflow(['reconcile', '--from', agoMs(7_200_000), '--to', agoMs(0)], operatorOf(idle));
      expect(ended).toMatchObject({ code: 3, err: expect.stringContaining(`No worker polls ${idle.taskQueue}`) });
    } finally {
      await idle.stop();
    }
  });

  it('suggests commands that run as they are written', async () => {
    const deaf = await Stack.start({
      api: { POLL_INTERVAL_MS: '86400000' },
      shared: { RECONCILE_SETTLEMENT_DAYS: '1' },
      sandbox: { now: agoMs(3_600_000) },
      webhookUrl: null,
    });
    try {
      const { id, ...body } = await opened(deaf);
      deaf.sandbox.mark(chargeIdOf(body), { status: 'successful' });
      const compare = ['reconcile', '--from', agoMs(7_200_000), '--to', agoMs(0), '--dry-run', '--json'];
      const dry = await tillflow(compare, operatorOf(deaf));
      const { breaks } = JSON.parse(dry.out) as { breaks: { type: string; suggested_action: string }[] };
      const runSuggested = (of: string): Promise<Ended> => {
        const action = breaks.find(({ type }) => type === of)?.suggested_action ?? '';
        expect(action).toMatch(/^pnpm tillflow /);
        return tillflow(action.split(' ').slice(2), operatorOf(deaf));
      };
      const again = await runSuggested('unsettled');
      expect(again).toMatchObject({ code: 1, out: expect.stringMatching(new RegExp(`^\\d+ +unsettled +${id}`, 'm')) });
      expect(await runSuggested('status')).toMatchObject({ code: 0 });
      expect((await deaf.get(`/v1/checkouts/${id}`)).body.status).toBe('paid');
    } finally {
      await deaf.stop();
    }
  });

  it('heals a missed payment, only reports it with --dry-run, and finds no break afterwards', async () => {
    const deaf = await Stack.start({
      api: { POLL_INTERVAL_MS: '86400000' },
      sandbox: { now: agoMs(3_600_000) },
      webhookUrl: null,
    });
    try {
      const body = await opened(deaf);
      deaf.sandbox.mark(chargeIdOf(body), { status: 'successful' });
      const compare = ['reconcile', '--from', agoMs(7_200_000), '--to', agoMs(0)];
      const dry = await tillflow([...compare, '--dry-run'], operatorOf(deaf));
      expect(dry.code).toBe(1);
      expect(dry.out).toMatch(/^rec_\S+: completed, dry run$/m);
      expect(dry.out).toMatch(
        new RegExp(
          `^1 +status +${body.id} +awaiting_payment THB 1,500.00 +successful THB 1,500.00 +pnpm tillflow resolve`,
          'm',
        ),
      );
      expect((await deaf.get(`/v1/checkouts/${body.id}`)).body.status).toBe('awaiting_payment');
      const { code, out } = await tillflow([...compare, '--json'], operatorOf(deaf));
      expect(code).toBe(1);
      expect(JSON.parse(out)).toMatchObject({
        status: 'completed',
        dry_run: false,
        breaks: [{ type: 'status', checkout_id: body.id, actual: { amount: 150_000, currency: 'THB' }, healed: true }],
        foreign: [],
        failure: null,
      });
      expect((await deaf.get(`/v1/checkouts/${body.id}`)).body.status).toBe('paid');
      expect(await tillflow([...compare, '--dry-run'], operatorOf(deaf))).toMatchObject({ code: 0 });
    } finally {
      await deaf.stop();
    }
  });
});
