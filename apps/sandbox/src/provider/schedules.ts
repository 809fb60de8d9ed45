import { plus, type Instant } from '@tillflow/domain';
import { ApiError } from '../http/api-error.js';
import { found, type ProviderContext } from './context.js';
import { dayOf, daysAfter, nextOn, startOf, upcoming, type Day, type Rule } from '../records/calendar.js';
import type { Customers } from './customers.js';
import {
  FAILURE_MESSAGES,
  type CardRecord,
  type ChargeRecord,
  type FailureCode,
  type OccurrenceRecord,
  type ScheduledCharge,
  type ScheduledTransfer,
  type ScheduleRecord,
  type TransferRecord,
} from '../records/records.js';
import { Table } from '../records/table.js';

export type NewSchedule = {
  readonly rule: Rule;
  readonly work: Omit<ScheduledCharge, 'id'> | Omit<ScheduledTransfer, 'id'>;
};

/** A charge of a stored card. Its outcome is known immediately. */
export type CardCharge = {
  readonly work: ScheduledCharge;
  readonly card: CardRecord;
  readonly scheduleId: string;
  readonly failureCode: FailureCode | null;
};

/** The result of one try of an occurrence. */
type Tried = Pick<OccurrenceRecord, 'message' | 'result'> & { readonly status: 'successful' | 'failed' | 'skipped' };

/**
 * Recurring charges and transfers. Each schedule sets one timer: for its next occurrence, for the next retry, or for
 * the day after its end. Source: assumption, "Schedules and occurrences".
 */
export class Schedules {
  constructor(
    private readonly context: ProviderContext,
    private readonly customers: Customers,
    private readonly chargeCard: (charge: CardCharge) => ChargeRecord,
  ) {}

  /** @throws {ApiError} `not_found`. */
  schedule(id: string): ScheduleRecord {
    return found(this.context.records.schedules.get(id), 'schedule', id);
  }

  /** @throws {ApiError} `not_found`. */
  occurrences(id: string): Table<OccurrenceRecord> {
    return found(this.context.records.occurrencesOf.get(id), 'schedule', id);
  }

  /** @throws {ApiError} `not_found`. */
  occurrence(scheduleId: string, id: string): OccurrenceRecord {
    return found(this.occurrences(scheduleId).get(id), 'occurrence', id);
  }

  /** @throws {ApiError} `not_found`. */
  transfer(id: string): TransferRecord {
    return found(this.context.records.transfers.get(id), 'transfer', id);
  }

  /** @throws {ApiError} `bad_request` when it never runs. */
  checkRule(rule: Rule): void {
    if (nextOn(rule, rule.startOn) !== null) return;
    throw new ApiError('bad_request', 'The schedule has no occurrence between start_date and end_date.');
  }

