/** The data of each event with this name that is complete, and the text after it. Source: HTML standard, section 9.2. */
export function eventsIn(text: string, name: string): { readonly data: readonly string[]; readonly rest: string } {
  const blocks = text.replaceAll('\r\n', '\n').split('\n\n');
  const rest = blocks.pop() ?? '';
  const data = blocks.flatMap((block) => {
    const fields = block.split('\n').map((line) => /^(\w+): ?(.*)$/s.exec(line) ?? []);
    const valueOf = (field: string): string[] =>
      fields.flatMap(([, found, value = '']) => (found === field ? value : []));
    return valueOf('event').at(-1) === name ? [valueOf('data').join('\n')] : [];
  });
  return { data, rest };
}
