import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { here } from './parts.js';
import { documentOf } from './trusted.js';

/** How long the receipt may take. Milliseconds. */
const RECEIPT_WITHIN_MS = 10_000;
const STYLE = /<style>(.*?)<\/style>/s;

type Props = { readonly url: string; readonly language: string; readonly onEnd: () => void };

/** Prints the receipt, in the language of the page, once it is there. */
export function PrintedReceipt({ url, language, onEnd }: Props): JSX.Element {
  const frame = useRef<HTMLIFrameElement>(null);
  useEffect(() => {
    const printOnce = async (): Promise<void> => {
      try {
        const receipt = await readReceipt(url, language);
        if (receipt !== null && frame.current !== null) print(receipt, frame.current);
      } catch {
        // No answer: the person taps again.
      }
      onEnd();
    };
    void printOnce();
  }, []);
  return <iframe ref={frame} class="printed" title="" aria-hidden="true" tabIndex={-1} />;
}

/** The receipt as a page. A frame that loads it would ask in the language of the browser. An error is not a receipt. */
async function readReceipt(url: string, language: string): Promise<string | null> {
  const response = await fetch(here(url), {
    headers: { accept: 'text/html', 'accept-language': language },
    signal: AbortSignal.timeout(RECEIPT_WITHIN_MS),
  });
  return response.ok ? response.text() : null;
}

function print(html: string, { contentDocument: page, contentWindow }: HTMLIFrameElement): void {
  const window = contentWindow as (Window & typeof globalThis) | null;
  if (page === null || window === null) return;
  // The policy of the page forbids the style of a document, and permits that of a script.
  const sheet = new window.CSSStyleSheet();
  sheet.replaceSync(STYLE.exec(html)?.[1] ?? '');
  const receipt = documentOf(html.replace(STYLE, ''));
  page.adoptedStyleSheets = [sheet];
  page.title = receipt.title;
  page.documentElement.lang = receipt.documentElement.lang;
  page.body.replaceWith(page.adoptNode(receipt.body));
  window.print();
}
