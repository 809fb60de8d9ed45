import type { JSX } from 'preact';
import { useLayoutEffect, useState } from 'preact/hooks';
import { formatAmount, typed } from './money.js';
import { Heading, type Speech } from './parts.js';
import type { Till } from './till.js';
import { fill } from './words.js';

const KEYS = ['7', '8', '9', '4', '5', '6', '1', '2', '3', '00', '0'] as const;
const KEYBOARD: Readonly<Record<string, string>> = { Backspace: 'back', Escape: 'clear', Delete: 'clear' };

/** Source: `description` in docs/openapi.json. */
const LONGEST_NOTE = 255;

type Props = Speech & {
  readonly till: Till;
  readonly currency: string;
  readonly chooseCurrency: (currency: string) => void;
};

/** Where the person types the amount of a new sale. */
export function Pad({ till, language, words, currency, chooseCurrency }: Props): JSX.Element {
  const [amount, setAmount] = useState(0);
  const [note, setNote] = useState('');
  const { availability } = till;
  const limits = availability?.currencies.find((one) => one.currency === currency);
  const isPossible = availability?.accepting !== false;
  const isInside = limits === undefined || (amount >= limits.minimum && amount <= limits.maximum);
  const shown = formatAmount(amount, currency, language);
  const canCharge = isPossible && amount > 0 && isInside && till.isReached;
  const charge = (): void => {
    if (canCharge) till.charge(amount, currency, note.trim());
  };

  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.target instanceof Element && event.target.closest('input, select') !== null) return;
      if (event.key === 'Enter' && !(event.target instanceof HTMLButtonElement)) return charge();
      const key = KEYBOARD[event.key] ?? event.key;
      if (/^(?:\d|back|clear)$/.test(key)) setAmount((before) => typed(before, key));
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  });

  return (
    <section class="pad" aria-labelledby="amount-title">
      <Heading of="pad">
        <span id="amount-title">{words.amount}</span>
      </Heading>
      <output class="amount" aria-live="polite">
        {shown}
      </output>
      {till.session !== null && till.session.currencies.length > 1 ? (
        <div class="currencies" role="group" aria-label={words.currency}>
          {till.session.currencies.map((one) => (
            <button key={one} type="button" aria-pressed={one === currency} onClick={() => chooseCurrency(one)}>
              {one}
            </button>
          ))}
        </div>
      ) : null}
      <div class="keys">
        {KEYS.map((key) => (
          <button key={key} type="button" onClick={() => setAmount((before) => typed(before, key))}>
            {key}
          </button>
        ))}
        <button type="button" aria-label={words.delete} onClick={() => setAmount((before) => typed(before, 'back'))}>
          ⌫
        </button>
      </div>
      <label class="note">
        <span>{words.note}</span>
        <input
          type="text"
          maxLength={LONGEST_NOTE}
          value={note}
          autocomplete="off"
          onInput={({ currentTarget }) => setNote(currentTarget.value)}
        />
      </label>
      <Refusal till={till} words={words} language={language} />
      <button type="button" class="main" disabled={!canCharge} onClick={charge}>
        {buttonText()}
      </button>
      <p class="hint" role="status">
        {hint()}
      </p>
    </section>
  );

  function buttonText(): string {
    if (!isPossible) return words.notAccepting;
    return amount === 0 ? words.enterAmount : fill(words.charge, { amount: shown });
  }

  function hint(): string {
    if (!isPossible) return availability?.reason ?? '';
    if (amount === 0 || isInside || limits === undefined) return '';
    return fill(words.limits, {
      minimum: formatAmount(limits.minimum, currency, language),
      maximum: formatAmount(limits.maximum, currency, language),
    });
  }
}

/** Why the last sale did not begin. */
function Refusal({ till: { refusal }, words }: Speech & { readonly till: Till }): JSX.Element | null {
  if (refusal === null) return null;
  const text = words.refusals[refusal.code] ?? words.refusals.other;
  return (
    <p class="warning" role="alert">
      {fill(text, { detail: refusal.detail })}
    </p>
  );
}
