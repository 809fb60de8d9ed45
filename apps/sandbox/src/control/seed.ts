import { isCurrency, isWithinChargeLimits, type Currency, type Instant } from '@tillflow/domain';
import { ApiError } from '../http/api-error.js';
import type { Assumptions } from '../assumptions.js';
import { dayOf, daysAfter, formatDay, parseDay } from '../records/calendar.js';
import { fileFromText, documentTypeOf } from '../provider/document-type.js';
import type { FormMap, FormValue } from '../http/form.js';
import type { UploadedFile } from '../http/multipart.js';
import type { Provider } from '../provider/provider.js';
import type { ChargeRecord } from '../records/records.js';
import { readSchedule } from '../api/schedule-input.js';

import { cardSchema, customerSchema, type CheckedSeed, type Seeded } from './seed-schema.js';

type CardSeed = CheckedSeed['cards'][number];

/** The default amount of a disputed charge: THB 1,500.00. */
const DISPUTED_AMOUNT = 150_000;
const DAYS_OF_YEAR = 365;

/** @throws {ApiError} and creates nothing when any part of the seed is wrong. */
export function seedRecords(seed: CheckedSeed, provider: Provider, assumptions: Assumptions, at: Instant): Seeded {
  return new Seeding(seed, provider, assumptions, at).run();
}

/** Stands for the customer that is created for records without one. */
const NEW_CUSTOMER = 'new';

class Seeding {
  readonly #customers: string[] = [];
  readonly #cards: string[] = [];
  #newCustomer: string | null = null;

  constructor(
    private readonly seed: CheckedSeed,
    private readonly provider: Provider,
    private readonly assumptions: Assumptions,
    private readonly at: Instant,
  ) {}

