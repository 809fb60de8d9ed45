import { plus, type Break, type Instant } from '@tillflow/domain';
import type { Acknowledgements } from '@tillflow/temporal';
import type { ProviderRecords } from './provider-records.js';

/**
 * Adds to breaks what the compared records do not contain: who made a refund at the provider, and who has acknowledged
 * the break.
 * @param now when the run began: the ages of the breaks are counted from there
 */
export async function describeBreaks(
  breaks: readonly Break[],
  {
    provider,
    acknowledgements,
    now,
  }: {
    readonly provider: Pick<ProviderRecords, 'madeBy'>;
    readonly acknowledgements: Pick<Acknowledgements, 'mark'>;
    readonly now: Instant;
  },
): Promise<Break[]> {
  if (breaks.length === 0) return [];
  const named: Break[] = [];
  for (const one of breaks) {
    const { type, refund_id, age_seconds } = one;
    const isOutside = type === 'refund_made_outside' && refund_id !== null;
    const made_by = isOutside ? await provider.madeBy(refund_id, plus(now, -age_seconds * 1_000)) : null;
    named.push(made_by === null ? one : { ...one, made_by });
  }
  return acknowledgements.mark(named);
}
