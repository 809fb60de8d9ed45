import { parser } from '@prometheus-io/lezer-promql';

/** The metrics of one program: for each family the labels that its series show. */
export type Families = ReadonlyMap<string, ReadonlySet<string>>;

/** Reads the text format of Prometheus. A histogram's series are there under their own names too. */
export function readMetrics(text: string): Families {
  const families = new Map<string, Set<string>>();
  const familyOf = (name: string): Set<string> => {
    const labels = families.get(name) ?? new Set<string>();
    families.set(name, labels);
    return labels;
  };
  for (const line of text.split('\n')) {
    const [, declared, kind] = /^# TYPE (\S+) (\S+)/.exec(line) ?? [];
    if (declared !== undefined) {
      const suffixes = kind === 'histogram' ? ['_bucket', '_sum', '_count'] : [''];
      for (const suffix of suffixes) familyOf(declared + suffix);
    }
    const [, name, labels = ''] = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? \S+$/.exec(line) ?? [];
    if (name === undefined) continue;
    for (const [, label = ''] of labels.matchAll(/([a-zA-Z_]\w*)="(?:[^"\\]|\\.)*"/g)) familyOf(name).add(label);
  }
  return families;
}

/** Metrics without the label of the account `default`, which most series of a test have. */
export function withoutAccount(text: string): string {
  return text.replaceAll(/account="default",|,account="default"|\{account="default"\}/g, '');
}

/** The value of one series of the account `default`, or null when it is not there. @param series without its account */
export function valueOf(text: string, series: string): number | null {
  const line = withoutAccount(text)
    .split('\n')
    .find((one) => one.startsWith(`${series} `));
  return line === undefined ? null : Number(line.slice(series.length + 1));
}

/** The metrics that an expression reads, each with the labels that it names. @throws where it is not PromQL. */
export function readExpression(expression: string): { readonly metric: string; readonly labels: readonly string[] }[] {
  const read: { metric: string; labels: string[] }[] = [];
  parser.parse(expression).iterate({
    enter({ type, from, to }) {
      const text = expression.slice(from, to);
      if (type.isError) throw new Error(`Not PromQL at ${from}: ${expression}`);
      if (type.name === 'VectorSelector') {
        const [metric = ''] = text.split('{', 1);
        read.push({ metric: metric.trim(), labels: [] });
      }
      if (type.name === 'LabelName') read.at(-1)?.labels.push(text);
    },
  });
  return read;
}
