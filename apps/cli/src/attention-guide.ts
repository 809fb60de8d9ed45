import type { AttentionCode } from '@tillflow/workflows';

type Advice = {
  /** What it means for the money. */
  readonly means: string;
  /** What a person does now. */
  readonly remedy: string;
};

/** The short form of docs/operations.md, "What each attention means". */
const ATTENTION_GUIDE: Readonly<Record<AttentionCode, Advice>> = {
  integrity_mismatch: {
    means: 'The provider shows another amount, currency, checkout or mode than was asked for. It is not believed.',
    remedy:
      "Compare the charge at the provider's dashboard. Ours after all: resolve --look. Not ours: give back what was paid, and when the QR has run out resolve --abandon.",
  },
  refund_doubled: {
    means: 'One refund was made twice: the customer has more back than was asked for.',
    remedy: 'Ask the customer or the provider for the second one, then resolve --abandon with what was agreed.',
  },
  return_refused: {
    means: 'Money that must not stay with us could not be given back. It is tried again after an hour, then daily.',
    remedy: "See why the provider refuses. Refund it at the provider's dashboard, then resolve --look.",
  },
  refund_unmatched: {
    means: 'More was given back than the provider lists, or a refund may be ours and does not say so.',
    remedy:
      "See the refunds at the provider's dashboard. One is ours: resolve --adopt <refund id>. Ours was never made: resolve --abandon, then resolve --look, which takes theirs in.",
  },
  unknown_status: {
    means: 'The provider shows a status that this version does not know. Nothing is guessed.',
    remedy:
      "See the charge at the provider's dashboard; resolve --look once it shows a known status. If it stays: resolve --abandon, after the QR has run out.",
  },
  double_payment: {
    means: 'The customer paid twice. The second payment goes back by itself.',
    remedy: 'Nothing, while it is minutes old. Older: see return_refused.',
  },
  late_payment: {
    means: 'The customer paid after the end was reported.',
    remedy: 'Nothing, while it goes back by itself. With LATE_PAYMENT=keep: hand out the goods, or refund it.',
  },
  outcome_unknown: {
    means:
      'Whether a charge or a refund was made is not known yet. It is being looked for; nothing is repeated blindly.',
    remedy: "Wait. After an hour: find it at the provider's dashboard, then resolve --adopt <id>, or --abandon.",
  },
  expire_refused: {
    means: 'The provider does not let a charge go: a customer may be confirming. The QR is not shown any more.',
    remedy: 'Wait. After an hour: ask the provider about the charge; if nobody can pay it any more, resolve --abandon.',
  },
  worker_late: {
    means: 'The worker did not send a call in time: its clock or its load. The provider was not asked, no money moved.',
    remedy: 'Run tillflow doctor (clocks, workers); runbook "A worker is late".',
  },
  provider_unreachable: {
    means: 'The provider has not answered for a while. Nothing is lost; it goes on by itself.',
    remedy: 'Run tillflow doctor, see the provider’s status page; runbook "The provider is down".',
  },
};

/** Also for a code of a newer version. */
export function adviceOn(code: string): Advice {
  const guide: Readonly<Record<string, Advice | undefined>> = ATTENTION_GUIDE;
  return (
    guide[code] ?? {
      means: 'A newer version of the worker raised this.',
      remedy: 'Run the tillflow of that version.',
    }
  );
}
