/** The shop that the receipts of the demo and of the pictures show. */
const SHOP = {
  SHOP_NAME: 'Sunrise Coffee',
  SHOP_ADDRESS: '99 Rama IV Road|Bangkok 10500',
  SHOP_TAX_ID: '0105551234567',
  QR_NETWORK_NAME: 'Example Pay',
  BUSINESS_TIMEZONE: 'Asia/Bangkok',
  BUSINESS_DAY_START: '00:00',
};

/** The store and the till of the demo's checkouts. */
export const DEMO_TILL = { store: { id: 'silom', name: 'Silom Road' }, terminal: 'till-7' } as const;

/** The arguments of `tillflow` that make a link to the counter of this till. */
export const DEMO_COUNTER = [
  'counter-link',
  `--terminal=${DEMO_TILL.terminal}`,
  `--store=${DEMO_TILL.store.id}`,
  `--store-name=${DEMO_TILL.store.name}`,
];

/** The date of the demo's shop, `YYYY-MM-DD`. */
export function demoDate(): string {
  // Canada writes dates like this.
  return new Date().toLocaleDateString('en-CA', { timeZone: SHOP.BUSINESS_TIMEZONE });
}

/**
 * The environment of a stack with its own ports and keys, so that it can run beside another one. It uses
 * TEMPORAL_ADDRESS if that is set.
 */
export function demoSettings(): NodeJS.ProcessEnv {
  const notInherited = /^(PORT|HOST|PUBLIC_URL|SANDBOX_PORT|API_KEYS|URL_SIGNING_KEY|PROVIDER_.*|BUSINESS_.*)$/;
  const kept = Object.entries(process.env).filter(([name]) => !notInherited.test(name));
  return {
    // On a shared Temporal server, no other worker may take the demo's tasks.
    TEMPORAL_TASK_QUEUE: `tillflow-demo-${process.pid}`,
    ...SHOP,
    ...Object.fromEntries(kept),
    // The demo reconciles payments that are seconds old.
    RECONCILE_MIN_AGE_MS: '0',
  };
}
