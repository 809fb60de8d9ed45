import { createHash } from 'node:crypto';
import { wordsOf } from './languages.js';
import { linesOf, type Line } from './lines.js';
import type { CheckoutReceipt } from './receipts.schema.js';

/** Paper of 80 mm has a printable width of 72 mm. The printer's driver decides how long the paper is. */
const STYLE = `
* { box-sizing: border-box; margin: 0; }
html { color: #000; background: #fff; }
body { font: 9.5pt/1.4 system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'Noto Sans Thai', 'Noto Sans SC', sans-serif; font-variant-ligatures: none; }
main { width: 72mm; max-width: 100%; margin: 0 auto; padding: 2mm 0; overflow-wrap: anywhere; }
.shop { font-size: 14pt; font-weight: 700; line-height: 1.2; text-align: center; margin-bottom: 1mm; }
.address { text-align: center; }
h1 { font-size: 12pt; text-align: center; margin-top: 4mm; }
h2 { font-size: 9.5pt; margin-bottom: 0.5mm; }
hr { border: 0; border-top: 1px dashed #000; margin: 2.5mm 0; }
dl { display: grid; gap: 0.8mm; }
dl > div { display: flex; flex-wrap: wrap; justify-content: space-between; column-gap: 4mm; }
dd { margin-left: auto; text-align: right; font-variant-numeric: tabular-nums; }
.total { font-size: 14pt; font-weight: 700; line-height: 1.2; }
@page { margin: 4mm; }
@media screen {
  html { background: #eee; }
  main { width: 80mm; margin: 4mm auto; padding: 5mm 4mm; background: #fff; }
}
`;

/** The page runs nothing, loads nothing, and has only its own style. The counter prints it in a frame. */
export const RECEIPT_POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'self'",
].join('; ');

/** The receipt as a page to print on paper of 80 mm. */
export function receiptHtml(receipt: CheckoutReceipt): string {
  const words = wordsOf(receipt.language);
  const title = receipt.kind === 'refund' ? words.refund : words.payment;
  return `<!doctype html>
<html lang="${receipt.language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(`${title} ${receipt.reference}`)}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
${parts(linesOf(receipt)).join('\n')}
</main>
</body>
</html>
`;
}

/** Fields that follow one another are one list. */
function parts(lines: readonly Line[]): string[] {
  const html: string[] = [];
  let fields: string[] = [];
  const endList = (): void => {
    if (fields.length > 0) html.push(`<dl>\n${fields.join('\n')}\n</dl>`);
    fields = [];
  };
  for (const line of lines) {
    if (line.kind === 'field' || line.kind === 'total') {
      fields.push(fieldOf(line));
    } else {
      endList();
      html.push(elementOf(line));
    }
  }
  endList();
  return html;
}

function fieldOf({ kind, label, value }: Extract<Line, { readonly label: string }>): string {
  const look = kind === 'total' ? ' class="total"' : '';
  return `<div${look}><dt>${escaped(label)}</dt><dd>${escaped(value)}</dd></div>`;
}

function elementOf(line: Exclude<Line, { readonly label: string }>): string {
  switch (line.kind) {
    case 'shop':
    case 'address':
      return `<p class="${line.kind}">${escaped(line.text)}</p>`;
    case 'title':
      return `<h1>${escaped(line.text)}</h1>`;
    case 'heading':
      return `<h2>${escaped(line.text)}</h2>`;
    case 'rule':
      return '<hr>';
  }
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

function escaped(text: string): string {
  return text.replaceAll(/[&<>"]/g, (character) => ENTITIES[character] ?? '');
}
