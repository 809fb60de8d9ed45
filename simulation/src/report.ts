import type { BatchResult } from './batch.js';
import type { Coverage } from './coverage.js';
import { SCRIPT_COUNT } from './scripted/scripts.js';
import { EVERYTHING, MOMENTS, type Focus } from './plan.js';

/** The options of the command that choose this focus. */
export function focusOptions({ faults, actions }: Focus): string {
  const option = (name: string, parts: readonly string[]): string =>
    parts.map((part) => ` --${name} ${JSON.stringify(part)}`).join('');
  return option('fault', faults) + option('action', actions);
}

/** The failed lives of a batch, each with the command that repeats it. */
export function failures({ breaches }: BatchResult, seed: number, focus = EVERYTHING): string[] {
  return breaches.map(({ guarantee, checkout, what }) => {
    const life = /life-(\d+)$/.exec(checkout)?.[1];
    const command = life === undefined ? '' : `\n  pnpm simulate --seed ${seed} --life ${life}${focusOptions(focus)}`;
    return `broken: guarantee ${guarantee}, ${checkout}: ${what}${command}`;
  });
}

/** How often each fault was drawn at each moment, and how often its rarest combination with an action. */
export function coverageTable(coverage: Coverage): string[] {
  const rows = coverage.rows();
  const width = Math.max(...rows.map(({ fault }) => fault.length));
  const cells = (values: readonly (string | number)[]): string =>
    values.map((value, index) => String(value).padStart((MOMENTS[index] ?? 'least').length + 2)).join('');
  return [
    `  ${'fault'.padEnd(width)}${cells([...MOMENTS, 'least'])}`,
    ...rows.map(({ fault, counts, least }) => `  ${fault.padEnd(width)}${cells([...counts, least])}`),
  ];
}

/** What a run did, in a few lines. */
export function summary(results: readonly BatchResult[]): string[] {
  const latest = Math.max(...results.map(({ finalAfterMs }) => finalAfterMs));
  const scripts = new Set(results.flatMap(({ script }) => script ?? []));
  return [
    `  ended as   ${listed(results.map(({ statuses }) => statuses))}`,
    `  engine     ${listed(results.map(({ counts }) => counts))}`,
    `  provider   ${listed(results.map(({ struck }) => struck))}`,
    `  scripts    ${scripts.size} of ${SCRIPT_COUNT} followed`,
    `  final      at most ${Math.ceil(latest / 1_000)} virtual seconds after the last fault`,
  ];
}

function listed(all: readonly Readonly<Record<string, number>>[]): string {
  const sums: Record<string, number> = {};
  for (const counts of all) for (const [name, count] of Object.entries(counts)) sums[name] = (sums[name] ?? 0) + count;
  return Object.entries(sums)
    .map(([name, count]) => `${name} ${count}`)
    .join(', ');
}
