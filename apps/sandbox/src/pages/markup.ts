/** HTML that is safe to send: made by {@link markup} only, so every text in it was escaped. */
export class Markup {
  constructor(readonly text: string) {}
}

/** What may stand in a page. Text is escaped; null and false are nothing. */
export type Content = Markup | string | number | null | false | readonly Content[];

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** A piece of HTML. Attributes stand in double quotes, so that what is escaped cannot leave them. */
export function markup(literals: TemplateStringsArray, ...contents: readonly Content[]): Markup {
  return new Markup(literals.map((literal, i) => literal + textOfContent(contents[i] ?? null)).join(''));
}

function textOfContent(content: Content): string {
  if (content === null || content === false) return '';
  if (content instanceof Markup) return content.text;
  if (typeof content === 'object') return content.map(textOfContent).join('');
  return String(content).replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
}
