import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { alertsIn, shortened } from './rules.js';

const RULES = await readFile(new URL('../../../deploy/prometheus/alerts.yml', import.meta.url), 'utf8');
const short = new Map(alertsIn(shortened(RULES)).map((rule) => [rule.alert, rule]));

it('in the rules of the game day, windows, waits and ages are 60 times shorter', () => {
  expect(short.get('TillflowProviderUnknown')).toMatchObject({
    expr: expect.stringMatching(/\[5000ms\].*\[5000ms\]\)\) > 0\.05 /),
    for: '5000ms',
  });
  expect(short.get('TillflowWebhooksMissing')).toMatchObject({ for: '15000ms' });
  expect(short.get('TillflowAttentionStays')?.expr).toMatch(/> 60$/);
  expect(short.get('TillflowBusinessUnread')?.expr).toMatch(/> 5$/);
  expect(short.get('TillflowEventTailBehind')?.expr).toMatch(/> 5 or .* > 0$/);
});

it('the rules of the game day keep the limits that are no times of an alert', () => {
  expect(short.get('TillflowProviderSlow')?.expr).toMatch(/> 3$/);
  expect(short.get('TillflowMoneyAtRisk')?.expr).toMatch(/> 10000000$/);
  expect(short.get('TillflowWorkerClock')?.expr).toMatch(/> 5$/);
});

it('the rules of the game day have no window or age that is not shorter', () => {
  const own = alertsIn(RULES);
  expect(short.size).toBe(own.length);
  for (const { alert, expr } of own) {
    const times = expr.match(/\[\d+\w+\]|(age|timestamp)_seconds[^>]*> \d/g) ?? [];
    for (const time of times) expect(short.get(alert)?.expr).not.toContain(time);
  }
});
