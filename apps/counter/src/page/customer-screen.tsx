import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { QrOf } from './parts.js';
import type { Words } from './words.js';

/** Whoever scans the code can sell at the till, so it does not stay on the screen. Milliseconds. */
const CODE_STAYS_MS = 60_000;

/** Opens the screen for the customer, on this device or on another one. @param token the session of the till */
export function CustomerScreen({ token, words }: { readonly token: string; readonly words: Words }): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    if (!isOpen) return undefined;
    const timer = setTimeout(() => setOpen(false), CODE_STAYS_MS);
    return () => clearTimeout(timer);
  }, [isOpen]);
  // A browser sends no fragment to any server. It also tells a display that is open which till it shows.
  const address = new URL(`counter/display#${token}`, location.href).href;
  return (
    <>
      <button type="button" aria-expanded={isOpen} aria-controls="customer-screen" onClick={() => setOpen(!isOpen)}>
        {words.customerScreen}
      </button>
      <div id="customer-screen" class="customer-screen" hidden={!isOpen}>
        {isOpen ? (
          <>
            <a href={address} target="tillflow-display" onClick={() => setOpen(false)}>
              {words.openHere}
            </a>
            <QrOf text={address} label={words.customerScreen} />
            <p>{words.openElsewhere}</p>
          </>
        ) : null}
      </div>
    </>
  );
}
