import type { AttentionCode } from '@tillflow/workflows';
import type { Life } from '../life.js';
import { DASHBOARD_REFUND } from '../people/customer.js';
import type { World } from '../world.js';
import { Stage } from './stage.js';

/** Seconds in which the customer of a script can pay. Most scripts are over before. */
const LONG = 300;
const SHORT = 60;
/** A read of the event tail that is under way ends within this. Milliseconds. */
const TAIL_ENDS_MS = 60_000;

/** A local activity ends within this. Milliseconds. */
const LOCAL_ACTIVITY_ENDS_MS = 6_000;

const CHARGES = { method: 'POST', path: '/charges' } as const;
const REFUNDS = { method: 'POST', path: '/charges/{id}/refunds' } as const;
const RETRIEVE = { method: 'GET', path: '/charges/{id}' } as const;

type Script = { readonly seconds?: number; readonly play: (stage: Stage) => Promise<void> };

/** The provider shows these fields of the charge. An operator sees the attention. */
async function wrongChargeIsShown(stage: Stage, fields: object, attention: AttentionCode): Promise<void> {
  await stage.create();
  const { charge } = stage;
  stage.fail({ ...RETRIEVE, action: 'replace_records', records: { [charge.id]: { ...charge, ...fields } } });
  await stage.life.lookUp();
  await stage.within(2_000, 6, 'shows it to a person', () => stage.attention === attention);
  stage.heal();
}

/** The charge says later whether a void is possible. Until then, the till is shown what the clock of the workflow allows. */
async function refundIsShown(stage: Stage): Promise<void> {
  stage.fail({ ...RETRIEVE, action: 'delay', delay_ms: 2_000, times: 1 });
  stage.later(stage.life.till.refund(null));
  const refunds = (): readonly { readonly kind: string }[] => stage.memo?.refunds ?? [];
  await stage.within(1_000, 12, 'shows the refund', () => refunds().length === 1);
  stage.expect(12, `the till is shown a refund, no void: ${refunds()[0]?.kind}`, refunds()[0]?.kind === 'refund');
  stage.stopClockOfWorkflows(null);
}

/**
 * A retrieve shows a change, and the payment is refunded at the dashboard while the answer is on its way. A local activity
 * comes first, during which no message arrives: it gets no answer.
 * @param refunded what the checkout must show then, in the smallest currency unit
 */
async function refundDuringRetrieve(stage: Stage, change: () => unknown, refunded: number): Promise<void> {
  stage.loseWebhooks();
  await change();
  stage.heal();
  stage.fail({ ...RETRIEVE, action: 'hang' });
  stage.later(stage.life.lookUp());
  await stage.sleep(LOCAL_ACTIVITY_ENDS_MS);
  stage.answer();
  await refundDuringNextRetrieve(stage, refunded);
}

/** @param refunded what the checkout must show then, in the smallest currency unit */
async function refundDuringNextRetrieve(stage: Stage, refunded: number): Promise<void> {
  stage.fail({ ...RETRIEVE, action: 'commit_then_delay', delay_ms: 2_000, times: 1 });
  const before = stage.count(`GET ${stage.chargePath}`);
  const isRetrieved = (): boolean => stage.count(`GET ${stage.chargePath}`) > before;
  await stage.within(20_000, 6, 'retrieves its charge again', isRetrieved);
  await stage.sleep(500);
  await stage.life.customer.refundAtDashboard();
  await stage.within(8_000, 6, `shows ${refunded} as refunded`, () => stage.memo?.state?.refunded_amount === refunded);
}

