import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import openapiTS, { astToString } from 'openapi-typescript';
import ts from 'typescript';
import { expect, it } from 'vitest';

const DOCUMENT = new URL('../docs/openapi.json', import.meta.url);
const FOLDER = fileURLToPath(new URL('.', import.meta.url));

/** What a till's program does with the generated types. */
const PROGRAM = `
import type { components, operations, paths } from './schema.js';

type Schemas = components['schemas'];
type Json<Answer> = Answer extends { content: { 'application/json': infer Body } } ? Body : never;

export const creation: Schemas['CreateCheckout'] = { reference: 'till-7-000142', amount: 150_000, currency: 'THB' };
export const query: NonNullable<operations['listCheckouts']['parameters']['query']> = { limit: 3, status: 'paid' };
export const records: NonNullable<operations['listReceipts']['parameters']['query']> = { limit: 3, offset: 40 };
export const refund: operations['createRefund']['parameters'] = {
  path: { id: 'chk_default_till-7-000142' },
  header: { 'Idempotency-Key': 'return-17' },
};
export const plan: Schemas['CreateRecurringPlan'] = {
  every: 1,
  period: 'week',
  on: { weekdays: ['monday'] },
  end_date: '2027-11-30',
  charge: { customer: 'cust_test_1', amount: 50_000, currency: 'THB' },
};
export const evidence: Schemas['AddEvidence'] = { file: ['bytes'], kind: 'receipt' };

export function qrOf(checkout: Json<paths['/v1/checkouts']['post']['responses'][201]>): string | null {
  return checkout.qr === null ? null : checkout.qr.image_url;
}

export function isFinal({ status }: Schemas['Checkout']): boolean {
  switch (status) {
    case 'creating':
    case 'awaiting_payment':
      return false;
    case 'paid':
    case 'partially_refunded':
    case 'refunded':
    case 'failed':
    case 'expired':
    case 'cancelled':
      return true;
  }
}

type Refusal = operations['cancelCheckout']['responses'][409]['content']['application/problem+json'];
export const refusal: Refusal['code'] = 'already_paid';

// Each of these lines must be a mistake: the compiler complains about a comment without one.
// @ts-expect-error a currency that Tillflow does not sell in
creation.currency = 'USD';
// @ts-expect-error a limit that is text
query.limit = '3';
// @ts-expect-error a problem that the status does not have
export const other: Refusal['code'] = 'not_found';
// @ts-expect-error a refund without its key
export const bare: operations['createRefund']['parameters']['header'] = {};

export function whatToDo({ code }: Schemas['Problem']): string {
  return code === 'reference_conflict' ? 'use another reference' : 'read the page';
}
`;

/** What the compiler says about a program beside generated types. */
function mistakesIn(program: string, schema: string): string[] {
  const sources = new Map([
    [`${FOLDER}program.ts`, program],
    [`${FOLDER}schema.ts`, schema],
  ]);
  const options: ts.CompilerOptions = {
    strict: true,
    noEmit: true,
    exactOptionalPropertyTypes: true,
    noImplicitReturns: true,
    module: ts.ModuleKind.NodeNext,
    target: ts.ScriptTarget.ES2023,
    // The smallest library: reading the others takes longer than everything else.
    lib: ['lib.es5.d.ts'],
    types: [],
  };
  const host = ts.createCompilerHost(options);
  const { getSourceFile, fileExists } = host;
  host.fileExists = (path) => sources.has(path) || fileExists(path);
  host.getSourceFile = (path, version, ...more) => {
    const source = sources.get(path);
    return source === undefined ? getSourceFile(path, version, ...more) : ts.createSourceFile(path, source, version);
  };
  const compiled = ts.createProgram([...sources.keys()], options, host);
  return ts
    .getPreEmitDiagnostics(compiled)
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
}

it('a client that is generated from docs/openapi.json compiles in strict mode, and refuses wrong values', async () => {
  const schema = astToString(await openapiTS(await readFile(DOCUMENT, 'utf8')));
  expect(mistakesIn(PROGRAM, schema)).toEqual([]);
});
