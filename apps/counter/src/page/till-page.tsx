import type { Checkout } from '@tillflow/sdk';
import type { JSX } from 'preact';
import { CustomerScreen } from './customer-screen.js';
import { formatAmount } from './money.js';
import { Pad } from './pad.js';
import { Heading, type Speech } from './parts.js';
import { SalePage } from './sale-page.js';
import { screenOf } from './screen.js';
import type { Till } from './till.js';
import { fill, LANGUAGES, type Language } from './words.js';

type Props = Speech & {
  readonly till: Till;
  readonly now: number | null;
  readonly currency: string;
  readonly chooseCurrency: (currency: string) => void;
  readonly chooseLanguage: (language: Language) => void;
};

/** The page of the person at the till. */
export function TillPage(props: Props): JSX.Element {
  const { till, words } = props;
  return (
    <>
      <Header {...props} />
      {till.isReached ? null : (
        <p class="banner" role="alert">
          {words.lost} {till.stage === 'ready' ? words.lastKnown : ''}
        </p>
      )}
      <main>{content(props)}</main>
    </>
  );
}

function content({ till, now, language, words, currency, chooseCurrency }: Props): JSX.Element {
  const speech = { language, words };
  if (till.stage === 'opening') return <Message title={words.opening} text="" />;
  if (till.stage === 'closed') return <Message {...words.closed} />;
  const { run, screen } = till;
  if (run !== null && screen !== null) {
    return <SalePage key={run.sale.reference} till={till} run={run} screen={screen} now={now} {...speech} />;
  }
  return (
    <div class="ready">
      <Pad till={till} currency={currency} chooseCurrency={chooseCurrency} {...speech} />
      <div class="lists" inert={!till.isSettled}>
        <TodayTotals till={till} {...speech} />
        <LastSales till={till} now={now} {...speech} />
      </div>
    </div>
  );
}

export function Message({ title, text }: { readonly title: string; readonly text: string }): JSX.Element {
  return (
    <section class="message">
      <Heading of={title}>{title}</Heading>
      <p>{text}</p>
    </section>
  );
}

function Header({ till: { session, token }, language, words, chooseLanguage }: Props): JSX.Element {
  const names = session === null ? [] : [session.shop, session.store?.name ?? session.store?.id, session.terminal];
  return (
    <header>
      <p class="names">{names.filter(Boolean).join(' · ') || words.counter}</p>
      {token === null ? null : <CustomerScreen token={token} words={words} />}
      <label>
        <span class="unseen">{words.language}</span>
        <select value={language} onChange={({ currentTarget }) => chooseLanguage(currentTarget.value as Language)}>
          {Object.entries(LANGUAGES).map(([tag, name]) => (
            <option key={tag} value={tag} lang={tag}>
              {name}
            </option>
          ))}
        </select>
      </label>
    </header>
  );
}

function TodayTotals({ till, language, words }: Speech & { readonly till: Till }): JSX.Element {
  const { today, isTodayFresh } = till;
  const day = new Intl.DateTimeFormat(language, { dateStyle: 'long', timeZone: 'UTC' });
  return (
    <section class="today" aria-labelledby="today-title">
      <h2 id="today-title">{today === null || isTodayFresh ? words.today : day.format(Date.parse(today.date))}</h2>
      {today?.totals.length === 0 ? <p>{words.noSales}</p> : null}
      {(today?.totals ?? []).map(({ currency, sales, refunds }) => (
        <p key={currency}>
          <strong>{formatAmount(sales.amount, currency, language)}</strong> {fill(words.sales, { count: sales.count })}
          {refunds.count === 0
            ? null
            : ` · ${fill(words.refunds, { count: refunds.count })} −${formatAmount(refunds.amount, currency, language)}`}
        </p>
      ))}
    </section>
  );
}

type ListProps = Speech & { readonly till: Till; readonly now: number | null };

function LastSales({ till, now, language, words }: ListProps): JSX.Element {
  const time = new Intl.DateTimeFormat(language, { hour: '2-digit', minute: '2-digit' });
  const row = (checkout: Checkout): JSX.Element => {
    const { id, created_at, amount, currency, description } = checkout;
    const screen = screenOf(checkout, now);
    return (
      <li key={id}>
        <button type="button" onClick={() => till.act(() => till.reopen(checkout))}>
          <span>{time.format(new Date(created_at))}</span>
          <span class="what">{description ?? ''}</span>
          <span class={`state ${screen}`}>{words.screens[screen].title}</span>
          <span class="sum">{formatAmount(amount, currency, language)}</span>
        </button>
      </li>
    );
  };
  return (
    <section class="last" aria-labelledby="last-title">
      <h2 id="last-title">{words.lastSales}</h2>
      {till.recent.length === 0 ? <p>{words.noSales}</p> : <ol>{till.recent.map(row)}</ol>}
    </section>
  );
}
