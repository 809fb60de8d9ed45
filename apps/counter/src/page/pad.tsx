import type { JSX } from 'preact';
import { useLayoutEffect, useState } from 'preact/hooks';
import { formatAmount, typed } from './money.js';
import { Heading, type Speech } from './parts.js';
import { whyNotAccepting, whyNotBegun } from './reasons.js';
import { screenOf } from './screen.js';
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
    if (canCharge) void till.charge(amount, currency, note.trim());
  };
  const press = (key: string): void => till.act(() => setAmount((before) => typed(before, key)));

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
      <div class="total">
        <output class="amount" aria-live="polite">
          {shown}
        </output>
        <button type="button" disabled={amount === 0} onClick={() => press('clear')}>
          {words.clear}
        </button>
      </div>
      {till.session !== null && till.session.currencies.length > 1 ? (
        <div class="currencies" role="group" aria-label={words.currency}>
          {till.session.currencies.map((one) => (
            <button key={one} type="button" aria-pressed={one === currency} onClick={() => chooseCurrency(one)}>
              {one}
            </button>
          ))}
        </div>
      ) : null}
      <div class="keys" inert={!till.isSettled}>
        {KEYS.map((key) => (
          <button key={key} type="button" onClick={() => press(key)}>
            {key}
          </button>
        ))}
        <button type="button" aria-label={words.delete} onClick={() => press('back')}>
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
      <Surprises till={till} words={words} language={language} />
      {till.refusal === null ? null : (
        <p class="warning" role="alert">
          {whyNotBegun(till.refusal, words)}
        </p>
      )}
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
    if (availability !== null && !isPossible) return whyNotAccepting(availability, words);
    if (amount === 0 || isInside || limits === undefined) return '';
    return fill(words.limits, {
      minimum: formatAmount(limits.minimum, currency, language),
      maximum: formatAmount(limits.maximum, currency, language),
    });
  }
}

/** Sales of this till that were paid, or returned, after the person had left them. */
function Surprises({ till, language, words }: Speech & { readonly till: Till }): JSX.Element | null {
  if (till.surprises.length === 0) return null;
  return (
    <div class="surprises" role="alert" inert={!till.isSettled}>
      {till.surprises.map((checkout) => (
        <button key={checkout.id} type="button" class="warning" onClick={() => till.act(() => till.reopen(checkout))}>
          {fill(words.changedLater, {
            amount: formatAmount(checkout.amount, checkout.currency, language),
            state: words.screens[screenOf(checkout, null)].title,
          })}
        </button>
      ))}
    </div>
  );
}
