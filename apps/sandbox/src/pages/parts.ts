import type { FormMap } from '../http/form.js';
import { markup, type Content, type Markup } from './markup.js';

/** A table that becomes a list of cards on a phone. The roles are explicit because `display: block` removes them. */
export function table(caption: string, columns: readonly Column[], rows: readonly (readonly Content[])[]): Markup {
  const labels = columns.map((column) => (typeof column === 'string' ? { label: column, kind: null } : column));
  const head = labels.map(
    ({ label, kind }) => markup`<th scope="col" role="columnheader"${classOf(kind)}>${label}</th>`,
  );
  const body = rows.map((cells) => {
    const inner = cells.map((cell, i) => {
      const { label = '', kind = null } = labels[i] ?? {};
      const isEmpty = cell === null || cell === false || cell === '';
      return markup`<td role="cell" data-label="${label}"${classOf(kind)}>${!isEmpty && markup`<div>${cell}</div>`}</td>`;
    });
    return markup`<tr role="row">${inner}</tr>\n`;
  });
  return markup`<table role="table"><caption class="unseen">${caption}</caption>
<thead role="rowgroup"><tr role="row">${head}</tr></thead><tbody role="rowgroup">${body}</tbody></table>`;
}

export type Column = string | { readonly label: string; readonly kind: 'number' | 'short' };

/** A column whose cells do not wrap on a wide screen. */
export function short(label: string): Column {
  return { label, kind: 'short' };
}

function classOf(kind: string | null): Content {
  return kind !== null && markup` class="${kind}"`;
}

/** Names and values; entries without a value are left out. */
export function facts(entries: readonly (readonly [name: string, value: Content])[]): Markup {
  const shown = entries.filter(([, value]) => value !== null && value !== false && value !== '');
  return markup`<dl>${shown.map(([name, value]) => markup`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`;
}

export function badge(kind: string, text = kind): Markup {
  return markup`<span class="badge ${kind}">${text}</span>`;
}

/** A `POST` form. @param action null for the page's own address. */
export function postForm(action: string | null, body: Content): Markup {
  return markup`<form method="post"${action !== null && markup` action="${action}"`}>${body}</form>`;
}

export function hidden(name: string, value: string): Markup {
  return markup`<input type="hidden" name="${name}" value="${value}">`;
}

type FieldOptions = {
  readonly id: string;
  readonly name: string;
  readonly label: string;
  readonly value?: string;
  readonly hint?: string;
  readonly type?: 'text' | 'search';
  readonly required?: boolean;
  /** Further attributes. */
  readonly more?: Content;
};

export function field({ id, name, label, value = '', hint, type = 'text', required, more }: FieldOptions): Markup {
  const about = hint === undefined ? null : markup` aria-describedby="${id}-hint"`;
  return markup`<div><label for="${id}">${label}</label>
<input id="${id}" name="${name}" type="${type}" value="${value}" autocomplete="off"${required === true && markup` required`}${about}${more ?? null}>
${hint !== undefined && markup`<p class="hint" id="${id}-hint">${hint}</p>`}</div>`;
}

export function choice(
  { id, name, label, chosen }: { id: string; name: string; label: string; chosen: string },
  options: readonly (readonly [value: string, label: string])[],
): Markup {
  const each = options.map(
    ([value, text]) => markup`<option value="${value}"${value === chosen && markup` selected`}>${text}</option>`,
  );
  return markup`<div><label for="${id}">${label}</label><select id="${id}" name="${name}">${each}</select></div>`;
}

export function jsonOf(summary: string, value: unknown): Markup {
  return markup`<details><summary>${summary}</summary><pre tabindex="0">${JSON.stringify(value, null, 2)}</pre></details>`;
}

/** The text of a field; `otherwise` for a missing field, a list or a map. */
export function entered(form: FormMap, name: string, otherwise = ''): string {
  const value = Object.hasOwn(form, name) ? form[name] : undefined;
  return typeof value === 'string' ? value : otherwise;
}

export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString('en')} ${count === 1 ? one : many}`;
}
