import { parse, stringify } from 'yaml';

/** An alert of `deploy/prometheus/alerts.yml`. */
export type AlertRule = {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: { readonly severity: 'page' | 'ticket' };
  readonly annotations: { readonly runbook: string };
};

type RuleFile = { readonly groups: readonly { readonly name: string; readonly rules: readonly AlertRule[] }[] };

const SECONDS = { s: 1, m: 60, h: 3_600 } as const;

/** How many times as fast the time of the alerts passes: a second stands for a minute. */
export const TIMES_AS_FAST = 60;

export function alertsIn(rules: string): AlertRule[] {
  return (parse(rules) as RuleFile).groups.flatMap((group) => group.rules);
}

/**
 * The same rules with every window, every `for`, and every limit of an age {@link TIMES_AS_FAST} times shorter. Rates, shares and
 * the times of single calls stay.
 */
export function shortened(rules: string): string {
  const { groups } = parse(rules) as RuleFile;
  const short = groups.map(({ name, rules: all }) => ({
    name,
    rules: all.map((rule) => ({
      ...rule,
      expr: withShortAges(rule.expr.replaceAll(/\[(\d+[smh])\]/g, (_, window: string) => `[${shorter(window)}]`)),
      ...(rule.for === undefined ? {} : { for: shorter(rule.for) }),
    })),
  }));
  return stringify({ groups: short });
}

function withShortAges(expression: string): string {
  const limit = /(_(?:age|timestamp)_seconds[^>]*> )(\d+)/g;
  return expression.replaceAll(limit, (_, before: string, seconds: string) => before + Number(seconds) / TIMES_AS_FAST);
}

/** A duration of Prometheus, which accepts whole milliseconds. */
function shorter(duration: string): string {
  const [, count = '', unit = ''] = /^(\d+)([smh])$/.exec(duration) ?? [];
  if (!(unit in SECONDS)) throw new Error(`Not a duration that is known here: ${duration}`);
  const seconds = Number(count) * SECONDS[unit as keyof typeof SECONDS];
  return `${Math.round((seconds * 1_000) / TIMES_AS_FAST)}ms`;
}
