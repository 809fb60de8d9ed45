/** Every kind of difference between our books and the provider's, in the order in which they are listed. */
export const BREAK_TYPES = [
  /** The provider has a paid charge of ours whose checkout we do not have. */
  'missing_here',
  /** We have a payment or a refund that the provider does not have. */
  'missing_there',
  'amount',
  'currency',
  /** Both have it, and only one of them says that money moved. */
  'status',
  /** A refund that no one asked us for. */
  'refund_made_outside',
  /** A second payment of a checkout, whose money has not gone back. */
  'duplicate_payment',
  /** The fees are not what the provider's own rates, or its balance, say. */
  'fee_difference',
  /** The balance does not show the payment, or pays it out later than it should. */
  'unsettled',
  /** A receipt states other fees than the charges of its month. */
  'receipt_total',
] as const;
export type BreakType = (typeof BREAK_TYPES)[number];

/** What one side says. */
export type Stated = {
  /** In that side's own words; null where only an amount is compared. */
  readonly status: string | null;
  /** Smallest currency unit. */
  readonly amount: number;
  readonly currency: string;
};

/** One difference between our books and the provider's. Wire names. */
export type Break = {
  readonly type: BreakType;
  readonly checkout_id: string | null;
  readonly charge_id: string | null;
  readonly refund_id: string | null;
  readonly transaction_id: string | null;
  readonly receipt_id: string | null;
  /** What our books say, or what follows from the provider's own rates; null: nothing. */
  readonly expected: Stated | null;
  /** What the provider says; null: nothing. */
  readonly actual: Stated | null;
  /** From the payment, refund or receipt to the run, in seconds. */
  readonly age_seconds: number;
  /** A command of the operator's command line. */
  readonly suggested_action: string;
  /** Our books have caught up since: nothing is left to be done. */
  readonly healed: boolean;
};

/** What a break is about, from which the rest of it follows. */
export type BreakFacts = Pick<Break, 'type' | 'expected' | 'actual'> &
  Partial<Pick<Break, 'checkout_id' | 'charge_id' | 'refund_id' | 'transaction_id' | 'receipt_id' | 'healed'>> & {
    /** Milliseconds since the payment, refund or receipt. */
    readonly ageMs: number;
    /** ISO 8601 UTC: from and until when a person would look. */
    readonly around: { readonly from: string; readonly to: string };
    /** The checkout looks no more. */
    readonly isClosed?: boolean;
  };

export function toBreak({ ageMs, around, isClosed = false, ...facts }: BreakFacts): Break {
  const named = {
    checkout_id: null,
    charge_id: null,
    refund_id: null,
    transaction_id: null,
    receipt_id: null,
    healed: false,
    ...facts,
  };
  const { type, checkout_id, charge_id, refund_id, transaction_id, receipt_id, expected, actual, healed } = named;
  return {
    type,
    checkout_id,
    charge_id,
    refund_id,
    transaction_id,
    receipt_id,
    expected,
    actual,
    age_seconds: Math.max(0, Math.floor(ageMs / 1_000)),
    suggested_action: suggestedAction(named, around, isClosed),
    healed,
  };
}

function suggestedAction(
  { type, checkout_id: checkout, charge_id: charge, refund_id: refund, actual }: Omit<BreakFacts, 'ageMs' | 'around'>,
  { from, to }: BreakFacts['around'],
  isClosed: boolean,
): string {
  const again = `pnpm tillflow reconcile --from ${from} --to ${to} --dry-run`;
  const backfill = `pnpm tillflow backfill --from ${from}`;
  if (checkout === null || checkout === undefined) return again;
  const show = `pnpm tillflow show ${checkout}`;
  const look = `pnpm tillflow resolve ${checkout} --look --reason reconciliation`;
  switch (type) {
    // The event tail then places what came for a checkout that was not there, or had closed.
    case 'missing_here':
      return backfill;
    case 'amount':
    case 'currency':
    case 'fee_difference':
      return show;
    case 'status':
      if (!isClosed) return look;
      // A closed checkout is opened again by a payment alone.
      return actual?.status === 'successful' && (refund ?? null) === null ? backfill : show;
    case 'missing_there':
    case 'refund_made_outside':
      return isClosed ? show : look;
    // It is verified, and goes back by itself once the checkout knows of it.
    case 'duplicate_payment':
      if (isClosed) return backfill;
      return `pnpm tillflow resolve ${checkout} --adopt ${refund ?? charge ?? ''} --reason reconciliation`;
    case 'unsettled':
    case 'receipt_total':
      return again;
  }
}

/** The one order in which breaks are listed: by type, then by ids. */
export function compareBreaks(a: Break, b: Break): number {
  const byType = BREAK_TYPES.indexOf(a.type) - BREAK_TYPES.indexOf(b.type);
  return byType === 0 ? compareTexts(idsOf(a), idsOf(b)) : byType;
}

/** The same difference found twice is the same text. */
export function idsOf({ type, checkout_id, charge_id, refund_id, transaction_id, receipt_id }: Break): string {
  return [type, checkout_id, charge_id, refund_id, transaction_id, receipt_id].map((id) => id ?? '').join(' ');
}

/** By code unit: the same on every machine. */
function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/**
 * Whether a look of the checkout itself mends it without a person: a payment that was missed, and a refund that it has
 * to know of. Everything else stays with a person.
 */
export function healsByLooking({ type, checkout_id, actual, healed }: Break): boolean {
  if (healed || checkout_id === null) return false;
  return type === 'refund_made_outside' || (type === 'status' && actual?.status === 'successful');
}