  /** @throws {ApiError} when it never runs, or its customer or card does not exist. */
  #check({ rule, work }: NewSchedule): void {
    this.checkRule(rule);
    if (work.kind === 'transfer') return;
    if (work.cardId !== null) this.customers.card(work.customerId, work.cardId);
    else this.customers.customer(work.customerId);
  }

  create(input: NewSchedule): ScheduleRecord {
    this.#check(input);
    const { context } = this;
    const id = context.id('schd');
    context.records.occurrencesOf.set(id, new Table());
    const work = { ...input.work, id: context.id(input.work.kind === 'charge' ? 'rchg' : 'rtrf') };
    const first = nextOn(input.rule, input.rule.startOn);
    const schedule = this.#put({
      id,
      createdAt: context.now(),
      rule: input.rule,
      work,
      status: 'active',
      endedAt: null,
      next: first === null ? null : this.#addOccurrence(id, first),
      retrying: [],
    });
    this.#emit('schedule.create', schedule);
    this.#arm(schedule);
    return schedule;
  }

  /**
   * Skips the remaining occurrences. A second call changes nothing. @throws {ApiError} `bad_request` when it has
   * expired.
   */
  remove(id: string): ScheduleRecord {
    const schedule = this.schedule(id);
    if (schedule.status === 'deleted') return schedule;
    if (schedule.status === 'expired') throw new ApiError('bad_request', 'The schedule has expired.');
    return this.#end(schedule, 'deleted', 'schedule.destroy');
  }

  #wake(id: string): void {
    const schedule = this.context.records.schedules.get(id);
    if (schedule === undefined || schedule.endedAt !== null) return;
    const today = dayOf(this.context.now());
    const isDue = (day: Day | null): boolean => day !== null && day <= today;
    const due = schedule.retrying.filter(({ retryOn }) => isDue(retryOn));
    const retrying = schedule.retrying.filter(({ retryOn }) => !isDue(retryOn));
    let { next } = schedule;
    if (next !== null && isDue(next.scheduledOn)) {
      due.push(next);
      const following = nextOn(schedule.rule, daysAfter(next.scheduledOn, 1));
      next = following === null ? null : this.#addOccurrence(id, following);
    }
    for (const [index, occurrence] of due.entries()) {
      const tried = this.#try(schedule, occurrence, today);
      if (tried.status !== 'failed') continue;
      if (tried.retryOn === null) {
        this.#end(
          { ...schedule, next, retrying: [...due.slice(index + 1), ...retrying] },
          'suspended',
          'schedule.suspend',
        );
        return;
      }
      retrying.push(tried);
    }
    this.#continue({ ...schedule, next, retrying }, today);
  }

  /** The schedule is `expiring` when at most one occurrence remains, and `running` while one is being retried. */
  #continue(schedule: ScheduleRecord, today: Day): void {
    const { next, retrying, rule } = schedule;
    if (next === null && retrying.length === 0 && today > rule.endOn) {
      this.#end(schedule, 'expired', 'schedule.expire');
      return;
    }
    const isExpiring = upcoming(rule, daysAfter(today, 1), 2).length < 2;
    const status = isExpiring ? 'expiring' : retrying.length > 0 ? 'running' : 'active';
    const changed = this.#put({ ...schedule, status });
    if (isExpiring && schedule.status !== 'expiring') this.#emit('schedule.expiring', changed);
    this.#arm(changed);
  }

  #end(schedule: ScheduleRecord, status: 'deleted' | 'suspended' | 'expired', event: string): ScheduleRecord {
    const occurrences = this.occurrences(schedule.id);
    for (const left of [...schedule.retrying, ...(schedule.next === null ? [] : [schedule.next])]) {
      const untried = left.status === 'scheduled';
      const skipped = untried ? ({ status: 'skipped', message: `The schedule is ${status}.` } as const) : {};
      occurrences.put({ ...left, ...skipped, retryOn: null });
    }
    const ended = this.#put({ ...schedule, status, endedAt: this.context.now(), next: null, retrying: [] });
    this.#emit(event, ended);
    return ended;
  }

  #try(schedule: ScheduleRecord, occurrence: OccurrenceRecord, today: Day): OccurrenceRecord {
    const { work } = schedule;
    const tried = work.kind === 'charge' ? this.#charge(work, schedule.id) : this.#transfer(work, schedule.id);
    const failures = occurrence.failures + (tried.status === 'failed' ? 1 : 0);
    const again = tried.status === 'failed' && failures < this.context.assumptions.scheduleTries;
    return this.occurrences(schedule.id).put({
      ...occurrence,
      ...tried,
      processedAt: this.context.now(),
      retryOn: again ? daysAfter(today, 1) : null,
      failures,
    });
  }

  #charge(work: ScheduledCharge, scheduleId: string): Tried {
    const { cards, defaultCardId } = this.customers.customer(work.customerId);
    const card = cards.find(({ id }) => id === (work.cardId ?? defaultCardId));
    if (card === undefined) return { status: 'failed', message: 'The customer no longer has the card.', result: null };
    const failureCode = isExpired(card, this.context.now()) ? 'failed_processing' : card.failureCode;
    const { id } = this.chargeCard({ work, card, scheduleId, failureCode });
    if (failureCode === null) return { status: 'successful', message: null, result: id };
    return { status: 'failed', message: FAILURE_MESSAGES[failureCode], result: id };
  }

  #transfer(work: ScheduledTransfer, scheduleId: string): Tried {
    const { records, assumptions } = this.context;
    const balance = records.balance.transferable(work.currency, this.context.now()) - assumptions.transferFee;
    const amount = 'amount' in work.size ? work.size.amount : Math.floor((balance * work.size.percentage) / 100);
    if (amount <= 0) return { status: 'skipped', message: 'There is nothing to transfer.', result: null };
    if (amount > balance) return { status: 'failed', message: 'The balance is too low.', result: null };
    return { status: 'successful', message: null, result: this.#send(work, amount, scheduleId).id };
  }

  #send(work: ScheduledTransfer, amount: number, scheduleId: string): TransferRecord {
    const { context } = this;
    const { transferFee, transferPaidAfterMs } = context.assumptions;
    const id = context.id('trsf');
    const { currency, recipient } = work;
    const transaction = context.transact({
      amount: amount + transferFee,
      currency,
      direction: 'debit',
      key: 'transfer.create',
      origin: id,
    });
    const now = context.now();
    const created = context.records.transfers.put({
      id,
      createdAt: now,
      amount,
      currency,
      fee: transferFee,
      recipient,
      scheduleId,
      transactionId: transaction.id,
      sentAt: null,
      paidAt: null,
    });
    context.emit('transfer.create', { object: 'transfer', record: created });
    const sent = context.records.transfers.put({ ...created, sentAt: now });
    context.emit('transfer.send', { object: 'transfer', record: sent });
    context.clock.at(plus(now, transferPaidAfterMs), () => {
      const paid = context.records.transfers.put({ ...sent, paidAt: context.now() });
      context.emit('transfer.pay', { object: 'transfer', record: paid });
    });
    return sent;
  }

  #addOccurrence(scheduleId: string, scheduledOn: Day): OccurrenceRecord {
    return this.occurrences(scheduleId).put({
      id: this.context.id('occu'),
      createdAt: this.context.now(),
      scheduleId,
      scheduledOn,
      retryOn: null,
      processedAt: null,
      status: 'scheduled',
      message: null,
      result: null,
      failures: 0,
    });
  }

  #put(schedule: ScheduleRecord): ScheduleRecord {
    const { schedules, chargeSchedules, transferSchedules } = this.context.records;
    (schedule.work.kind === 'charge' ? chargeSchedules : transferSchedules).put(schedule);
    return schedules.put(schedule);
  }

  /** An occurrence on the day of creation is due immediately. */
  #arm({ id, next, retrying, rule }: ScheduleRecord): void {
    const days = [next?.scheduledOn, ...retrying.map(({ retryOn }) => retryOn)].filter(
      (day) => day !== null && day !== undefined,
    );
    const day = Math.min(...(days.length > 0 ? days : [daysAfter(rule.endOn, 1)])) as Day;
    const { clock } = this.context;
    clock.at(Math.max(startOf(day), clock.now()) as Instant, () => this.#wake(id));
  }

  #emit(key: string, record: ScheduleRecord): void {
    const { assumptions } = this.context;
    const occurrences = this.occurrences(record.id);
    const beginning = { rows: occurrences.rows.slice(0, assumptions.embeddedLimit), total: occurrences.rows.length };
    this.context.emit(key, { object: 'schedule', record, occurrences: beginning });
  }
}

/** A card is valid until the end of its month. */
function isExpired({ expirationMonth, expirationYear }: CardRecord, now: Instant): boolean {
  return now >= Date.UTC(expirationYear, expirationMonth);
}