  run(): Seeded {
    this.#check();
    const { seed } = this;
    for (const customer of seed.customers) this.#addCustomer(customer);
    for (const card of seed.cards) this.#addCard(card, this.#customerId(card.customer));
    const disputes = seed.disputes.map((dispute) => this.#openDispute(dispute));
    const schedules = seed.schedules.map((schedule) => this.#createSchedule(schedule));
    const receipts = seed.receipts.map((receipt) => this.#issueReceipt(receipt));
    return { customers: this.#customers, cards: this.#cards, disputes, schedules, receipts };
  }

  /** Refuses every mistake before a record is created. */
  #check(): void {
    const { seed, provider } = this;
    const { customers, disputes, receipts } = provider.records;
    const owners = new Map(customers.rows.flatMap(({ id, cards }) => cards.map((card) => [card.id, id] as const)));
    const nested = seed.customers.flatMap(({ cards }, index) =>
      cards.map((card) => ({ id: card.id, owner: this.#customerKey(index) })),
    );
    const cards = [...nested, ...seed.cards.map(({ id, customer }) => ({ id, owner: this.#customerKey(customer) }))];
    checkNew(seed.customers, (id) => customers.get(id) !== undefined);
    checkNew(cards, (id) => owners.has(id));
    checkNew(seed.disputes, (id) => disputes.get(id) !== undefined);
    checkNew(seed.receipts, (id) => receipts.get(id) !== undefined);
    for (const { id, owner } of cards) if (id !== undefined) owners.set(id, owner);
    for (const dispute of seed.disputes) this.#checkDispute(dispute);
    const charges = seed.disputes.flatMap(({ charge }) => charge ?? []);
    if (new Set(charges).size < charges.length) throw refusal('A charge has at most one dispute.');
    for (const schedule of seed.schedules) {
      const owner = this.#customerKey(schedule.charge?.['customer']);
      const input = readSchedule(this.#scheduleForm(schedule, owner), this.at, this.assumptions);
      provider.schedules.checkRule(input.rule);
      const cardId = input.work.kind === 'charge' ? input.work.cardId : null;
      if (cardId !== null && owners.get(cardId) !== owner) throw refusal(`The customer has no card ${cardId}.`);
    }
    for (const { issued_on } of seed.receipts) {
      if (issued_on !== undefined && parseDay(issued_on) === null) {
        throw refusal('issued_on must be a date such as 2026-03-10.');
      }
    }
  }

  /** The customer's id, or a placeholder until it has one. */
  #customerKey(customer: unknown): string {
    const { customers } = this.seed;
    if (typeof customer === 'string') {
      const isKnown =
        this.provider.records.customers.get(customer) !== undefined || customers.some(({ id }) => id === customer);
      if (!isKnown) throw refusal(`There is no customer ${customer}.`);
      return customer;
    }
    if (customer !== undefined && typeof customer !== 'number') throw refusal('customer must be an id or an index.');
    const index = customer ?? customers.length - 1;
    if (index === -1) return NEW_CUSTOMER;
    const known = customers[index];
    if (known === undefined) throw refusal(`There is no customer ${index} in this seed.`);
    return known.id ?? `#${index}`;
  }

  #customerId(customer: unknown): string {
    const key = this.#customerKey(customer);
    if (key.startsWith('#')) return this.#customers[Number(key.slice(1))] ?? key;
    if (key !== NEW_CUSTOMER) return key;
    this.#newCustomer ??= this.#addCustomer(customerSchema.parse({}));
    return this.#newCustomer;
  }

  #addCustomer({ id, email, description, metadata, cards }: CheckedSeed['customers'][number]): string {
    const { provider } = this;
    const customer = { id: id ?? provider.newId('cust'), email, description, metadata: formOfJson(metadata) };
    const added = provider.customers.add(customer);
    this.#customers.push(added.id);
    for (const card of cards) this.#addCard(card, added.id);
    return added.id;
  }

  #addCard(card: Omit<CardSeed, 'customer'>, customerId: string): void {
    const added = this.provider.customers.addCard(
      {
        id: card.id ?? this.provider.newId('card'),
        customerId,
        name: card.name,
        brand: card.brand,
        bank: card.bank,
        financing: card.financing,
        country: card.country,
        fingerprint: card.fingerprint ?? this.provider.newId('fingerprint').slice(-19),
        firstDigits: card.first_digits,
        lastDigits: card.last_digits,
        expirationMonth: card.expiration_month,
        expirationYear: card.expiration_year,
        street1: card.street1,
        street2: card.street2,
        city: card.city,
        state: card.state,
        phoneNumber: card.phone_number,
        postalCode: card.postal_code,
        securityCodeCheck: card.security_code_check,
        tokenizationMethod: card.tokenization_method,
        failureCode: card.failure_code,
      },
      card.default,
    );
    this.#cards.push(added.id);
  }

  #checkDispute({ charge, amount, currency, documents }: CheckedSeed['disputes'][number]): void {
    const money = { amount: amount ?? DISPUTED_AMOUNT, currency: currency ?? this.#ownCurrency() };
    if (charge === undefined && !isWithinChargeLimits(money))
      throw refusal('amount is outside the limits of a charge.');
    const known = charge === undefined ? null : this.provider.payments.charge(charge);
    if (known !== null && (known.paidAt === null || known.disputeId !== null)) {
      throw refusal(`The charge ${known.id} cannot be disputed: it is not paid, or already has a dispute.`);
    }
    if (known !== null && amount !== undefined && amount > known.amount) {
      throw refusal(`At most ${known.amount} of the charge can be disputed.`);
    }
    for (const document of documents) {
      const file = fileOf(document);
      const most = this.assumptions.maximumFileBytes;
      if (file.content.length > most) throw refusal(`file is too large: at most ${most} bytes.`);
      documentTypeOf(file);
    }
  }

  #openDispute(dispute: CheckedSeed['disputes'][number]): string {
    const { provider } = this;
    const { charge: chargeId, amount, currency, documents, id, status, metadata } = dispute;
    const money = { amount: amount ?? DISPUTED_AMOUNT, currency: currency ?? this.#ownCurrency() };
    const charge = chargeId === undefined ? this.#newPaidCharge(money) : provider.payments.charge(chargeId);
    const opened = provider.disputes.open({
      id: id ?? provider.newId('dspt'),
      chargeId: charge.id,
      amount: amount ?? charge.amount,
      // Documents can be attached only while it is open.
      status: 'open',
      reasonCode: dispute.reason_code,
      reasonMessage: dispute.reason_message,
      message: dispute.message,
      metadata: formOfJson(metadata),
    });
    for (const document of documents) {
      provider.disputes.attach(opened.id, fileOf(document), document.kind ?? null);
    }
    if (status !== 'open') provider.disputes.move(opened.id, status);
    return opened.id;
  }

  #newPaidCharge(money: { amount: number; currency: Currency }): ChargeRecord {
    const { id } = this.provider.payments.createCharge({
      ...money,
      source: { ...money, details: null },
      description: null,
      metadata: {},
      returnUri: null,
      webhookEndpoints: [],
      expiresAt: null,
    });
    return this.provider.payments.settle(id, { status: 'successful' });
  }

  #scheduleForm({ charge, transfer, on, ...rest }: CheckedSeed['schedules'][number], customerId: string): FormMap {
    const end = formatDay(daysAfter(dayOf(this.at), DAYS_OF_YEAR));
    const onDefault = { week: { weekdays: ['monday'] }, month: { days_of_month: [1] }, day: {} }[rest.period];
    const charged = { amount: DISPUTED_AMOUNT, ...charge, customer: customerId };
    return formOfJson({
      end_date: end,
      ...rest,
      on: on ?? onDefault,
      ...(transfer === undefined || charge !== undefined ? { charge: charged } : {}),
      ...(transfer === undefined ? {} : { transfer }),
    });
  }

  #createSchedule(schedule: CheckedSeed['schedules'][number]): string {
    const { provider } = this;
    const isTransfer = schedule.charge === undefined && schedule.transfer !== undefined;
    const customerId = isTransfer ? NEW_CUSTOMER : this.#customerId(schedule.charge?.['customer']);
    if (!isTransfer && provider.customers.customer(customerId).cards.length === 0) {
      this.#addCard(cardSchema.parse({}), customerId);
    }
    const form = this.#scheduleForm(schedule, customerId);
    return provider.schedules.create(readSchedule(form, this.at, this.assumptions)).id;
  }

  #issueReceipt(receipt: CheckedSeed['receipts'][number]): string {
    const { receipts } = this.provider;
    const issuedOn = parseDay(receipt.issued_on ?? '') ?? dayOf(this.at);
    const issued = receipts.issue({
      id: receipt.id ?? this.provider.newId('rcpt'),
      number: receipt.number ?? receipts.nextNumber(issuedOn),
      issuedOn,
      currency: receipt.currency ?? this.#ownCurrency(),
      chargeFee: receipt.charge_fee,
      transactionFee: receipt.transaction_fee,
      transferFee: receipt.transfer_fee,
      voidedFee: receipt.voided_fee,
      vat: receipt.vat,
      wht: receipt.wht,
      creditNote: receipt.credit_note,
      customerName: receipt.customer_name,
      customerEmail: receipt.customer_email,
      adjustment: receipt.adjustment,
    });
    return issued.id;
  }

  #ownCurrency(): Currency {
    const { accountCurrency } = this.assumptions;
    if (!isCurrency(accountCurrency)) throw refusal('currency is required.');
    return accountCurrency;
  }
}

function fileOf({ filename, file }: CheckedSeed['disputes'][number]['documents'][number]): UploadedFile {
  const sent = fileFromText(file);
  return filename === undefined ? sent : { ...sent, filename };
}

function checkNew(records: readonly { readonly id?: string | undefined }[], isTaken: (id: string) => boolean): void {
  const ids = records.flatMap(({ id }) => id ?? []);
  const taken = ids.find((id, index) => isTaken(id) || ids.indexOf(id) < index);
  if (taken !== undefined) throw refusal(`The id ${taken} is already in use.`);
}

/** Converts JSON to form values: numbers and flags become text, null the empty string. */
function formOfJson(json: Readonly<Record<string, unknown>>): FormMap {
  return Object.fromEntries(
    Object.entries(json)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [name, formValueOf(value)]),
  );
}

function formValueOf(json: unknown): FormValue {
  if (Array.isArray(json)) return json.map(formValueOf);
  if (typeof json === 'object' && json !== null) return formOfJson(json as Readonly<Record<string, unknown>>);
  if (json === null) return '';
  return typeof json === 'string' ? json : JSON.stringify(json);
}

function refusal(message: string): ApiError {
  return new ApiError('bad_request', message);
}
