import 'reflect-metadata';
import { initialState } from '@tillflow/workflows';
import { sampleIntent } from '@tillflow/workflows/testing';
import { describe, expect, it } from 'vitest';
import { SignedLinks } from '../auth/signed-links.js';
import { Signatures } from '../auth/signatures.js';
import type { ApiSettings } from '../settings.js';
import { Settings } from '../providers.js';
import { CheckoutPresenter } from './presenter.js';

const intent = sampleIntent();

const settings = new Settings({
  URL_SIGNING_KEY: ['signs the links of tests and nothing else'],
  PUBLIC_URL: 'http://pay.example',
} as unknown as ApiSettings);
const presenter = new CheckoutPresenter(new SignedLinks(new Signatures(settings), settings));

/** A checkout whose memo may be old. */
function shown(windows: { readonly voidable_until: string; readonly refundable_until: string }) {
  const state = { ...initialState(intent), status: 'paid', ...windows } as const;
  return presenter.present({ intent, state, requestNonce: '', timeline: [], refunds: [], version: 1, closed: false });
}

describe('a checkout in an answer', () => {
  it('does not show a void or refund window that is over, even when the memo still has it', () => {
    const [past, ahead] = [-1_000, 3_600_000].map((by) => new Date(Date.now() + by).toISOString());
    if (past === undefined || ahead === undefined) throw new Error('two');
    expect(shown({ voidable_until: past, refundable_until: ahead })).toMatchObject({
      voidable_until: null,
      refundable_until: ahead,
    });
    expect(shown({ voidable_until: ahead, refundable_until: ahead })).toMatchObject({ voidable_until: ahead });
    expect(shown({ voidable_until: past, refundable_until: past })).toMatchObject({ refundable_until: null });
  });
});
