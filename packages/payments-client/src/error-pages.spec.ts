import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import * as exported from './index.js';

const PAGES = new URL('../docs/errors/', import.meta.url);
const CONTENTS = 'README.md';
/** Headings of the tables' first columns. */
const HEADS = new Set(['code', 'reason']);

const classes = Object.values(exported).flatMap((value) =>
  typeof value === 'function' && value.prototype instanceof Error ? [value.name] : [],
);
const pages = readdirSync(PAGES).filter((file) => file !== CONTENTS);
const read = (file: string): string => readFileSync(new URL(file, PAGES), 'utf8');

/** Every code and reason that is a literal where an error is made, and the kinds of deadline, which are codes. */
function literalCodes(): Set<string> {
  const source = fileURLToPath(new URL('.', import.meta.url));
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith('.ts') && !file.endsWith('.spec.ts'),
  );
  const text = files.map((file) => readFileSync(new URL(file, import.meta.url), 'utf8')).join('\n');
  const made = text.matchAll(/\bcode: (?:[^,\n]*\? )?'([a-z_]+)'(?: : '([a-z_]+)')?/g);
  const notSent = text.matchAll(/\b(?:notSent|refused)\('([a-z_]+)'/g);
  const [, limits = ''] = /type DeadlineKind = ([^;]+);/.exec(text) ?? [];
  const [, reasons = ''] = /type WebhookRefusal =([^;]+);/.exec(text) ?? [];
  return new Set(
    [...made, ...notSent, ...`${limits}${reasons}`.matchAll(/'([a-z_]+)'/g)].flatMap(([, ...codes]) =>
      codes.filter((code) => code !== undefined),
    ),
  );
}

describe('the pages of errors', () => {
  test('are one for each exported class, all of them in the table of contents', () => {
    expect(pages.toSorted()).toEqual(classes.map((name) => `${name}.md`).toSorted());
    const listed = [...read(CONTENTS).matchAll(/^\| \[(\w+)\]\((\w+)\.md\)/gm)];
    expect(listed.map(([, name = '']) => name)).toEqual(classes.toSorted());
    expect(listed.map(([, , file]) => file)).toEqual(classes.toSorted());
  });

  test.each(pages)('include %s, which says what the error means for the money and what to do', (page) => {
    const text = read(page);
    expect(text.startsWith(`# ${page.replace('.md', '')}\n\n`)).toBe(true);
    expect(text).toContain('**The money.**');
    expect(text).toContain('**What to do.**');
  });

  test('contain every code of this client, each on one page, and no other', () => {
    const documented = pages.flatMap((page) =>
      [...read(page).matchAll(/^\| `([a-z_]+)` /gm)].flatMap(([, code = '']) => (HEADS.has(code) ? [] : code)),
    );
    expect(documented.toSorted()).toEqual([...literalCodes()].toSorted());
  });

  test('are the targets of the links in the docstrings', () => {
    const text =
      readFileSync(new URL('errors.ts', import.meta.url), 'utf8') +
      readFileSync(new URL('webhooks.ts', import.meta.url), 'utf8');
    const links = [...text.matchAll(/docs\/errors\/(\w+)\.md/g)].map(([, name = '']) => name);
    expect(links.toSorted()).toEqual(classes.toSorted());
    expect(links.filter((name) => !existsSync(new URL(`${name}.md`, PAGES)))).toEqual([]);
  });
});
