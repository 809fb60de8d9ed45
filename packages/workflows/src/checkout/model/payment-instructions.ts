import { formatInstant, type Instant } from '@tillflow/domain';
import type { ChargeFacts } from '../activities.js';
import type { CheckoutState } from '../types.js';

/** What the customer needs in order to pay a charge. A payment that redirects is one more kind. */
export type PaymentInstructions = {
  readonly kind: 'qr';
  readonly downloadUri: string;
  readonly rawData: string | null;
};

/** Null while the provider shows none. */
export function instructionsOf({ qr }: Pick<ChargeFacts, 'qr'>): PaymentInstructions | null {
  return qr === null ? null : { kind: 'qr', ...qr };
}

/** The field `qr` of a checkout. */
export function toQr(instructions: PaymentInstructions, expiresAt: Instant): CheckoutState['qr'] {
  switch (instructions.kind) {
    case 'qr': {
      const { downloadUri, rawData } = instructions;
      return { download_uri: downloadUri, raw_data: rawData, expires_at: formatInstant(expiresAt) };
    }
  }
}
