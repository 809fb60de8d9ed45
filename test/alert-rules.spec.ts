import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { ALERT_CASES, type AlertCase } from './support/alert-cases.js';
import { PROMTOOL } from './support/prometheus-server.js';

const run = promisify(execFile);
const RULES = fileURLToPath(new URL('../deploy/prometheus/alerts.yml', import.meta.url));
const isThere = await run(PROMTOOL, ['--version']).then(
  () => true,
  () => false,
);

type Rule = {
  readonly alert: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
};

const { groups } = parse(await readFile(RULES, 'utf8')) as { groups: { rules: Rule[] }[] };
const rules = new Map(groups.flatMap((group) => group.rules).map((rule) => [rule.alert, rule]));

it('each alert has a case that fires it and a close case that does not', () => {
  expect(new Set(ALERT_CASES.map(({ alert }) => alert))).toEqual(new Set(rules.keys()));
});

it('promtool confirms that each alert fires in its case and stays quiet in the close case', async ({ skip }) => {
  skip(!isThere, 'promtool is not installed; PROMTOOL names another path to it');
  await expect(run(PROMTOOL, ['check', 'rules', RULES])).resolves.toMatchObject({
    stdout: expect.stringContaining(`${rules.size} rules found`),
  });
  const tests = (cases: readonly AlertCase[]): object[] =>
    cases.flatMap(({ alert, fires, labels, summary, quiet, at }) => {
      const rule = rules.get(alert);
      const firing = { exp_labels: { ...rule?.labels, ...labels }, exp_annotations: { ...rule?.annotations, summary } };
      return [testOf(alert, fires, [firing], at), testOf(alert, quiet, [], at)];
    });
  await expect(evaluated(tests(ALERT_CASES.filter(({ at }) => at === undefined)))).resolves.toBe('SUCCESS');
  // A day and more in fewer steps.
  await expect(evaluated(tests(ALERT_CASES.filter(({ at }) => at !== undefined)), '30m')).resolves.toBe('SUCCESS');

  const [wrong] = ALERT_CASES.map(({ alert, fires }) => testOf(alert, fires, []));
  await expect(evaluated([wrong])).resolves.toContain('FAILED');
});

function testOf(alertname: string, series: AlertCase['fires'], alerts: readonly object[], at = '50m'): object {
  return {
    interval: '1m',
    input_series: series.map(([name, values]) => ({ series: name, values })),
    alert_rule_test: [{ eval_time: at, alertname, exp_alerts: alerts }],
  };
}

/** The verdict of Prometheus on its tests: SUCCESS, or the differences. */
async function evaluated(tests: readonly (object | undefined)[], every = '1m'): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'tillflow-alerts-'));
  try {
    const path = join(folder, 'tests.yml');
    await writeFile(path, stringify({ rule_files: [RULES], evaluation_interval: every, tests }));
    return await run(PROMTOOL, ['test', 'rules', path]).then(
      ({ stdout }) => stdout.trim().split('\n').at(-1)?.trim() ?? '',
      ({ stdout, stderr }: { stdout: string; stderr: string }) => `${stdout}${stderr}`,
    );
  } finally {
    await rm(folder, { recursive: true });
  }
}
