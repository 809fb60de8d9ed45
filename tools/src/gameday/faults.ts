import type { Fault } from '@tillflow/sandbox';
import type { Production } from './production.js';

/** Something that breaks, and what the people on call must see of it. */
export type GameDayFault = {
  readonly name: string;
  /** The alert of `deploy/prometheus/alerts.yml` that must fire. */
  readonly alert: string;
  /** Pages that belong to it, and why it has them. */
  readonly alsoPages?: { readonly alerts: readonly string[]; readonly why: string };
  /** The store may have lost a checkout, or a charge of one, that was not paid. A charge can be paid until it expires. */
  readonly losesUnpaid?: true;
  /** Before the fault: nothing is broken yet. */
  prepare?(production: Production): Promise<void>;
  begin(production: Production): Promise<void>;
  end(production: Production): Promise<void>;
};

const TEN_MINUTES_MS = 600_000;

/** Requests that meet these faults of the provider's sandbox. */
function provider(name: string, alert: string, ...faults: readonly Fault[]): GameDayFault {
  return {
    name,
    alert,
    begin: async ({ sandbox }) => sandbox.faults.add(faults),
    end: async ({ sandbox }) => sandbox.faults.clear(),
  };
}

function webhooks(name: string, alert: string, faults: Parameters<Production['configureWebhooks']>[0]): GameDayFault {
  return {
    name,
    alert,
    begin: async (production) => production.configureWebhooks(faults),
    end: async (production) => production.configureWebhooks(),
  };
}

export const FAULTS: readonly GameDayFault[] = [
  {
    name: 'the provider is down',
    alert: 'TillflowProviderUnreachable',
    begin: async ({ lineToProvider }) => lineToProvider.refuse(),
    end: async ({ lineToProvider }) => lineToProvider.mend(),
  },
  provider('the provider is slow', 'TillflowProviderSlow', { action: 'delay', delay_ms: 3_200 }),
  provider('the provider refuses the key', 'TillflowPaymentsRefused', { action: 'status', status: 401 }),
  provider('the provider loses answers', 'TillflowProviderUnknown', { action: 'commit_then_reset', probability: 0.3 }),
  provider('the provider rejects calls with 429', 'TillflowPaymentsRefused', { action: 'status', status: 429 }),
  webhooks('webhooks are lost', 'TillflowWebhooksMissing', { drop: 1 }),
  webhooks('webhooks have a wrong secret', 'TillflowWebhooksRefused', { corrupt_signature: 1 }),
  {
    name: 'Temporal is down',
    alert: 'TillflowTemporalDown',
    alsoPages: {
      alerts: ['TillflowApiDown'],
      why: 'a scrape waits up to 4 s for Temporal, and may take 10 s in production, but 1 s here',
    },
    begin: ({ temporal }) => temporal.kill(),
    end: ({ temporal }) => temporal.start(),
  },
  {
    name: 'one of two workers is stuck',
    alert: 'TillflowWorkerStuck',
    begin: ({ workers: [, second] }) => second.freeze(),
    end: ({ workers: [, second] }) => second.thaw(),
  },
  {
    name: 'all workers are gone',
    alert: 'TillflowWorkerDown',
    begin: async ({ workers }) => void (await Promise.all(workers.map((worker) => worker.kill()))),
    end: async ({ workers }) => void (await Promise.all(workers.map((worker) => worker.start()))),
  },
  {
    name: 'the API is down',
    alert: 'TillflowApiDown',
    begin: ({ api }) => api.kill(),
    end: ({ api }) => api.start(),
  },
  {
    name: 'a clock is ten minutes ahead',
    alert: 'TillflowWorkerClock',
    begin: (production) => production.restartWithClock(production.workers[1], TEN_MINUTES_MS),
    end: (production) => production.restartWithClock(production.workers[1], 0),
  },
  restoredStore(),
];

function restoredStore(): GameDayFault {
  let backedUpAt = '';
  return {
    name: 'the store is restored from an older backup',
    alert: 'TillflowNotices',
    alsoPages: {
      alerts: ['TillflowApiDown', 'TillflowWorkerDown', 'TillflowTemporalDown'],
      why: 'the runbook stops everything during the restore, and the API before its backfill',
    },
    losesUnpaid: true,
    prepare: async (production) => {
      backedUpAt = new Date().toISOString();
      await stopped(production, () => production.temporal.backUp());
    },
    begin: (production) => stopped(production, () => production.temporal.restore()),
    // What the runbook says, once the alert has called an operator.
    end: async (production) => {
      await production.api.kill();
      await production.tillflow('backfill', '--from', backedUpAt);
      await production.api.start();
      await keepTheSales(production);
      await production.tillflow('reconcile', '--from', backedUpAt, '--to', new Date().toISOString());
    },
  };
}

/** Does the work while API and workers are stopped. */
async function stopped({ api, workers }: Production, work: () => Promise<void>): Promise<void> {
  const programs = [api, ...workers];
  await Promise.all(programs.map((program) => program.kill()));
  await work();
  await Promise.all(programs.map((program) => program.start()));
}

/**
 * The runbook's step for each payment whose checkout the store has lost: the till sends its request again, and the operator
 * adopts the charge.
 */
async function keepTheSales(production: Production): Promise<void> {
  const { charges = [] } = production.sandbox.state(['charges']);
  const missing = (await production.tillflow('notices')).matchAll(/checkout_missing:(chrg_\w+)/g);
  for (const [notice, chargeId] of missing) {
    const charge = charges.find(({ id }) => id === chargeId);
    const checkout = charge?.metadata['checkout'];
    if (charge === undefined || typeof checkout !== 'string') continue;
    const { amount, currency } = charge;
    const reference = checkout.replace(/^chk_default_/, '');
    await production.request('POST', '/v1/checkouts', { reference, amount, currency });
    const reason = ['--reason', 'the sale stands'];
    await production.tillflow('resolve', reference, '--adopt', chargeId ?? '', ...reason);
    await production.tillflow('notices', '--dismiss', notice, ...reason);
  }
}
