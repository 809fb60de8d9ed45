import {
  describeRefusal,
  formatMoney,
  leftToRefund,
  refuseNewRefund,
  refuseRepetition,
  type Instant,
} from '@tillflow/domain';
import type { StoredCheckout } from '@tillflow/temporal';
import { expectedKind, refundablePayment, type RefundRequest, type StoredRefund } from '@tillflow/workflows';
import { EXIT, type Report } from '../command.js';

/** What a refund would do at `now`, by the published state of the checkout. */
export function refundDryRun(
  stored: StoredCheckout,
  { key, amount, reason }: Pick<RefundRequest, 'key' | 'amount' | 'reason'>,
  now: Instant,
): Report {
  const { currency, id } = stored.intent;
  const money = (of: number): string => formatMoney({ amount: of, currency });
  const known = stored.refunds.find((entry) => entry.key === key);
  const left = leftToRefund(refundablePayment(stored));
  const wanted = known?.amount ?? amount ?? left;
  const obstacle = obstacleTo(stored, known, amount, now);
  const kind = obstacle === null ? (known?.kind ?? expectedKind(stored, wanted, now)) : null;
  const what =
    obstacle !== null
      ? `would be refused: cannot refund ${money(amount ?? wanted)} of ${id}: ${obstacle}`
      : known === undefined
        ? `would refund ${money(wanted)} of ${id} by a ${kind}`
        : `nothing to do: the key ${key} already has a refund of ${money(wanted)} by a ${kind} (${known.status})`;
  return {
    exit: obstacle === null ? EXIT.ok : EXIT.finding,
    json: { dry_run: true, key, amount: wanted, currency, kind, reason, left, possible: obstacle === null },
    lines: [what, `left to refund: ${money(left)}`],
  };
}

/** Why the refund would be refused; null when it would be accepted. */
function obstacleTo(
  stored: StoredCheckout,
  known: StoredRefund | undefined,
  amount: number | null,
  now: Instant,
): string | null {
  const { closed, intent, refunds } = stored;
  if (known === undefined && closed) return 'the checkout has closed';
  const refusal =
    known === undefined
      ? refuseNewRefund(refundablePayment(stored), refunds.length, amount, now)
      : refuseRepetition(known, amount);
  if (refusal !== null) return describeRefusal(refusal, intent.currency);
  return known?.status === 'rejected' ? 'This key belongs to a refund that was refused or abandoned' : null;
}
