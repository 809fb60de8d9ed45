import { ENDPOINTS, WRONG, type Endpoint, type Input } from './endpoints.js';
import type { Form, Reply } from './provider.js';
import { expect, expectKind, expectRefusal, type Row } from './row.js';
import type { Samples } from './samples.js';

/** Each operation: its answer, its keys, the inputs that it accepts and those that it refuses. */
export const ENDPOINT_ROWS: readonly Row[] = ENDPOINTS.flatMap((endpoint) =>
  [
    answerRows(endpoint),
    keyRows(endpoint),
    unknownIdRows(endpoint),
    (endpoint.inputs ?? []).flatMap((input) => inputRows(endpoint, input)),
  ].flat(),
);

function titleOf({ method, path }: Endpoint): string {
  return `${method} ${path}`;
}

/** The path with its parameters filled; `lastId` fills the last one. */
export async function pathOf({ path, ids = [] }: Endpoint, samples: Samples, unknownAt = -1): Promise<string> {
  const values: string[] = [];
  for (const [i, source] of ids.entries()) {
    if (i === unknownAt) values.push('nothing_test_0000000000000000000');
    else values.push(typeof source === 'string' ? await samples.id(source) : await source(samples));
  }
  let i = 0;
  return path.replaceAll(/\{[^}]+\}/g, () => values[i++] ?? '');
}

async function callTo(endpoint: Endpoint, samples: Samples, change: (form: Form) => Form = (form) => form) {
  const path = await pathOf(endpoint, samples);
  const form = await endpoint.form?.(samples);
  return await samples.provider.call(endpoint.method, path, form === undefined ? {} : { form: change(form) });
}

function answerRows(endpoint: Endpoint): Row[] {
  return [
    {
      fact: `${titleOf(endpoint)} answers 200 with the record as the reference shows it`,
      shows: async (samples) => {
        const reply = await callTo(endpoint, samples);
        expect(`${reply.status} ${reply.text}`).toMatch(/^200 /);
        expectKind(reply.json, endpoint.answers, 'answer');
      },
    },
    {
      fact: `${titleOf(endpoint)} answers JSON with an X-Request-Id`,
      shows: async (samples) => {
        const { headers } = await callTo(endpoint, samples);
        expect(headers.get('content-type')).toMatch(/^application\/json\b/);
        expect(headers.get('x-request-id')).toMatch(/\S/);
      },
    },
  ];
}

/** Source: API reference, "Authentication"; assumption, "Keys". */
function keyRows(endpoint: Endpoint): Row[] {
  const { method } = endpoint;
  const refusedWith = (what: string, key: Parameters<Samples['provider']['call']>[2]): Row => ({
    fact: `${titleOf(endpoint)} ${what} is 401 authentication_failure`,
    shows: async (samples) => {
      const path = await pathOf(endpoint, samples);
      expectRefusal(await samples.provider.call(method, path, key), 401, 'authentication_failure');
    },
  });
  const rows = [
    refusedWith('without a key', { key: null }),
    refusedWith('with an unknown key', { key: { userName: 'skey_test_0000000000000000000' } }),
  ];
  if (endpoint.publicKey !== true) return [...rows, refusedWith('with the public key', { key: 'public' })];
  return [
    ...rows,
    {
      fact: `${titleOf(endpoint)} also accepts the public key`,
      shows: async (samples) => {
        const path = await pathOf(endpoint, samples);
        const form = await endpoint.form?.(samples);
        const reply = await samples.provider.call(method, path, { key: 'public', ...(form !== undefined && { form }) });
        expect(reply.status).toBe(200);
      },
    },
  ];
}

/** Source: assumption, "Status codes". */
function unknownIdRows(endpoint: Endpoint): Row[] {
  return (endpoint.ids ?? []).map((_, i) => {
    const name = endpoint.path.match(/\{[^}]+\}/g)?.[i] ?? '';
    return {
      fact: `${titleOf(endpoint)} with an unknown ${name} is 404 not_found`,
      shows: async (samples) => {
        const form = await endpoint.form?.(samples);
        const path = await pathOf(endpoint, samples, i);
        expectRefusal(
          await samples.provider.call(endpoint.method, path, form === undefined ? {} : { form }),
          404,
          'not_found',
        );
      },
    };
  });
}

function inputRows(endpoint: Endpoint, input: Input): Row[] {
  const { name, type, example } = input;
  const expectAccepted = ({ status, text }: Reply): void => expect(`${status} ${text}`).toMatch(/^200 /);
  const rows: Row[] = WRONG[type](name).map((wrong) => ({
    fact: `${titleOf(endpoint)} refuses ${describe(wrong)}: ${name} is ${type}`,
    shows: async (samples: Samples) => {
      expectRefusal(
        await callTo(endpoint, samples, (form) => ({ ...without(form, name), ...wrong })),
        400,
        'bad_request',
      );
    },
  }));
  if (example !== null) {
    rows.push({
      fact: `${titleOf(endpoint)} accepts ${name} (${type})`,
      shows: async (samples) => expectAccepted(await callTo(endpoint, samples, (form) => ({ ...form, ...example }))),
    });
  }
  if (input.required === true) {
    rows.push({
      fact: `${titleOf(endpoint)} without ${name} is 400: it is required`,
      shows: async (samples) => {
        expectRefusal(await callTo(endpoint, samples, (form) => without(form, name)), 400, null);
      },
    });
  }
  return rows;
}

function without(form: Form, name: string): Form {
  return Object.fromEntries(Object.entries(form).filter(([key]) => key !== name && !key.startsWith(`${name}[`)));
}

function describe(form: Form): string {
  return Object.entries(form)
    .map(([name, value]) => `${name}=${value}`)
    .join('&');
}
