import { describe, expect, it } from 'vitest';
import { ENDPOINTS } from '../apps/sandbox/test/conformance/endpoints.js';
import {
  type Json,
  type Kind,
  listOf,
  mistakesIn,
  searchOf,
  unknownFields,
} from '../apps/sandbox/test/conformance/kinds.js';
import * as reference from '../apps/sandbox/test/conformance/resources.js';
import { METHOD_NAMES, METHODS } from '../packages/payments-client/test/methods.js';
import * as samples from '../packages/payments-client/test/samples.js';

/**
 * The types of the client name every field of the API reference: each sample has all fields of its type (the compiler
 * sees to that), and here it is held against the sandbox's own transcription of the reference's tables.
 */
const RECORDS: readonly (readonly [string, object, Kind])[] = [
  ['a transaction', samples.TRANSACTION, reference.TRANSACTION],
  ['a receipt', samples.RECEIPT, reference.RECEIPT],
  ['an account', samples.ACCOUNT, reference.ACCOUNT],
  ['an account with versions', samples.ACCOUNT_VERSIONS, reference.ACCOUNT_VERSIONS],
  ['an event', samples.EVENT, reference.EVENT],
  ['a document', samples.DOCUMENT, reference.DOCUMENT],
  ['a card', samples.CARD, reference.CARD],
  ['a new source', samples.NEW_SOURCE, reference.SOURCE],
  ['a source in use', samples.SOURCE, reference.SOURCE],
  ['a refund', samples.REFUND, reference.REFUND],
  ['a new charge', samples.NEW_CHARGE, reference.CHARGE],
  ['a charge with everything', samples.CHARGE, reference.CHARGE],
  ['an occurrence', samples.OCCURRENCE, reference.OCCURRENCE],
  ['a schedule of charges', samples.CHARGE_SCHEDULE, reference.SCHEDULE_OF_CHARGES],
  ['a schedule of transfers', samples.TRANSFER_SCHEDULE, reference.SCHEDULE_OF_TRANSFERS],
  ['a list', samples.listOf(samples.REFUND), listOf(reference.REFUND)],
  ['a search', samples.searchOf(samples.RECEIPT), searchOf(reference.RECEIPT)],
];

/** Neither the reference nor a gap decision names all of their fields. */
const OPEN_RECORDS: readonly (readonly [string, object, Kind])[] = [
  ['a dispute', samples.DISPUTE, reference.DISPUTE],
  ['a customer', samples.CUSTOMER, reference.CUSTOMER],
];

describe("the client's type of", () => {
  it.each(RECORDS)('%s has exactly the fields of the API reference, with their types', (name, sample, kind) => {
    expect(mistakesIn(sample as Json, kind, name)).toEqual([]);
    expect(unknownFields(sample as Json, kind, name)).toEqual([]);
  });

  it.each(OPEN_RECORDS)('%s has the fields that the assumptions name, with their types', (name, sample, kind) => {
    expect(mistakesIn(sample as Json, kind, name)).toEqual([]);
  });
});

describe("the client's methods", () => {
  const ofMethods = new Set(METHOD_NAMES.map((name) => METHODS[name].endpoint));
  const ofReference = new Set(ENDPOINTS.map(({ method, path }) => `${method} ${path}`));

  it('call exactly the endpoints of the API reference and the assumptions', () => {
    expect([...ofMethods].toSorted()).toEqual([...ofReference].toSorted());
  });
});

describe("the client's parameters", () => {
  it.each(Object.entries(samples.PARAMS))('of %s are exactly the inputs of the API reference', (endpoint, sample) => {
    const { inputs = [], search } = ENDPOINTS.find(({ method, path }) => `${method} ${path}` === endpoint) ?? {};
    const filters = search?.filters.map(({ name }) => name) ?? [];
    const named = new Set([...inputs, ...filters.map((name) => ({ name }))].map(({ name }) => name));
    const known = Object.entries(sample).flatMap(([name, value]) =>
      name === 'filters' ? Object.keys(value).map((filter) => `filters[${filter}]`) : [name],
    );
    expect(known.toSorted()).toEqual([...named, ...(UNTABLED[endpoint] ?? [])].toSorted());
  });

  it('have a sample for every endpoint that takes parameters', () => {
    const taking = ENDPOINTS.filter(({ inputs, search }) => inputs !== undefined || search !== undefined);
    expect(Object.keys(samples.PARAMS).toSorted()).toEqual(
      taking.map(({ method, path }) => `${method} ${path}`).toSorted(),
    );
  });
});

/** Inputs that the conformance suite shows in rows of their own. */
const UNTABLED: Readonly<Record<string, readonly string[]>> = {
  'POST /schedules': ['transfer'],
  'POST /disputes/{id}/documents': ['file', 'filename'],
  'GET /receipts/receipts/search': ['scope', 'query', 'order', 'page'],
  'GET /charges/schedules/search': ['scope', 'query', 'order', 'page'],
};
