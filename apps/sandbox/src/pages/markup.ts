/** Escaped HTML. Only {@link markup} makes it, except for the constant style and script. */
export class Markup {
  constructor(readonly text: string) {}
}

/** Content of a page. Text is escaped; null and false are left out. */
export type Content = Markup | string | number | null | false | readonly Content[];

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** A piece of HTML. Write attributes in double quotes: the escaping relies on them. */
export function markup(literals: TemplateStringsArray, ...contents: readonly Content[]): Markup {
  return new Markup(literals.map((literal, i) => literal + textOfContent(contents[i] ?? null)).join(''));
}

function textOfContent(content: Content): string {
  if (content === null || content === false) return '';
  if (content instanceof Markup) return content.text;
  if (typeof content === 'object') return content.map(textOfContent).join('');
  return String(content).replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
}
