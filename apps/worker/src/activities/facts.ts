import { formatInstant, parseInstant } from '@tillflow/domain';
import type { Charge } from '@tillflow/payments-client';
import type { ChargeFacts } from '@tillflow/workflows';

/** A charge reduced to what a checkout acts on: a whole one would fill the history. */
export function toFacts(charge: Charge, livemode: boolean): ChargeFacts {
  const { source, metadata } = charge;
  const code = source?.scannable_code;
  const uri = code?.image?.download_uri;
  return {
    chargeId: charge.id,
    sourceId: source?.id ?? null,
    // A reversed charge keeps its status; it is not the payment that its status says it is.
    status: charge.reversed === true ? 'reversed' : charge.status,
    amount: charge.amount,
    currency: charge.currency,
    checkoutId: textOf(metadata?.['checkout']),
    attempt: textOf(metadata?.['attempt']),
    isOtherMode: (charge.livemode ?? livemode) !== livemode,
    failureCode: charge.failure_code ?? null,
    failureMessage: charge.failure_message ?? null,
    paidAt: instantOf(charge.paid_at),
    qr: uri === null || uri === undefined ? null : { downloadUri: uri, rawData: code?.raw_data ?? null },
  };
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

/** A time that cannot be read is no time: the workflow then takes its own. */
function instantOf(text: string | null | undefined): string | null {
  if (text === null || text === undefined) return null;
  try {
    return formatInstant(parseInstant(text));
  } catch {
    return null;
  }
}
