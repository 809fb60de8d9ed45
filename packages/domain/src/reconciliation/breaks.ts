/** Every kind of difference between Tillflow's records and the provider's, in the order of lists. */
export const BREAK_TYPES = [
  /** The provider has a paid charge of Tillflow's whose checkout does not exist. */
  'missing_here',
  /** Tillflow has a payment or a refund that the provider does not have. */
  'missing_there',
  'amount',
  'currency',
  /** Both have the record, and only one of them says that money moved. */
  'status',
  /** A refund that was not requested through Tillflow. */
  'refund_made_outside',
  /** A second payment of a checkout that is not returned. */
  'duplicate_payment',
  /** The fees differ from the provider's own rates, or from its balance. */
  'fee_difference',
  /** The balance does not show the payment, or its payout is late. */
  'unsettled',
  /** The fees on a receipt differ from the charges of its month. */
  'receipt_total',
] as const;
export type BreakType = (typeof BREAK_TYPES)[number];

/** A record as one side states it. */
export type Stated = {
  /** As that side spells it; null when only an amount is compared. */
  readonly status: string | null;
  /** Smallest currency unit. */
  readonly amount: number;
  readonly currency: string;
};

/**
 * Who made a change at the provider, as its event names them; null for a name that it lacks. Source: API reference,
 * "Event".
 */
export type MadeBy = {
  readonly actor_uid: string | null;
  readonly user_uid: string | null;
  readonly team_uid: string | null;
};

/** A person knows this break and wants no further report of it. Wire names. */
export type Acknowledgement = {
  /** As `Attributed` spells it: the name of an API key, or `cli:<user>`. */
  readonly by: string;
  /** ISO 8601 UTC. */
  readonly at: string;
  readonly reason: string;
};

/** One difference between Tillflow's records and the provider's. Wire names. */
export type Break = {
  readonly type: BreakType;
  readonly checkout_id: string | null;
  readonly charge_id: string | null;
  readonly refund_id: string | null;
  readonly transaction_id: string | null;
  readonly receipt_id: string | null;
  /** As Tillflow states it, or as it follows from the provider's own rates; null: no record. */
  readonly expected: Stated | null;
  /** As the provider states it; null: no record. */
  readonly actual: Stated | null;
  /** From the payment, refund or receipt to the run, in seconds. */
  readonly age_seconds: number;
  /** A command line for the operator. */
  readonly suggested_action: string;
  /** Tillflow's records are correct by now: no action is needed. */
  readonly healed: boolean;
  /** Who made a refund outside. Absent for every other break, and when the provider has no event of the refund. */
  readonly made_by?: MadeBy;
  /** Absent while no person has acknowledged the break. */
  readonly acknowledged?: Acknowledgement;
};

/** The facts from which a break is built. */
export type BreakFacts = Pick<Break, 'type' | 'expected' | 'actual'> &
  Partial<Pick<Break, 'checkout_id' | 'charge_id' | 'refund_id' | 'transaction_id' | 'receipt_id' | 'healed'>> & {
    /** Milliseconds since the payment, refund or receipt. */
    readonly ageMs: number;
    /** ISO 8601 UTC: the time range in which an operator finds the record. */
    readonly around: { readonly from: string; readonly to: string };
    /** The checkout's workflow has ended. */
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

type Facts = Pick<Break, 'type' | 'checkout_id' | 'charge_id' | 'refund_id' | 'actual'>;

function suggestedAction(
  { type, checkout_id: checkout, charge_id: charge, refund_id: refund, actual }: Facts,
  { from, to }: BreakFacts['around'],
  isClosed: boolean,
): string {
  const again = `pnpm tillflow reconcile --from ${from} --to ${to} --dry-run`;
  const backfill = `pnpm tillflow backfill --from ${from}`;
  if (checkout === null) return again;
  const show = `pnpm tillflow show ${checkout}`;
  const lookUp = `pnpm tillflow resolve ${checkout} --look --reason reconciliation`;
  switch (type) {
    // A backfill reopens a closed checkout, and gives a notice for a missing one.
    case 'missing_here':
      return backfill;
    case 'amount':
    case 'currency':
    case 'fee_difference':
      return show;
    case 'status':
      if (!isClosed) return lookUp;
      // Only a payment reopens a closed checkout.
      return actual?.status === 'successful' && refund === null ? backfill : show;
    case 'missing_there':
    case 'refund_made_outside':
      return isClosed ? show : lookUp;
    // The checkout verifies the payment and returns it automatically once it has adopted it.
    case 'duplicate_payment':
      if (isClosed) return backfill;
      return `pnpm tillflow resolve ${checkout} --adopt ${charge ?? ''} --reason reconciliation`;
    case 'unsettled':
    case 'receipt_total':
      return again;
  }
}

/** The order of breaks in lists: by type, then by ids. */
export function compareBreaks(a: Break, b: Break): number {
  const byType = BREAK_TYPES.indexOf(a.type) - BREAK_TYPES.indexOf(b.type);
  return byType || compareTexts(idsOf(a), idsOf(b));
}

/** Identifies a break: the same text when the same difference is found again. */
export function idsOf({ type, checkout_id, charge_id, refund_id, transaction_id, receipt_id }: Break): string {
  return [type, checkout_id, charge_id, refund_id, transaction_id, receipt_id].map((id) => id ?? '').join(' ');
}

/**
 * The text that is the same as long as the break is: its type, its ids, and both statements of status and amount. It
 * leaves out what changes without the break, such as its age.
 */
export function factsOf(one: Break): string {
  const sides = [one.expected, one.actual].map((side) => side && [side.status, side.amount, side.currency]);
  const { type, checkout_id, charge_id, refund_id, transaction_id, receipt_id } = one;
  return JSON.stringify([type, checkout_id, charge_id, refund_id, transaction_id, receipt_id, ...sides]);
}

/** Whether the break still needs a person: it has not healed, and no person has acknowledged it. */
export function isOpen({ healed, acknowledged }: Break): boolean {
  return !healed && acknowledged === undefined;
}

/** The break with this acknowledgement, or with none. */
export function withAcknowledgement(one: Break, acknowledged: Acknowledgement | null): Break {
  const { acknowledged: _, ...rest } = one;
  return acknowledged === null ? rest : { ...rest, acknowledged };
}

/** By code unit: the same on every machine. */
export function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/**
 * Whether a retrieve of the charge heals the break: the checkout missed a payment or a refund. A person has to decide
 * about any other break.
 */
export function healsByRetrieve({ type, checkout_id, actual, healed }: Break): boolean {
  if (healed || checkout_id === null) return false;
  return type === 'refund_made_outside' || (type === 'status' && actual?.status === 'successful');
}
