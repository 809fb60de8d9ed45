import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { documents, PROBLEMS, type ProblemCode } from '@tillflow/api';
import { ATTENTION_CODES, CHECKOUT_EVENTS } from '@tillflow/workflows';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';

const DOCS = fileURLToPath(new URL('../docs/', import.meta.url));

type Json = { readonly [name: string]: unknown };
type Media = { schema?: Json; example?: unknown };
type Content = { content?: Record<string, Media> };
type Response = Content & { $ref?: string; description: string; headers?: Json; links?: Record<string, Link> };
type Link = { operationId: string; parameters: Record<string, string> };
type Operation = {
  tags?: string[];
  operationId?: string;
  summary?: string;
  security?: unknown[];
  parameters?: { name: string; in: string; schema: Json }[];
  requestBody?: Content & { required?: boolean };
  responses: Record<string, Response>;
};
type Document = {
  openapi: string;
  tags: { name: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: {
    schemas: Record<string, Json>;
    responses: Record<string, Response>;
    headers: Json;
    securitySchemes: Json;
  };
};

const made = documents();
const document = JSON.parse(made.get('openapi.json') ?? '{}') as Document;
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => [`${method.toUpperCase()} ${path}`, operation] as const),
);

/** Open to everyone, and refuses a wrong token in its body. */
const TAKES_TOKEN = 'POST /v1/counter-sessions';

/** Every object in the document. */
function* objectsIn(value: unknown): Generator<Json> {
  if (typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value)) yield value as Json;
  for (const part of Object.values(value)) yield* objectsIn(part);
}

/**
 * A schema of the document, as a check. Without rules across fields, which zod does not read: `pnpm api-fuzz` tries
 * those.
 */
function checkOf(schema: Json): z.ZodType {
  const whole = JSON.stringify({ ...schema, $defs: document.components.schemas });
  const local = JSON.parse(whole.replaceAll('#/components/schemas/', '#/$defs/'), (_, part: unknown) =>
    Array.isArray(part)
      ? part.filter((one: Json | null) => one?.['anyOf'] === undefined && one?.['oneOf'] === undefined)
      : part,
  ) as z.core.JSONSchema.JSONSchema;
  return z.fromJSONSchema(local);
}

/** The examples of a schema. A page has those of its records. */
function examplesOf(schema: Json): readonly unknown[] {
  if (typeof schema['$ref'] === 'string') return examplesOf(componentAt(schema['$ref']) as Json);
  if (Array.isArray(schema['examples'])) return schema['examples'];
  const { data } = (schema['properties'] ?? {}) as { readonly data?: { readonly items?: Json } };
  return data?.items === undefined
    ? []
    : examplesOf(data.items).map((one) => ({ data: [one], next_cursor: null, total: 1 }));
}

/** Resolves a reference in the document. */
function componentAt(reference: string): unknown {
  const found = reference
    .replace(/^#\//, '')
    .split('/')
    .reduce<unknown>((part, name) => (part as Json | undefined)?.[name], document);
  if (found === undefined) throw new Error(`${reference} leads nowhere`);
  return found;
}

const resolved = (response: Response): Response =>
  response.$ref === undefined ? response : (componentAt(response.$ref) as Response);

/** The codes of the problems that a response may have. */
function codesOf(response: Response): readonly ProblemCode[] {
  const { allOf = [] } = (resolved(response).content?.['application/problem+json']?.schema ?? {}) as { allOf?: Json[] };
  return allOf.flatMap(
    ({ properties }) => ((properties as Json | undefined)?.['code'] as { enum: ProblemCode[] })?.enum ?? [],
  );
}

describe('pnpm api-docs', () => {
  it.each([...made.keys()])('would not change docs/%s', async (path) => {
    expect(await readFile(`${DOCS}${path}`, 'utf8')).toBe(made.get(path));
  });

  it('leaves no page for an error code that does not exist', async () => {
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
        'POST /v1/reconciliations/{id}/breaks/{n}/acknowledge',
        'GET /v1/day-reports/{date}',
        'POST /webhooks/provider',
      ]),
    );
  });

  it('has no reference to a missing component', () => {
    const references = [...objectsIn(document)].flatMap(({ $ref }) => (typeof $ref === 'string' ? [$ref] : []));
    expect(references.length).toBeGreaterThan(0);
    for (const reference of references) expect(componentAt(reference)).toBeTypeOf('object');
  });

  it('declares the tags that its operations have, and no other', () => {
    const used = operations.flatMap(([, { tags = [] }]) => tags);
    expect(new Set(document.tags.map(({ name }) => name))).toEqual(new Set(used));
  });

  it('names every operation once', () => {
    const ids = operations.map(([, { operationId }]) => operationId);
    expect(ids).not.toContain(undefined);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('declares every problem of the catalog, each under its own status, and no other', () => {
    const declared = operations.flatMap(([, { responses }]) =>
      Object.entries(responses).flatMap(([status, response]) =>
        codesOf(response).map((code) => ({ code, status: Number(status) })),
      ),
    );
    for (const { code, status } of declared) expect({ code, status }).toEqual({ code, status: PROBLEMS[code]?.status });
    // A method that a path does not have is no operation.
    const known = Object.keys(PROBLEMS).filter((code) => code !== 'method_not_allowed');
    expect(new Set(declared.map(({ code }) => code))).toEqual(new Set(known));
    expect(document.components.schemas['ProblemCode']?.['enum']).toEqual(Object.keys(PROBLEMS));
  });

  it('has examples that satisfy their schemas', () => {
    const named = Object.entries(document.components.schemas);
    for (const [name, schema] of named) {
      for (const example of examplesOf(schema)) {
        const { error } = checkOf(schema).safeParse(example);
        expect({ name, issues: error?.issues }).toEqual({ name, issues: undefined });
      }
    }
  });
});

