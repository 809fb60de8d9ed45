import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { documents } from '@tillflow/api';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';

const DOCS = fileURLToPath(new URL('../docs/', import.meta.url));

type Json = { readonly [name: string]: unknown };
type Media = { schema?: Json; example?: unknown; examples?: Record<string, { value: unknown }> };
type Content = { content?: Record<string, Media> };
type Operation = {
  operationId?: string;
  summary?: string;
  security?: unknown[];
  parameters?: { name: string; in: string; schema?: Json; example?: unknown }[];
  requestBody?: Content & { required?: boolean };
  responses: Record<string, Content & { description: string }>;
};
type Document = {
  openapi: string;
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Json>; securitySchemes: Json };
};

const made = await documents();
const document = JSON.parse(made.get('openapi.json') ?? '{}') as Document;
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => [`${method.toUpperCase()} ${path}`, operation] as const),
);

/** Every object in the document. */
function* objectsIn(value: unknown): Generator<Json> {
  if (typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value)) yield value as Json;
  for (const part of Object.values(value)) yield* objectsIn(part);
}

/** What a schema of the document says, as a check. */
function checkOf(schema: Json): z.ZodType {
  const whole = JSON.stringify({ ...schema, definitions: document.components.schemas });
  const local = JSON.parse(whole.replaceAll('#/components/schemas/', '#/definitions/')) as z.core.JSONSchema.JSONSchema;
  return z.fromJSONSchema(local, { defaultTarget: 'openapi-3.0' });
}

/** Each example of a request or reply, with the schema that it must satisfy. */
function examplesOf(operation: Operation): { where: string; schema: Json; example: unknown }[] {
  const contents = [['request', operation.requestBody ?? {}] as const, ...Object.entries(operation.responses)];
  return contents.flatMap(([place, { content = {} }]) =>
    Object.entries(content).flatMap(([type, { schema = {}, example, examples }]) => {
      const named = Object.entries(examples ?? {}).map(([name, { value }]) => [name, value] as const);
      const own = schema['$ref'] === undefined ? undefined : schemaNamed(schema['$ref'])['example'];
      const all = [...named, ...(example === undefined ? [] : [['one', example] as const])];
      if (place === 'request' && own !== undefined) all.push(['its schema', own]);
      return all.map(([name, value]) => ({ where: `${place} ${type} ${name}`, schema, example: value }));
    }),
  );
}

function schemaNamed(reference: unknown): Json {
  const name = String(reference).replace('#/components/schemas/', '');
  const schema = document.components.schemas[name];
  if (schema === undefined) throw new Error(`${String(reference)} leads nowhere`);
  return schema;
}

describe('what is made from the code and committed: pnpm api-docs writes', () => {
  it.each([...made.keys()])('docs/%s, and it is up to date', async (path) => {
    expect(await readFile(`${DOCS}${path}`, 'utf8')).toBe(made.get(path));
  });

  it('no page of an error that does not exist', async () => {
    const files = (await readdir(`${DOCS}errors`)).map((file) => `errors/${file}`);
    expect(files.filter((file) => !made.has(file))).toEqual([]);
  });
});

describe('the OpenAPI document', () => {
  it('has every route of the checkouts', () => {
    expect(operations.map(([name]) => name)).toEqual(
      expect.arrayContaining([
        'POST /v1/checkouts',
        'GET /v1/checkouts',
        'GET /v1/checkouts/{id}',
        'POST /v1/checkouts/{id}/attempts',
        'POST /v1/checkouts/{id}/cancel',
        'POST /v1/checkouts/{id}/refunds',
        'GET /v1/checkouts/{id}/refunds',
        'GET /v1/checkouts/{id}/timeline',
        'GET /v1/checkouts/{id}/qr',
        'GET /v1/checkouts/{id}/events',
        'POST /v1/reconciliations',
        'GET /v1/reconciliations',
        'GET /v1/reconciliations/{id}',
        'GET /v1/reconciliations/{id}/export',
        'POST /webhooks/provider',
      ]),
    );
  });

  it('has no reference that leads nowhere', () => {
    const references = [...objectsIn(document)].flatMap(({ $ref }) => ($ref === undefined ? [] : [$ref]));
    expect(references.length).toBeGreaterThan(0);
    for (const reference of references) expect(schemaNamed(reference)).toBeTypeOf('object');
  });

  it('names every operation once', () => {
    const ids = operations.map(([, { operationId }]) => operationId);
    expect(ids).not.toContain(undefined);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('names only problems that have a page', () => {
    const codes = [...objectsIn(document.paths)].flatMap(({ code, request_id }) =>
      request_id === undefined ? [] : code,
    );
    expect(codes.length).toBeGreaterThan(0);
    for (const code of codes) expect(made.has(`errors/${String(code)}.md`)).toBe(true);
  });
});

describe.each(operations)('%s', (name, operation) => {
  it('says what it does, who may, and what each answer means', () => {
    expect(operation.summary).toBeTruthy();
    expect(operation.security).toBeDefined();
    for (const scheme of (operation.security ?? []).flatMap((needed) => Object.keys(needed as Json))) {
      expect(document.components.securitySchemes).toHaveProperty(scheme);
    }
    for (const { description } of Object.values(operation.responses)) expect(description).not.toBe('');
    const inPath = [...name.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => parameter);
    expect(operation.parameters?.filter((one) => one.in === 'path').map((one) => one.name) ?? []).toEqual(inPath);
  });

  it('shows an example of each body, and each satisfies its schema', () => {
    const examples = examplesOf(operation);
    const bodies = [['request', operation.requestBody ?? {}] as const, ...Object.entries(operation.responses)];
    for (const [place, { content = {} }] of bodies) {
      for (const type of Object.keys(content).filter((one) => one !== 'image/svg+xml' && !one.startsWith('image/'))) {
        expect(examples.map(({ where }) => where)).toContainEqual(expect.stringContaining(`${place} ${type}`));
      }
    }
    for (const { where, schema, example } of examples) {
      expect({ where, issues: checkOf(schema).safeParse(example).error?.issues }).toEqual({ where, issues: undefined });
    }
  });
});