/** What must become right within a stated time, or to the millisecond: random lives rarely come to it, or never. */
const SCRIPTS: Readonly<Record<string, Script>> = {
  'a webhook comes before the answer to its charge': {
    play: async (stage) => {
      stage.fail({ ...CHARGES, action: 'commit_then_delay', delay_ms: 3_000 });
      const creating = stage.life.create();
      await stage.within(2_000, 6, 'has a charge', () => stage.life.customer.charges.length > 0);
      stage.pay();
      await stage.within(5_000, 5, 'is paid', () => stage.status === 'paid');
      await creating;
    },
  },
  'Temporal does not answer the API while a checkout is created': {
    play: async (stage) => {
      stage.silenceTemporal(30_000);
      await stage.life.create();
      await stage.within(40_000, 6, 'shows its QR code', () => stage.status === 'awaiting_payment');
    },
  },
  'the retrieve after a webhook does not show the payment yet': {
    play: async (stage) => {
      await stage.create();
      const { charge } = stage;
      stage.fail({ ...RETRIEVE, action: 'replace_records', records: { [charge.id]: charge }, times: 1 });
      stage.pay();
      await stage.within(4_000, 5, 'is paid', () => stage.status === 'paid');
    },
  },
  'no webhook comes': {
    play: async (stage) => {
      stage.loseWebhooks();
      await stage.create();
      stage.pay();
      await stage.within(27_000, 5, 'is paid', () => stage.status === 'paid');
    },
  },
  'the customer does not pay, and no webhook comes': {
    seconds: SHORT,
    play: async (stage) => {
      stage.loseWebhooks();
      await stage.create();
      await stage.sleep(SHORT * 1_000 - 2_000);
      await stage.within(5_000, 6, 'is expired', () => stage.status === 'expired');
    },
  },
  'the provider loses each create': {
    play: async (stage) => {
      stage.fail({ ...CHARGES, action: 'reset_before' });
      stage.later(stage.life.create());
      await stage.sleep(80_000);
      stage.expect(6, 'it shows that the outcome is unknown', stage.attention === 'outcome_unknown');
      await stage.sleep(160_000);
      const tries = stage.count('POST /charges');
      stage.expect(2, `its create is repeated with pauses that grow: ${tries} tries in 4 minutes`, tries <= 6);
      stage.heal();
    },
  },
  'a charge appears after its checkout was cancelled': {
    // The code of a shorter time is over when the late charge is searched for.
    seconds: 1_800,
    play: async (stage) => {
      stage.loseWebhooks();
      stage.fail({ ...CHARGES, action: 'delay', delay_ms: 60_000, times: 1 });
      stage.later(stage.life.create());
      await stage.sleep(2_000);
      stage.later(stage.life.till.cancel());
      await stage.within(40_000, 6, 'is cancelled', () => stage.status === 'cancelled');
      await stage.within(40_000, 2, 'has a charge', () => stage.life.customer.charges.length === 1);
      const isEnded = (): boolean => stage.life.customer.charges.every(({ status }) => status !== 'pending');
      await stage.within(420_000, 2, 'has no charge that can be paid', isEnded);
    },
  },
  'a create takes effect after the provider has refused its repetition': {
    play: async (stage) => {
      stage.fail(
        { ...CHARGES, action: 'delay', delay_ms: 32_000, times: 1 },
        { ...CHARGES, action: 'status', status: 400, times: 1 },
      );
      await stage.life.create();
      await stage.within(60_000, 2, 'shows a QR code', () => stage.status === 'awaiting_payment');
    },
  },
  'lists do not show a charge whose answer is lost': {
    play: async (stage) => {
      stage.loseWebhooks();
      stage.fail({ ...CHARGES, action: 'commit_then_reset', times: 1 });
      stage.lieInLists('provider: lists without the newest records', 70_000);
      await stage.life.create();
      await stage.sleep(90_000);
      stage.expect(2, 'its create is not repeated', stage.count('POST /charges') === 1);
    },
  },
  'a refund whose answer is lost is listed without its key': {
    play: async (stage) => {
      await stage.createAndPay();
      stage.fail({ ...REFUNDS, action: 'commit_then_reset', times: 1 });
      stage.lieInLists('provider: refunds listed without keys', 600_000);
      stage.later(stage.life.till.refund(20_000));
      await stage.sleep(60_000);
      stage.expect(2, 'a person sees it', stage.attention === 'refund_unmatched');
      await stage.sleep(540_000);
      const retrieves = stage.count(`GET ${stage.chargePath}`);
      stage.expect(2, `the refund is looked up less and less: ${retrieves} retrieves in 10 minutes`, retrieves <= 12);
    },
  },
  'a refund whose answer is lost is listed in another currency': {
    play: async (stage) => {
      await stage.createAndPay();
      stage.fail({ ...REFUNDS, action: 'commit_then_reset', times: 1 });
      stage.lieInLists('provider: refunds listed in another currency', 60_000);
      stage.later(stage.life.till.refund(20_000));
      await stage.sleep(30_000);
      stage.expect(3, 'the refund is not believed', stage.memo?.refunds?.[0]?.status === 'pending');
      stage.expect(3, 'a person sees it', stage.attention === 'integrity_mismatch');
    },
  },
  'a payment is shown as pending again': {
    play: async (stage) => {
      await stage.create();
      const { charge } = stage;
      stage.pay();
      await stage.within(2_000, 5, 'is paid', () => stage.status === 'paid');
      await stage.sleep(10_000);
      stage.fail({ ...RETRIEVE, action: 'replace_records', records: { [charge.id]: charge }, times: 2 });
      await stage.life.lookUp();
      await stage.sleep(60_000);
      const seen = stage.memo?.timeline?.filter(({ what }) => what === 'paid' || what === 'paid_twice') ?? [];
      stage.expect(1, `it is paid once: ${seen.map(({ what }) => what).join(', ')}`, seen.length === 1);
      const expires = stage.count(`POST ${stage.chargePath}/expire`);
      stage.expect(2, 'a payment is not expired', expires === 0);
    },
  },
  'the provider shows a status that no version knows': {
    play: (stage) => wrongChargeIsShown(stage, { status: 'held' }, 'unknown_status'),
  },
  'the provider shows another charge': {
    play: (stage) => wrongChargeIsShown(stage, { id: 'chrg_test_0000000000another' }, 'integrity_mismatch'),
  },
  'a customer pays in the millisecond of the void cut-off': {
    play: async (stage) => {
      const cutOff = stage.nextCutOff;
      await stage.skipTo(cutOff - 60_000);
      await stage.create();
      await stage.at(cutOff);
      stage.stopClockOfWorkflows(cutOff - 1_000);
      stage.pay();
      await stage.within(2_000, 5, 'is paid', () => stage.status === 'paid');
      const { voidable_until: until } = stage.memo?.state ?? {};
      stage.expect(12, `it has no time to void, and shows ${until}`, until === null);
      await refundIsShown(stage);
    },
  },
  'a till refunds in the millisecond of the void cut-off': {
    play: async (stage) => {
      const cutOff = stage.nextCutOff;
      await stage.skipTo(cutOff - 60_000);
      await stage.createAndPay();
      await stage.at(cutOff - 3_000);
      stage.stopClockOfWorkflows(cutOff);
      await refundIsShown(stage);
      await stage.within(10_000, 12, 'is refunded', () => stage.status === 'refunded');
    },
  },
  'a till refunds in the last millisecond of the refund window': {
    play: async (stage) => {
      await stage.createAndPay();
      const end = Date.parse(stage.memo?.state?.refundable_until ?? '');
      await stage.skipTo(end - 60_000);
      await stage.at(end - 3_000);
      stage.stopClockOfWorkflows(end);
      await stage.life.till.refund(null);
      stage.stopClockOfWorkflows(null);
      stage.expect(12, 'it is refunded', stage.status === 'refunded');
    },
  },
  'a refund at the dashboard follows another one, while a retrieve shows the other': {
    play: async (stage) => {
      await stage.createAndPay();
      await stage.sleep(2_000);
      await refundDuringRetrieve(stage, () => stage.life.customer.refundAtDashboard(), 2 * DASHBOARD_REFUND);
    },
  },
  'a refund at the dashboard follows a payment, while a retrieve shows the payment': {
    play: async (stage) => {
      // With the attention, the workflow publishes the id of its charge, by which the webhook of a refund finds it.
      await wrongChargeIsShown(stage, { id: 'chrg_test_0000000000another' }, 'integrity_mismatch');
      await stage.life.lookUp();
      await stage.sleep(2_000);
      await refundDuringRetrieve(stage, () => stage.pay(), DASHBOARD_REFUND);
    },
  },
  'a till cancels when it has the QR code, before its workflow has written it': {
    play: async (stage) => {
      stage.fail({ ...CHARGES, action: 'delay', delay_ms: 500, times: 1 });
      stage.later(stage.life.create());
      await stage.within(2_000, 6, 'creates its charge', () => stage.count('POST /charges') === 1);
      stage.loseWorkflowTasks(1);
      const { till } = stage.life;
      await stage.within(2_000, 6, 'shows its QR code', () => till.shown.some(({ hasQr }) => hasQr));
      stage.loseWorkflowTasks(0);
      stage.expect(6, 'its workflow has written nothing', stage.status === 'creating');
      stage.later(till.cancel());
      await stage.within(20_000, 6, 'is cancelled', () => stage.status === 'cancelled');
    },
  },
  'a refund that is made and answered as refused is listed in another currency': {
    play: async (stage) => {
      await stage.createAndPay();
      stage.fail({ ...REFUNDS, action: 'commit_then_status', status: 400, times: 1 });
      stage.lieInLists('provider: refunds listed in another currency', 60_000);
      stage.later(stage.life.till.refund(20_000));
      await stage.sleep(30_000);
      const [refund] = stage.memo?.refunds ?? [];
      stage.expect(2, `the refund is not reported as rejected: ${refund?.status}`, refund?.status === 'pending');
    },
  },
  'two webhooks name a charge before the checkout has it, and it is refunded at the dashboard meanwhile': {
    play: async (stage) => {
      stage.doubleWebhooks();
      stage.fail({ ...CHARGES, action: 'commit_then_reset', times: 1 }, { ...RETRIEVE, action: 'hang' });
      stage.lieInLists('provider: lists without the newest records', 120_000);
      stage.later(stage.life.create());
      await stage.within(2_000, 6, 'has a charge', () => stage.life.customer.charges.length > 0);
      stage.pay();
      await stage.sleep(LOCAL_ACTIVITY_ENDS_MS);
      stage.answer();
      await refundDuringNextRetrieve(stage, DASHBOARD_REFUND);
    },
  },
};

const NAMES = Object.keys(SCRIPTS);
export const SCRIPT_COUNT = NAMES.length;

/** The script of this world: each comes once before any comes twice. Null: three of four worlds have none. */
export function scriptOf(batch: number): string | null {
  return batch % 4 === 0 ? (NAMES[(batch / 4) % NAMES.length] as string) : null;
}

/**
 * Plays a script after the faults of a world.
 * @param firstLife the number of the first life of this world
 * @returns its checkout, which must become final
 */
export async function playScript(name: string, world: World, firstLife: number): Promise<Life> {
  const { seconds = LONG, play } = SCRIPTS[name] as Script;
  world.trace.note(`script: ${name}`);
  world.pauseTail();
  const stage = new Stage(world, firstLife, name, seconds);
  await stage.sleep(TAIL_ENDS_MS);
  await play(stage);
  stage.end();
  return stage.life;
}