describe('an answer of the OpenAPI document', () => {
  it.each([
    ['createCounterLink', 201, 'revokeCounterLink', { id: '$response.body#/id' }],
    ['openCounterSession', 201, 'getCounterSession', {}],
    ['testEventEndpoint', 202, 'listEventDeliveries', { id: '$request.path.id' }],
    ['createRefund', 201, 'getCheckoutReceipt', { id: '$request.path.id', refund: '$response.body#/key' }],
  ])('of %s with %i links to %s', (from, status, to, parameters) => {
    const [, operation] = operations.find(([, { operationId }]) => operationId === from) ?? [];
    expect(operation?.responses[status]?.links?.[to]).toEqual({ operationId: to, parameters });
  });
});

describe('the schemas of the OpenAPI document', () => {
  const { schemas } = document.components;
  const fieldOf = (schema: string, field: string): Json =>
    componentAt(`#/components/schemas/${schema}/properties/${field}`) as Json;

  it('state the form of every id', () => {
    const without = [...objectsIn(schemas)].flatMap(({ properties }) =>
      Object.entries((properties ?? {}) as Record<string, Json>)
        // The tax authority gives `tax_id`.
        .filter(([name]) => /^(id|reference|.+_id)$/.test(name) && name !== 'tax_id')
        .filter(([, schema]) => !/"(pattern|format)":/.test(JSON.stringify(schema)))
        .map(([name]) => name),
    );
    expect(without).toEqual([]);
    expect(fieldOf('Refund', 'key')).toHaveProperty('pattern');
  });

  it('name every code of an attention, and every type of an event', () => {
    expect(fieldOf('Attention', 'code')['enum']).toEqual(ATTENTION_CODES);
    const types = [...CHECKOUT_EVENTS.map((event) => `checkout.${event}`), 'endpoint.test'];
    expect(fieldOf('EventDelivery', 'type')['enum']).toEqual(types);
  });

  it('permit no unknown field in a request, except in those of the provider', () => {
    const bodies = operations
      .filter(([, { operationId }]) => operationId !== 'receiveWebhook' && operationId !== 'receiveAccountWebhook')
      .flatMap(([, { requestBody }]) => Object.values(requestBody?.content ?? {}))
      .map(({ schema }) => componentAt(String(schema?.['$ref'])) as Json & { oneOf?: readonly Json[] });
    expect(bodies.length).toBeGreaterThan(10);
    for (const body of bodies) {
      for (const one of body.oneOf ?? [body]) expect(one['additionalProperties']).toBe(false);
    }
  });
});

describe.each(operations)('%s', (name, operation) => {
  it(`${name} says what it does, who may call it, and what each answer means`, () => {
    expect(operation.summary).toBeTruthy();
    expect(operation.security).toBeDefined();
    for (const scheme of (operation.security ?? []).flatMap((needed) => Object.keys(needed as Json))) {
      expect(document.components.securitySchemes).toHaveProperty(scheme);
    }
    for (const response of Object.values(operation.responses)) {
      const { description, headers } = resolved(response);
      expect(description).not.toBe('');
      expect(headers).toHaveProperty('X-Request-Id');
    }
    const inPath = [...name.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => parameter);
    expect(operation.parameters?.filter((one) => one.in === 'path').map((one) => one.name) ?? []).toEqual(inPath);
  });

  it(`${name} has the problems that every request can meet`, () => {
    const codes = Object.values(operation.responses).flatMap(codesOf);
    const always = ['invalid_request', 'request_timeout', 'headers_too_large', 'internal_error'];
    expect(codes).toEqual(expect.arrayContaining(always));
    expect(codes.includes('unauthorized')).toBe(operation.security?.length !== 0 || name === TAKES_TOKEN);
    expect(codes.includes('unsupported_media_type')).toBe(operation.requestBody !== undefined);
  });

  it(`${name} has an example of each JSON body`, () => {
    const bodies = [operation.requestBody ?? {}, ...Object.values(operation.responses).map(resolved)];
    for (const { content = {} } of bodies) {
      const { schema } = content['application/json'] ?? {};
      expect(schema === undefined || examplesOf(schema).length > 0).toBe(true);
      for (const type of ['text/csv', 'text/plain']) {
        if (content[type] !== undefined) expect(content[type].example).toBeTruthy();
      }
    }
  });

  it(`${name} links only to operations that have the parameters of the link`, () => {
    const links = Object.values(operation.responses).flatMap((response) =>
      Object.values(resolved(response).links ?? {}),
    );
    for (const { operationId, parameters } of links) {
      const [, target] = operations.find(([, other]) => other.operationId === operationId) ?? [];
      const { parameters: all = [] } = target ?? {};
      const inPath = all.filter((one) => one.in === 'path').map((one) => one.name);
      expect(target).toBeDefined();
      expect(Object.keys(parameters)).toEqual(expect.arrayContaining(inPath));
      expect(all.map((one) => one.name)).toEqual(expect.arrayContaining(Object.keys(parameters)));
    }
  });
});
