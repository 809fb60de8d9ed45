import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import * as samples from '../../test/samples.js';
import { listOf } from '../pagination/list.js';
import { searchOf } from '../pagination/search.js';
import { account, accountVersions } from '../resources/account/schema.js';
import { charge, refund } from '../resources/charges/schema.js';
import { card, customer } from '../resources/customers/schema.js';
import { dispute } from '../resources/disputes/schema.js';
import { document } from '../resources/documents/schema.js';
import { event } from '../resources/events/schema.js';
import { receipt } from '../resources/receipts/schema.js';
import { occurrence, schedule } from '../resources/schedules/schema.js';
import { source } from '../resources/sources/schema.js';
import { transaction } from '../resources/transactions/schema.js';
import { readRecord } from './records.js';

const KINDS: [string, z.ZodType, object][] = [
  ['a charge', charge, samples.CHARGE],
  ['a list of charges', listOf(charge), samples.listOf(samples.CHARGE)],
  ['a source', source, samples.SOURCE],
  ['a refund', refund, samples.REFUND],
  ['an event', event, samples.EVENT],
  ['a document', document, samples.DOCUMENT],
  ['a dispute', dispute, samples.DISPUTE],
  ['a customer', customer, samples.CUSTOMER],
  ['a card', card, samples.CARD],
  ['a charge schedule', schedule, samples.CHARGE_SCHEDULE],
  ['a transfer schedule', schedule, samples.TRANSFER_SCHEDULE],
  ['an occurrence', occurrence, samples.OCCURRENCE],
  ['a receipt', receipt, samples.RECEIPT],
  ['a search', searchOf(receipt), samples.searchOf(samples.RECEIPT)],
  ['a transaction', transaction, samples.TRANSACTION],
  ['an account', account, samples.ACCOUNT],
  ['the versions of an account', accountVersions, samples.ACCOUNT_VERSIONS],
];

/** The place of a value in a record: the names and numbers on the way to it. */
type Way = readonly string[];

function waysIn(value: unknown, way: Way = []): Way[] {
  if (typeof value !== 'object' || value === null) return [way];
  return [way, ...Object.entries(value).flatMap(([name, inner]) => waysIn(inner, [...way, name]))];
}

/** A copy with another value in that place, or none. */
function changed(value: unknown, [name, ...rest]: Way, other: unknown): unknown {
  if (name === undefined) return other;
  if (Array.isArray(value))
    return value.map((inner, index) => (String(index) === name ? changed(inner, rest, other) : inner));
  const fields = Object.entries({ ...(value as object) }).map(([key, inner]): [string, unknown] => [
    key,
    key === name ? changed(inner, rest, other) : inner,
  ]);
  return Object.fromEntries(fields.filter(([, inner]) => inner !== undefined));
}

const others = fc.oneof(
  fc.constant(undefined),
  fc.constantFrom<unknown>(null, true, '', 'charge', 0, -1, 1.5, 2 ** 53, Number.POSITIVE_INFINITY, [], {}, [{}], {
    id: 1,
  }),
  fc.jsonValue(),
);

describe.each(KINDS)('%s', (_, schema, sample) => {
  test('is read exactly when its schema accepts it, whatever it contains, and is not copied', () => {
    const ways = waysIn(sample);
    fc.assert(
      fc.property(fc.constantFrom(...ways), others, (way, other) => {
        const json = changed(sample, way, other);
        const reading = readRecord(schema, json);
        expect('record' in reading).toBe(schema.safeParse(json).success);
        if ('record' in reading) expect(reading.record).toBe(json);
      }),
      { numRuns: 300 },
    );
    expect(readRecord(schema, sample)).toEqual({ record: sample });
  });
});

test('readRecord names at most five fields that do not fit', () => {
  expect(readRecord(charge, { ...samples.CHARGE, amount: '1', source: { object: 'source', id: 7 } })).toEqual({
    issues: expect.stringMatching(/^amount: .*; source\.id: /),
  });
  expect(readRecord(charge, [])).toEqual({ issues: expect.stringMatching(/^body: /) });
  const many = z.object(Object.fromEntries(Array.from({ length: 9 }, (_, n) => [`f${n}`, z.string()])));
  expect(readRecord(many, {})).toEqual({ issues: expect.stringMatching(/^(f\d: [^;]+; ){4}f\d: [^;]+$/) });
});
