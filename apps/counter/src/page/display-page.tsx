import type { JSX } from 'preact';
import type { Display } from './display.js';
import { formatAmount } from './money.js';
import { Code, Heading, type Speech } from './parts.js';
import { isReturnRefused } from './reasons.js';
import { Message } from './till-page.js';
import type { Words } from './words.js';

type Props = Speech & { readonly display: Display; readonly now: number | null };

/** The customer's screen. */
export function DisplayPage({ display, now, language, words }: Props): JSX.Element {
  const { stage, session, checkout, isReached } = display;
  const screen = display.screen ?? 'idle';
  const { title, text } = words.customer[screen];
  if (stage !== 'ready' || session === null) {
    return (
      <main class="display">
        {isReached ? null : <Lost words={words} />}
        <Message {...(stage === 'closed' ? words.closed : { title: words.opening, text: '' })} />
      </main>
    );
  }
  return (
    <main class="display">
      {isReached ? null : <Lost words={words} />}
      <p class="names">{[session.shop, session.store?.name].filter(Boolean).join(' · ') || session.terminal}</p>
      <section class={`sale ${screen}`}>
        <div class="head">
          <Heading of={`${checkout?.id ?? ''} ${screen}`}>{title}</Heading>
          {checkout === null ? null : (
            <p class="amount">{formatAmount(checkout.amount, checkout.currency, language)}</p>
          )}
        </div>
        {screen === 'awaiting' && checkout !== null ? (
          <Code checkout={checkout} now={now} isReached={isReached} language={language} words={words} />
        ) : (
          <p class="sign" aria-hidden="true" />
        )}
        <div class="rest">
          <p role="status">{isReturnRefused(checkout) ? words.askForMoney : text}</p>
        </div>
      </section>
    </main>
  );
}

function Lost({ words }: { readonly words: Words }): JSX.Element {
  return (
    <p class="banner" role="alert">
      {words.customerLost}
    </p>
  );
}
