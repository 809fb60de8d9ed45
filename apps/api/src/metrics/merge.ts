/**
 * One text of metrics from several, which have different labels. The text format lists each metric once, with all of its
 * samples. Source: the text format of Prometheus, version 0.0.4.
 */
export function mergeMetrics(texts: readonly string[]): string {
  const families = new Map<string, { readonly head: string[]; readonly samples: string[] }>();
  for (const text of texts) {
    let name = '';
    for (const line of text.split('\n')) {
      if (line === '') continue;
      const [, described] = /^# (?:HELP|TYPE) (\S+)/.exec(line) ?? [];
      name = described ?? name;
      const family = families.get(name) ?? { head: [], samples: [] };
      families.set(name, family);
      if (described === undefined) family.samples.push(line);
      else if (!family.head.includes(line)) family.head.push(line);
    }
  }
  return [...families.values()].map(({ head, samples }) => `${[...head, ...samples].join('\n')}\n`).join('\n');
}
