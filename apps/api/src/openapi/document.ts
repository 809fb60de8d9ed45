import type { Type } from '@nestjs/common';
import type { Access } from '../auth/access.js';
import { customerCheckoutReply } from '../checkouts/checkouts.schema.js';
import { HEADERS, Responses } from './responses.js';
import { routesOf, type Route } from './routes.js';
import { Schemas, type Json } from './schemas.js';

const DESCRIPTION = [
  'In-store QR payments that cannot lose or double a payment.',
  'Amounts are whole numbers of the smallest currency unit. Times are ISO 8601 in UTC. You can repeat every request',
  'that changes something: the same `reference`, `after` or `Idempotency-Key` never acts twice. 202 means that the',
  'outcome is not known yet. It does not mean failure. Errors are RFC 9457 problems with a `code`.',
].join('\n');

const TAGS = {
  checkouts: 'Payments by QR code',
  availability: 'Whether new payments are possible',
  refunds: 'Refunds and voids',
  events: 'Endpoints of other systems, which get the events of checkouts',
  counter: 'The page at which a person sells',
  keys: 'What a key may do',
  reconciliations: "Comparisons of Tillflow's records with the provider's",
  'recurring plans': 'Recurring charges and transfers',
  disputes: 'Disputes and their evidence',
  customers: 'Customers at the provider, and their cards',
  account: "The merchant's settings at the provider",
  records: "The provider's receipts, transactions and events",
  webhooks: 'Where the provider sends its events',
  'test mode': 'Test payments without a customer',
  operations: 'For operators',
  health: 'For load balancers and monitoring',
};

const SECURITY_SCHEMES = {
  key: {
    type: 'http',
    scheme: 'bearer',
    description: 'A key from `API_KEYS` or `KEYS_FILE`, with the scope that the operation names',
  },
  tillSession: { type: 'http', scheme: 'bearer', description: 'A session of the counter, for its own till' },
  linkExpires: { type: 'apiKey', in: 'query', name: 'expires', description: 'Part of a link that the API signed' },
  linkSignature: { type: 'apiKey', in: 'query', name: 'sig', description: 'Part of a link that the API signed' },
};

/** The API as OpenAPI 3.1, from the schemas that check its requests. It is the same on every machine. */
export function openApiDocument(controllers: readonly Type[]): Json {
  const schemas = new Schemas();
  const responses = new Responses(schemas);
  const paths: Record<string, Record<string, Json>> = {};
  for (const route of controllers.flatMap(routesOf)) {
    (paths[route.path] ??= {})[route.method] = operationOf(route, schemas, responses);
  }
  // Only the data of an event refers to it.
  schemas.refer(customerCheckoutReply, 'output');
  return {
    openapi: '3.1.1',
    info: { title: 'Tillflow', version: '1', description: DESCRIPTION },
    servers: [{ url: '/', description: 'The API that serves this document' }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths,
    components: {
      securitySchemes: SECURITY_SCHEMES,
      headers: HEADERS,
      responses: responses.shared,
      schemas: schemas.components(),
    },
  };
}

function operationOf(route: Route, schemas: Schemas, responses: Responses): Json {
  const { operation, access, tag } = route;
  const parameters = parametersOf(route, schemas);
  const requestBody = bodyOf(route, schemas);
  return {
    tags: [tag],
    operationId: operation.operationId,
    summary: operation.summary,
    security: securityOf(access),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(requestBody === undefined ? {} : { requestBody }),
    responses: responses.of(route),
  };
}

function securityOf({ scope, and, or, till }: Access): readonly Json[] {
  if (scope === null) return [];
  return [
    ...(scope === 'session' ? [] : [{ key: scope === 'any' ? [] : [scope, ...(and === undefined ? [] : [and])] }]),
    ...(or === 'signed link' ? [{ linkExpires: [], linkSignature: [] }] : []),
    ...(till === true ? [{ tillSession: [] }] : []),
  ];
}

function parametersOf({ params, query, operation }: Route, schemas: Schemas): readonly Json[] {
  const headers = (operation.headers ?? []).map(({ name, required, description, schema }) => ({
    name,
    in: 'header',
    required,
    description,
    schema: schemas.refer(schema, 'input'),
  }));
  return [...schemas.parameters(params, 'path'), ...schemas.parameters(query, 'query'), ...headers];
}

function bodyOf({ body, operation }: Route, schemas: Schemas): Json | undefined {
  const { type, schema, encoding } = operation.body ?? { type: 'application/json', schema: body };
  if (schema === undefined) return undefined;
  const required = !schema.safeParse(undefined).success;
  const media = { schema: schemas.refer(schema, 'input'), ...(encoding === undefined ? {} : { encoding }) };
  return { required, content: { [type]: media } };
}
