import type { AttentionCode } from '@tillflow/workflows';

type Advice = {
  /** The meaning for the money. */
  readonly means: string;
  /** The next step of the operator. */
  readonly remedy: string;
};

/** The short form of the section on attention codes in docs/operations.md. */
const ATTENTION_GUIDE: Readonly<Record<AttentionCode, Advice>> = {
  integrity_mismatch: {
    means:
      'The charge at the provider has another amount, currency, checkout or mode than Tillflow requested. Tillflow does not accept it.',
    remedy:
      "Compare the charge in the provider's dashboard. If it belongs to this checkout: resolve --look. If not: refund the payment in the dashboard, and after the QR has expired resolve --abandon.",
  },
  refund_doubled: {
    means: 'One refund was made twice: the customer received more than was requested.',
    remedy:
      'Ask the customer or the provider to return the second refund, then resolve --abandon with the agreement as the reason.',
  },
  return_refused: {
    means: 'Tillflow must return this money, and the provider refuses. Tillflow tries again after an hour, then daily.',
    remedy: "Find out why the provider refuses. Refund the payment in the provider's dashboard, then resolve --look.",
  },
  refund_unmatched: {
    means:
      'The charge shows more refunded money than the provider lists as refunds, or a listed refund may be the one that Tillflow requested.',
    remedy:
      "Check the refunds in the provider's dashboard. If one of them is the requested refund: resolve --adopt <refund id>. If the requested refund was never made: resolve --abandon, then resolve --look, which adds the other refunds.",
  },
  unknown_status: {
    means: 'The provider reports a status that this version does not know. Tillflow does not guess its meaning.',
    remedy:
      "Check the charge in the provider's dashboard. When it has a known status: resolve --look. If it does not change: resolve --abandon after the QR has expired.",
  },
  double_payment: {
    means: 'The customer paid twice. Tillflow returns the second payment automatically.',
    remedy:
      'Do nothing in the first minutes. If the second payment is not returned by then, follow the advice for return_refused.',
  },
  late_payment: {
    means: 'The customer paid after Tillflow had reported the end of the checkout.',
    remedy:
      'Nothing: Tillflow returns the money automatically. With LATE_PAYMENT=keep: hand over the goods, or refund the payment.',
  },
  outcome_unknown: {
    means:
      'Tillflow does not know yet whether a charge or a refund was made. Tillflow asks the provider, and does not repeat the call blindly.',
    remedy: "Wait. After an hour: look for it in the provider's dashboard, then resolve --adopt <id>, or --abandon.",
  },
  expire_refused: {
    means:
      'The provider refuses to expire a charge: a customer may be confirming the payment. The QR is no longer shown.',
    remedy: 'Wait. After an hour: ask the provider about the charge. If it can no longer be paid: resolve --abandon.',
  },
  worker_late: {
    means:
      'The worker did not send a call in time, because of its clock or its load. The provider was not called, and no money moved.',
    remedy: 'Run `pnpm tillflow doctor` and check clocks and workers. See the runbook "A worker is late".',
  },
  approval_needed: {
    means:
      'A refund is above the limit of the key that asked for it. No money moves before a second person approves it.',
    remedy: 'Approve or reject it: `pnpm tillflow approvals`. After 24 hours it is rejected.',
  },
  provider_unreachable: {
    means: 'The provider has not answered for a while. Nothing is lost, and Tillflow continues when it answers.',
    remedy:
      'Run `pnpm tillflow doctor` and check the status page of the provider. See the runbook "The provider is down".',
  },
};

/** The advice for an attention code. The code may come from a newer version. */
export function adviceOn(code: string): Advice {
  const guide: Readonly<Record<string, Advice | undefined>> = ATTENTION_GUIDE;
  return (
    guide[code] ?? {
      means: 'A newer version of the worker set this code.',
      remedy: 'Use the tillflow command of that version.',
    }
  );
}
