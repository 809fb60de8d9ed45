import { PROBLEMS, type ProblemCode } from './catalog.js';
import { exampleOf } from './problem.js';

/** The page of one error, in Markdown: served at `/errors/<code>`, and written to `docs/errors`. */
export function errorPage(code: ProblemCode): string {
  const { status, title, meaning, money, action } = PROBLEMS[code];
  const body = JSON.stringify(exampleOf(code), null, 2);
  return [
    `# ${code}`,
    `${status}: ${title}.`,
    meaning,
    `**The money.** ${money}`,
    `**What to do.** ${action}`,
    '```json',
  ]
    .join('\n\n')
    .concat(`\n${body}\n\`\`\`\n`);
}

/** The table of contents of `docs/errors`. */
export function errorIndex(): string {
  const rows = (Object.keys(PROBLEMS) as ProblemCode[]).map((code) => [
    `[${code}](${code}.md)`,
    String(PROBLEMS[code].status),
    PROBLEMS[code].title,
  ]);
  const head = ['Code', 'Status', 'Title'];
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  const rule = line(widths.map((width) => '-'.repeat(width)));
  return [
    '# Errors of the API',
    '',
    'Made from `apps/api/src/problems/catalog.ts` by `pnpm api-docs`; the API serves each page at `/errors/<code>`.',
    '',
    line(head),
    rule,
    ...rows.map(line),
    '',
  ].join('\n');
}
