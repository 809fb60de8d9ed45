import type { Checkout } from '@tillflow/sdk';
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { formatAmount } from './money.js';
import { Code, Heading, QrOf, type Speech } from './parts.js';
import { PrintedReceipt } from './printed-receipt.js';
import { textOf } from './reasons.js';
import type { SaleRun } from './sale.js';
import { isUnfinished, type Screen } from './screen.js';
import type { Till } from './till.js';
import type { Words } from './words.js';

/** The person may leave a sale without an end after so long. It stays among the last sales. Milliseconds. */
const LEAVE_AFTER_MS = 20_000;

const CAN_CANCEL: ReadonlySet<Screen> = new Set(['creating', 'awaiting', 'checking', 'unknown']);
const CAN_RENEW: ReadonlySet<Screen> = new Set(['awaiting', 'expired', 'failed']);

type Props = Speech & {
  readonly till: Till;
  readonly run: SaleRun;
  readonly screen: Screen;
  readonly now: number | null;
};

/** One sale, from its QR code to its end. */
export function SalePage({ till, run, screen, now, language, words }: Props): JSX.Element {
  const { checkout, sale } = run;
  const amount = formatAmount(sale.amount, sale.currency, language);
  return (
    <section class={`sale ${screen}`}>
      <div class="head">
        <Heading of={`${sale.reference} ${screen}`}>{words.screens[screen].title}</Heading>
        <p class="amount">{amount}</p>
      </div>
      {screen === 'awaiting' && checkout !== null ? (
        <Code checkout={checkout} now={now} isReached={till.isReached} language={language} words={words} />
      ) : (
        <p class="sign" aria-hidden="true" />
      )}
      <div class="rest">
        <p role="status">{textOf(screen, checkout, { language, words })}</p>
        {run.trouble === null ? null : (
          <p class="warning" role="alert">
            {words.troubles[run.trouble]}
          </p>
        )}
        <Actions till={till} run={run} screen={screen} language={language} words={words} />
        {screen === 'awaiting' ? <OpenHere checkout={checkout} till={till} words={words} /> : null}
        <p class="reference">{sale.note === '' ? sale.reference : `${sale.note} · ${sale.reference}`}</p>
      </div>
    </section>
  );
}

type ActionProps = Speech & { readonly till: Till; readonly run: SaleRun; readonly screen: Screen };

function Actions({ till, run, screen, language, words }: ActionProps): JSX.Element {
  const isWaiting = isUnfinished(screen);
  const mayLeave = useLater(`${run.sale.reference} ${screen}`, LEAVE_AFTER_MS);
  const isIdle = run.busy === null && run.sale.id !== null && till.isReached;
  return (
    <div class="actions" inert={!till.isSettled}>
      {screen === 'paid' && run.checkout?.receipt_url != null ? (
        <Receipt url={run.checkout.receipt_url} till={till} language={language} words={words} />
      ) : null}
      {isWaiting ? null : (
        <button type="button" class="main" onClick={() => till.act(() => till.finish())}>
          {till.isReopened ? words.back : words.newSale}
        </button>
      )}
      {CAN_RENEW.has(screen) ? (
        <button type="button" disabled={!isIdle} onClick={() => till.act(() => void run.newAttempt())}>
          {words.newCode}
        </button>
      ) : null}
      {CAN_CANCEL.has(screen) ? (
        <button type="button" disabled={!isIdle} onClick={() => till.act(() => void run.cancel())}>
          {words.cancel}
        </button>
      ) : null}
      {isWaiting && screen !== 'awaiting' && mayLeave ? (
        <button type="button" onClick={() => till.act(() => till.finish())}>
          {words.leave}
        </button>
      ) : null}
    </div>
  );
}

/** The receipt on paper, or as a QR code that the customer scans. */
function Receipt({ url, till, language, words }: Speech & { url: string; till: Till }): JSX.Element {
  const [isPrinting, setPrinting] = useState(false);
  const [isShown, setShown] = useState(false);
  const wish = (set: (value: boolean) => void): void =>
    till.act(() => {
      till.stay();
      set(true);
    });
  return (
    <>
      {isShown ? <QrOf text={url} label={words.receiptCode} /> : null}
      <button type="button" disabled={isPrinting} onClick={() => wish(setPrinting)}>
        {words.print}
      </button>
      {isShown ? null : (
        <button type="button" onClick={() => wish(setShown)}>
          {words.receiptCode}
        </button>
      )}
      {isPrinting ? <PrintedReceipt url={url} language={language} onEnd={() => setPrinting(false)} /> : null}
    </>
  );
}

/** Where the QR code contains an address, a customer can pay on this device too. */
function OpenHere({ checkout, till, words }: OpenProps): JSX.Element | null {
  const address = checkout?.qr?.raw_data ?? '';
  if (!/^https?:\/\//.test(address)) return null;
  const open = (event: Event): void => {
    if (!till.takesTap()) event.preventDefault();
  };
  return (
    <a class="open" href={address} target="_blank" rel="noreferrer" inert={!till.isSettled} onClick={open}>
      {words.openCode}
    </a>
  );
}

type OpenProps = { readonly checkout: Checkout | null; readonly till: Till; readonly words: Words };

/** True so many milliseconds after `of` has changed. */
function useLater(of: string, ms: number): boolean {
  const [later, setLater] = useState('');
  useEffect(() => {
    const timer = setTimeout(() => setLater(of), ms);
    return () => clearTimeout(timer);
  }, [of, ms]);
  return later === of;
}
