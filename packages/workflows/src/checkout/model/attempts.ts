import { plus, type ChargeStatus, type Instant } from '@tillflow/domain';
import type { ChargeFacts } from '../activities.js';
import type { Refused } from '../messages.js';
import type { PaymentInstructions } from './payment-instructions.js';

/** The memo that every read loads stays small. */
export const MAX_ATTEMPTS = 20;

/** One offer to pay: a source, a charge and payment instructions. Times are in milliseconds since 1970 (UTC). */
export type Attempt = {
  /** From 1; the highest number is the current attempt. */
  number: number;
  sourceId: string | null;
  /** Its first charge, or the one that was paid. */
  chargeId: string | null;
  status: ChargeStatus;
  failureCode: string | null;
  failureMessage: string | null;
  createdAt: number;
  expiresAt: number;
  instructions: PaymentInstructions | null;
};

export type AttemptsState = {
  list: Attempt[];
  /** The number of the attempt that ends so that the next one can open; null when none was requested. */
  replaced: number | null;
  cancelRequested: boolean;
  /** The checkout had closed when a late payment opened it again: it takes no more attempts. */
  isReopened: boolean;
};

export const emptyAttempt = (): Attempt => ({
  number: 1,
  sourceId: null,
  chargeId: null,
  status: 'pending',
  failureCode: null,
  failureMessage: null,
  createdAt: 0,
  expiresAt: 0,
  instructions: null,
});

type Failure = { readonly code: string | null; readonly message: string | null };

/** The attempts of a checkout, and what was requested of them: a cancellation, or the next attempt. */
export class Attempts {
  constructor(private readonly state: AttemptsState) {}

  get all(): readonly Readonly<Attempt>[] {
    return this.state.list;
  }

  get current(): Readonly<Attempt> {
    return currentAttempt(this.state);
  }

  get replaced(): number | null {
    return this.state.replaced;
  }

  get isCancelRequested(): boolean {
    return this.state.cancelRequested;
  }

  /** A payment was seen. */
  get isPaid(): boolean {
    return isAnyPaid(this.state);
  }

  find(number: number): Readonly<Attempt> {
    return this.#get(number);
  }

  /** The attempt that a charge is for: by its metadata, by its source, or else the current one. */
  attemptOf({ attempt, sourceId }: Pick<ChargeFacts, 'attempt' | 'sourceId'>): Readonly<Attempt> {
    if (attempt !== null) return this.#get(Number(attempt));
    return this.state.list.find((one) => one.sourceId !== null && one.sourceId === sourceId) ?? this.current;
  }

  usesSource(sourceId: string): boolean {
    return this.state.list.some((one) => one.sourceId === sourceId);
  }

  isWithdrawn(attempt: Readonly<Attempt>, now: Instant): boolean {
    return isWithdrawn(this.state, attempt, now);
  }

  /** @param startedAt when the customer's time began. */
  open(now: Instant, startedAt: Instant, expiresInSeconds: number, sourceId: string | null): void {
    const expiresAt = plus(startedAt, expiresInSeconds * 1_000);
    this.state.list.push({
      ...emptyAttempt(),
      number: this.state.list.length + 1,
      sourceId,
      createdAt: now,
      expiresAt,
    });
    this.state.replaced = null;
  }

  requestCancel(): void {
    this.state.cancelRequested = true;
    this.state.replaced = null;
  }

  /** @returns why no attempt can follow attempt `after`; null when one can, or already does. */
  refuseNext(after: number): Refused | null {
    const newest = this.current.number;
    if (!Number.isInteger(after) || after < 1 || after > newest) {
      return { code: 'attempt_unknown', message: `The newest attempt is ${newest}` };
    }
    if (after < newest) return null;
    if (this.isPaid) return { code: 'already_paid', message: 'The checkout is paid' };
    if (this.state.cancelRequested) return { code: 'checkout_closed', message: 'The checkout was cancelled' };
    if (this.state.isReopened) {
      return { code: 'checkout_closed', message: 'The checkout had closed before a late payment came' };
    }
    if (newest >= MAX_ATTEMPTS) {
      return { code: 'too_many_attempts', message: `A checkout has at most ${MAX_ATTEMPTS} attempts` };
    }
    return null;
  }

  requestNext(): void {
    this.state.replaced = this.current.number;
  }

  withdrawRequestForNext(): void {
    this.state.replaced = null;
  }

  setSource(sourceId: string): void {
    currentAttempt(this.state).sourceId = sourceId;
  }

  /** The first charge of an attempt is the one that it shows. */
  addCharge(number: number, chargeId: string): void {
    this.#get(number).chargeId ??= chargeId;
  }

  setInstructions(number: number, instructions: PaymentInstructions | null): void {
    this.#get(number).instructions ??= instructions;
  }

  end(number: number, status: Exclude<ChargeStatus, 'successful'>, { code, message }: Failure): void {
    Object.assign(this.#get(number), { status, failureCode: code, failureMessage: message });
  }

  /** @param isAccepted it is the payment that counts, so the attempt shows this charge. */
  pay(number: number, chargeId: string, sourceId: string | null, isAccepted: boolean): void {
    const attempt = this.#get(number);
    if (isAccepted || attempt.chargeId === null) {
      attempt.chargeId = chargeId;
      // Later answers about the payment are compared with this source.
      attempt.sourceId = sourceId ?? attempt.sourceId;
    }
    // A second payment by another charge of the attempt does not make the shown charge successful.
    if (attempt.chargeId !== chargeId) return;
    Object.assign(attempt, { status: 'successful', failureCode: null, failureMessage: null });
  }

  #get(number: number): Attempt {
    return this.state.list.find((one) => one.number === number) ?? currentAttempt(this.state);
  }
}

export function currentAttempt({ list }: { readonly list: readonly Attempt[] }): Attempt {
  const last = list.at(-1);
  if (last === undefined) throw new Error('A checkout has at least one attempt');
  return last;
}

function isAnyPaid({ list }: Readonly<AttemptsState>): boolean {
  return list.some(({ status }) => status === 'successful');
}

/** Whether this attempt must take no payment any more. */
export function isWithdrawn(state: Readonly<AttemptsState>, attempt: Readonly<Attempt>, now: Instant): boolean {
  const { cancelRequested, replaced } = state;
  return (
    isAnyPaid(state) ||
    attempt.status !== 'pending' ||
    cancelRequested ||
    (replaced !== null && replaced >= attempt.number) ||
    attempt.number < currentAttempt(state).number ||
    now >= attempt.expiresAt
  );
}
