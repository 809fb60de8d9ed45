import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { ALERT_CASES, type AlertCase } from './support/alert-cases.js';
import { PROMTOOL } from '@tillflow/tools';

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
  await expect(evaluated(ALERT_CASES)).resolves.toBe('SUCCESS');

  const [first] = ALERT_CASES;
  await expect(evaluated(first === undefined ? [] : [{ ...first, quiet: first.fires }])).resolves.toContain('FAILED');
});

/** One file of tests for each case, with its rule alone: Prometheus evaluates all rules of a file at each step. */
async function evaluated(cases: readonly AlertCase[]): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'tillflow-alerts-'));
  try {
    const paths = await Promise.all(
      cases.map(async ({ alert, fires, labels, summary, quiet, at }, index) => {
        const rule = rules.get(alert);
        const own = join(folder, `${index}.rules.yml`);
        await writeFile(own, stringify({ groups: [{ name: alert, rules: [rule] }] }));
        const firing = {
          exp_labels: { ...rule?.labels, ...labels },
          exp_annotations: { ...rule?.annotations, summary },
        };
        const tests = [testOf(alert, fires, [firing], at), testOf(alert, quiet, [], at)];
        const path = join(folder, `${index}.yml`);
        // A day and more in fewer steps.
        const every = at === undefined ? '1m' : '30m';
        await writeFile(path, stringify({ rule_files: [own], evaluation_interval: every, tests }));
        return path;
      }),
    );
    type Output = { readonly stdout: string; readonly stderr: string };
    const { stdout, stderr } = await run(PROMTOOL, ['test', 'rules', ...paths]).catch((failure: Output) => failure);
    const successes = stdout.match(/SUCCESS/g)?.length ?? 0;
    return successes === cases.length && stderr === '' ? 'SUCCESS' : stdout + stderr;
  } finally {
    await rm(folder, { recursive: true });
  }
}

function testOf(alertname: string, series: AlertCase['fires'], alerts: readonly object[], at = '50m'): object {
  return {
    interval: '1m',
    input_series: series.map(([name, values]) => ({ series: name, values })),
    alert_rule_test: [{ eval_time: at, alertname, exp_alerts: alerts }],
  };
}

it('Prometheus passes alerts on to Alertmanager, which sends pages and tickets to different people', async () => {
  type Alertmanager = {
    readonly route: {
      readonly receiver: string;
      readonly routes: readonly { readonly receiver: string; readonly matchers: readonly string[] }[];
    };
    readonly receivers: readonly { readonly name: string }[];
  };
  const read = async (name: string): Promise<unknown> =>
    parse(await readFile(fileURLToPath(new URL(`../deploy/${name}`, import.meta.url)), 'utf8'));
  const { route, receivers } = (await read('prometheus/alertmanager.yml')) as Alertmanager;
  const receiverOf = (severity: string): string =>
    route.routes.find(({ matchers }) => matchers.includes(`severity="${severity}"`))?.receiver ?? route.receiver;
  expect(['page', 'ticket'].map(receiverOf)).toEqual(['on-call', 'tickets']);
  expect(receivers.map(({ name }) => name)).toEqual(['on-call', 'tickets']);

  const { services } = (await read('../docker-compose.yml')) as { services: Record<string, { profiles?: string[] }> };
  expect(services['alertmanager']?.profiles).toEqual(services['prometheus']?.profiles);
  for (const name of ['prometheus.yml', 'kubernetes.yml']) {
    expect(await read(`prometheus/${name}`)).toMatchObject({
      alerting: { alertmanagers: [{ static_configs: [{ targets: ['alertmanager:9093'] }] }] },
    });
  }
});
