import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';

const fileOf = (path: string): string => readFileSync(new URL(`../../../docs/${path}`, import.meta.url), 'utf8');

type Described = {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly responses: Responses }>>>>;
  readonly components: { readonly responses: Responses };
};
type Responses = Readonly<Record<string, { readonly $ref?: string }>>;
const { paths, components } = JSON.parse(fileOf('openapi.json')) as Described;
const [, page = ''] = fileOf('integrate.md').split('## What to do at each answer');

/** The answers that the first column of a table names: a status, and with it a code when it is an error. */
function answersIn(heading: string): string[] {
  const [, part = ''] = page.split(`**${heading}**`);
  const cells = [...(part.split('\n**')[0] ?? '').matchAll(/^\| (.*?) +\|/gm)].map(([, cell = '']) => cell);
  return cells.flatMap((cell) =>
    [...cell.matchAll(/\d{3}[^\d]*/g)].flatMap(([text]) => {
      const status = text.slice(0, 3);
      return status < '300' ? [status] : [...text.matchAll(/`(\w+)`/g)].map(([, code]) => `${status} ${code}`);
    }),
  );
}

/** The same, as the API describes them. */
function answersOf(method: string, path: string): string[] {
  return Object.entries(paths[path]?.[method]?.responses ?? {}).flatMap(([status, response]) => {
    if (status < '300') return [status];
    const shared = JSON.stringify(components.responses[response.$ref?.split('/').at(-1) ?? '']);
    const [, codes = ''] = /"code":\{"enum":\[(.*?)\]/.exec(shared) ?? [];
    return codes.split(',').map((code) => `${status} ${code.replaceAll('"', '')}`);
  });
}

describe('docs/integrate.md says what to do at each answer', () => {
  const toAll = answersIn('To every request:');

  const routes = [
    ['Create', 'post', '/v1/checkouts'],
    ['New attempt', 'post', '/v1/checkouts/{id}/attempts'],
    ['Cancel', 'post', '/v1/checkouts/{id}/cancel'],
    ['Refund', 'post', '/v1/checkouts/{id}/refunds'],
    ['Receipt', 'get', '/v1/checkouts/{id}/receipt'],
  ] as const;

  test.each(routes)('docs/integrate.md names each answer to %s (%s %s), and no other', (heading, method, path) => {
    const [own, described] = [answersIn(heading), answersOf(method, path)];
    expect(described.length).toBeGreaterThan(8);
    expect(described.filter((answer) => !own.includes(answer) && !toAll.includes(answer))).toEqual([]);
    expect(own.filter((answer) => !described.includes(answer))).toEqual([]);
  });

  test('docs/integrate.md names each answer to a read of a checkout', () => {
    const described = answersOf('get', '/v1/checkouts/{id}');
    expect(described.filter((answer) => !toAll.includes(answer))).toEqual(['200']);
  });

  test('docs/integrate.md names an answer to every request only when one of them has it', () => {
    const described = new Set(routes.flatMap(([, method, path]) => answersOf(method, path)));
    expect(toAll.filter((answer) => !described.has(answer))).toEqual([]);
  });
});
