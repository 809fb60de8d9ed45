import type { Checkout, Qr } from '@tillflow/sdk';
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { encode } from 'uqr';
import { formatAmount } from './money.js';
import { secondsLeft } from './screen.js';
import { fill, type Language, type Words } from './words.js';

/** How the page speaks. */
export type Speech = { readonly language: Language; readonly words: Words };

/** A link of the API, at the address that this page came from. */
export function here(address: string): string {
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
export function Code({ checkout, now, isReached, language, words }: Speech & CodeProps): JSX.Element | null {
  const { qr, amount, currency } = checkout;
  if (qr === null) return null;
  const left = secondsLeft(checkout, now);
  return (
    <div class="code">
      <QrImage
        key={qr.image_url}
        qr={qr}
        label={fill(words.qrCode, { amount: formatAmount(amount, currency, language) })}
        isReached={isReached}
      />
      {left === null ? null : (
        <p class={left <= 30 ? 'left few' : 'left'}>
          {words.timeLeft} <span role="timer">{clockText(left)}</span>
        </p>
      )}
    </div>
  );
}
type CodeProps = { readonly checkout: Checkout; readonly now: number | null; readonly isReached: boolean };

/** The pause before the page loads a broken image again, and how long the first load may take. Milliseconds. */
const IMAGE_AGAIN_AFTER_MS = 1_000;
const IMAGE_WITHIN_MS = 3_000;

/**
 * The provider's image of the QR code. Until it arrives after a failure, the page draws what it contains, as the API does
 * when the provider does not give the image.
 */
function QrImage({ qr, label, isReached }: QrImageProps): JSX.Element {
  const [state, setState] = useState<'loading' | 'loaded' | 'broken'>('loading');
  const [tries, setTries] = useState(1);
  const drawn = state === 'loaded' || (state === 'loading' && tries === 1) ? null : qr.raw_data;
  useEffect(() => {
    if (state === 'loaded' || !isReached) return undefined;
    const loadAgain = (): void => {
      setState('loading');
      setTries(tries + 1);
    };
    // A slow line gets more time with each try.
    const timer = setTimeout(loadAgain, state === 'broken' ? IMAGE_AGAIN_AFTER_MS : tries * IMAGE_WITHIN_MS);
    return () => clearTimeout(timer);
  }, [state, tries, isReached]);
  return (
    <>
      {drawn === null ? null : <QrOf text={drawn} label={label} />}
      <img
        key={tries}
        src={here(qr.image_url)}
        alt={label}
        width="400"
        height="400"
        hidden={drawn !== null}
        onLoad={() => setState('loaded')}
        onError={() => setState('broken')}
      />
    </>
  );
}
type QrImageProps = { readonly qr: Qr; readonly label: string; readonly isReached: boolean };

function clockText(seconds: number): string {
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}

/** Any text as a QR code, drawn by the page; nothing when it is too long for one. */
export function QrOf({ text, label }: { readonly text: string; readonly label: string }): JSX.Element | null {
  const code = useMemo(() => drawnCode(text), [text]);
  if (code === null) return null;
  return (
    <svg
      class="qr"
      role="img"
      aria-label={label}
      viewBox={`0 0 ${code.size} ${code.size}`}
      shape-rendering="crispEdges"
    >
      <rect width={code.size} height={code.size} fill="#fff" />
      <path d={code.path} fill="#000" />
    </svg>
  );
}

function drawnCode(text: string): { readonly size: number; readonly path: string } | null {
  try {
    const { data, size } = encode(text, { border: 2 });
    const dark = data.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : [])));
    return { size, path: dark.join('') };
  } catch {
    return null;
  }
}
