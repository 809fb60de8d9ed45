import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { DocumentBuilder, SwaggerModule, type OpenAPIObject } from '@nestjs/swagger';
import { z } from 'zod';
import { customerCheckoutReply } from '../checkouts/checkouts.schema.js';
import { PROBLEMS, type ProblemCode } from '../problems/catalog.js';
import { exampleOf, problemDocument } from '../problems/problem-document.js';
import { PROBLEMS_EXTENSION } from './decorators.js';

type Operation = NonNullable<OpenAPIObject['paths'][string]['get']> & { [PROBLEMS_EXTENSION]?: readonly ProblemCode[] };

const DESCRIPTION = [
  'In-store QR payments that cannot lose or double a payment.',
  'Money is a whole number of the smallest unit of its currency; times are ISO 8601 UTC. Every request that changes',
  'something can be repeated: the same `reference`, `after` or `Idempotency-Key` is the same thing, done once. 202 means',
  'that the outcome is not known yet, never that it failed. Errors are RFC 9457 problems with a `code`.',
].join('\n');

const METHODS = ['get', 'put', 'post', 'delete', 'patch'] as const;

/** The API as OpenAPI 3.0: from the same schemas that check the requests. The same on every machine. */
export function openApiDocument(app: NestFastifyApplication): OpenAPIObject {
  const config = new DocumentBuilder()
    .setTitle('Tillflow')
    .setDescription(DESCRIPTION)
    .setVersion('1')
    .addBearerAuth({ type: 'http', scheme: 'bearer', description: 'A key from `API_KEYS`' })
    .addApiKey(
      { type: 'apiKey', in: 'query', name: 'sig', description: 'With `expires`: part of a link that the API gave' },
      'link',
    )
    .build();
  return complete(SwaggerModule.createDocument(app, config));
}

/** Adds what the decorators cannot say: problems, bodies that may be left out, replies that may grow. */
function complete(document: OpenAPIObject): OpenAPIObject {
  const schemas = (document.components ??= {}).schemas ?? {};
  document.components.schemas = schemas;
  const requests = new Set<string>();
  for (const path of Object.values(document.paths)) {
    for (const method of METHODS) {
      const operation: Operation | undefined = path[method];
      if (operation === undefined) continue;
      addProblems(operation);
      const name = requestSchemaOf(operation);
      if (name === null) continue;
      requests.add(name);
      const { required } = schemas[name] as { required?: readonly string[] };
      if (required === undefined) Object.assign(operation.requestBody ?? {}, { required: false });
    }
  }
  addEventData(schemas);
  schemas['Problem'] = z.toJSONSchema(problemDocument, { target: 'openapi-3.0' }) as (typeof schemas)[string];
  // A client must not break when a reply gets another field.
  for (const [name, schema] of Object.entries(schemas)) if (!requests.has(name)) allowMoreFields(schema);
  return document;
}

function addProblems(operation: Operation): void {
  const byStatus = new Map<number, ProblemCode[]>();
  for (const code of operation[PROBLEMS_EXTENSION] ?? []) {
    const { status } = PROBLEMS[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  delete operation[PROBLEMS_EXTENSION];
  for (const [status, codes] of byStatus) {
    operation.responses[status] = {
      description: codes.map((code) => `\`${code}\`: ${PROBLEMS[code].title}`).join('\n\n'),
      content: {
        'application/problem+json': {
          schema: { $ref: '#/components/schemas/Problem' },
          examples: Object.fromEntries(codes.map((code) => [code, { value: exampleOf(code) }])),
        },
      },
    };
  }
}

/** OpenAPI has no place for the data of an event: its schema is named in the text of the response. */
function addEventData(schemas: Record<string, unknown>): void {
  const whole = JSON.stringify(z.toJSONSchema(customerCheckoutReply, { target: 'openapi-3.0' }));
  const { definitions } = JSON.parse(whole.replaceAll('#/definitions/', '#/components/schemas/')) as {
    definitions: Record<string, unknown>;
  };
  schemas['CustomerCheckout'] = definitions['CustomerCheckout'];
}

function requestSchemaOf({ requestBody }: Operation): string | null {
  if (requestBody === undefined || '$ref' in requestBody) return null;
  const schema = requestBody.content['application/json']?.schema;
  return schema !== undefined && '$ref' in schema ? (schema.$ref.split('/').at(-1) ?? null) : null;
}

function allowMoreFields(schema: unknown): void {
  if (typeof schema !== 'object' || schema === null) return;
  if ('additionalProperties' in schema && schema.additionalProperties === false) delete schema.additionalProperties;
  for (const part of Object.values(schema)) allowMoreFields(part);
}
