import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { applyChargeStatus, CHARGE_STATUSES, chargeStatus, isFinalCharge, type ChargeStatus } from './charge.js';

const anyStatus = fc.constantFrom(...CHARGE_STATUSES);

describe('the status of a charge', () => {
  it('is the same for every order and repetition of the seen statuses', () => {
    const statuses = fc.array(anyStatus).filter((all) => !(all.includes('failed') && all.includes('expired')));
    fc.assert(
      fc.property(statuses, fc.infiniteStream(fc.nat()), (seen, random) => {
        const settle = (all: readonly ChargeStatus[]): ChargeStatus => all.reduce(applyChargeStatus, 'pending');
        const shuffled = [...seen, ...seen].toSorted(() => ((random.next().value ?? 0) % 2 === 0 ? 1 : -1));
        expect(settle(shuffled)).toBe(settle(seen));
      }),
    );
  });

  it('stays successful', () => {
    fc.assert(
      fc.property(anyStatus, (seen) => {
        expect(applyChargeStatus('successful', seen)).toBe('successful');
      }),
    );
  });

  it('becomes successful after it was seen expired or failed', () => {
    expect(applyChargeStatus('expired', 'successful')).toBe('successful');
    expect(applyChargeStatus('failed', 'successful')).toBe('successful');
  });

  it('keeps the first of two unpaid ends', () => {
    expect(applyChargeStatus('expired', 'failed')).toBe('expired');
    expect(applyChargeStatus('failed', 'expired')).toBe('failed');
  });

  it('is final unless it is pending', () => {
    expect(CHARGE_STATUSES.filter((status) => !isFinalCharge(status))).toEqual(['pending']);
  });

  it.each(['reversed', 'SUCCESSFUL', '', 'toString'])('is null for the unknown text "%s"', (text) => {
    expect(chargeStatus(text)).toBeNull();
  });
});
