import type { Checkout } from '@tillflow/sdk';
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { encode } from 'uqr';
import { formatAmount } from './money.js';
import { secondsLeft } from './screen.js';
import { fill, type Language, type Words } from './words.js';

/** How the page speaks. */
export type Speech = { readonly language: Language; readonly words: Words };

/** A link of the API, at the address that this page came from. */
function here(address: string): string {
  const { pathname, search } = new URL(address);
  return pathname + search;
}

/** The heading of a screen. It takes the focus when the screen changes, so that a screen reader reads it. */
export function Heading({ of, children }: { readonly of: string; readonly children: ComponentChildren }): JSX.Element {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), [of]);
  return (
    <h1 ref={heading} tabIndex={-1}>
      {children}
    </h1>
  );
}

/** The QR code that the customer scans, and the time that is left for it. */
export function Code({ checkout, now, language, words }: Speech & CodeProps): JSX.Element | null {
  const { qr, amount, currency } = checkout;
  if (qr === null) return null;
  const left = secondsLeft(checkout, now);
  return (
    <div class="code">
      <img
        src={here(qr.image_url)}
        alt={fill(words.qrCode, { amount: formatAmount(amount, currency, language) })}
        width="400"
        height="400"
      />
      {left === null ? null : (
        <p class={left <= 30 ? 'left few' : 'left'}>
          {words.timeLeft} <span role="timer">{clockText(left)}</span>
        </p>
      )}
    </div>
  );
}
type CodeProps = { readonly checkout: Checkout; readonly now: number | null };

function clockText(seconds: number): string {
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}

/** Any text as a QR code, drawn by the page. */
export function QrOf({ text, label }: { readonly text: string; readonly label: string }): JSX.Element {
  const { size, path } = useMemo(() => {
    const { data, size } = encode(text, { border: 2 });
    const dark = data.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : [])));
    return { size, path: dark.join('') };
  }, [text]);
  return (
    <svg class="qr" role="img" aria-label={label} viewBox={`0 0 ${size} ${size}`} shape-rendering="crispEdges">
      <rect width={size} height={size} fill="#fff" />
      <path d={path} fill="#000" />
    </svg>
  );
}

/** Prints the receipt once it is there. */
export function PrintedReceipt({ url, onEnd }: { readonly url: string; readonly onEnd: () => void }): JSX.Element {
  const frame = useRef<HTMLIFrameElement>(null);
  const print = (): void => {
    // An error of the API is not a receipt.
    if (frame.current?.contentDocument?.contentType === 'text/html') frame.current.contentWindow?.print();
    onEnd();
  };
  return (
    <iframe ref={frame} class="printed" src={here(url)} title="" aria-hidden="true" tabIndex={-1} onLoad={print} />
  );
}
