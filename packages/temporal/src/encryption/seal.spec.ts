import { describe, expect, it } from 'vitest';
import { UnreadablePayloadError } from './encryption-codec.js';
import { Seal } from './seal.js';

const SECRET = 'skey_test_of_a_shop';

describe('a sealed value', () => {
  it('opens with the same secret, and reveals nothing of its content', async () => {
    const sealed = await new Seal(SECRET).close({ name: 'Somchai Prasert', city: null });
    expect(Buffer.from(sealed, 'base64').toString('latin1')).not.toContain('Somchai');
    expect(await new Seal(SECRET).open(sealed)).toEqual({ name: 'Somchai Prasert', city: null });
  });

  it('differs each time, also for the same value', async () => {
    const seal = new Seal(SECRET);
    expect(await seal.close('a')).not.toBe(await seal.close('a'));
  });

  it('does not open with another secret, or after a change', async () => {
    const sealed = await new Seal(SECRET).close('a');
    await expect(new Seal('skey_test_of_another').open(sealed)).rejects.toThrow(UnreadablePayloadError);
    const bytes = Buffer.from(sealed, 'base64');
    bytes[20] = (bytes[20] ?? 0) ^ 1;
    await expect(new Seal(SECRET).open(bytes.toString('base64'))).rejects.toThrow(UnreadablePayloadError);
  });
});
