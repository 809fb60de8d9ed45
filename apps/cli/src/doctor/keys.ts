import { isLiveKey } from '@tillflow/temporal';
import type { ProviderSettings } from '../settings.js';
import type { Check, Finding } from './finding.js';

/** Beginnings of the keys. Source: assumption "Keys". */
const SECRET = 'skey_';
const PUBLIC = 'pkey_';

export function isTestKey(key: string): boolean {
  return !isLiveKey(key);
}

export function isPublicKey(key: string): boolean {
  return key.startsWith(PUBLIC);
}

export function isSecretKey(key: string): boolean {
  return key.startsWith(SECRET);
}

/** What the keys say about themselves, without asking anyone. */
export function checkKeys(settings: ProviderSettings): Check {
  const { PROVIDER_SECRET_KEY: secret, PROVIDER_PUBLIC_KEY: open, PROVIDER_LIVEMODE: livemode } = settings;
  const findings: Finding[] = [];
  if (secret !== undefined && !isSecretKey(secret)) {
    findings.push({
      code: 'secret_key_kind',
      what: `PROVIDER_SECRET_KEY is ${isPublicKey(secret) ? 'a public key (pkey_…)' : 'no secret key (skey_…)'}`,
      means: 'API and worker refuse to start with it, and the provider refuses charges.',
      remedy: "Take the secret key from the provider's dashboard.",
    });
  }
  if (open !== undefined && !isPublicKey(open)) {
    findings.push({
      code: 'public_key_kind',
      what: `PROVIDER_PUBLIC_KEY is ${isSecretKey(open) ? 'a secret key (skey_…)' : 'no public key (pkey_…)'}`,
      means: 'What is meant for browsers may give everyone the right to charge and refund.',
      remedy:
        "Take the public key from the provider's dashboard. If the secret key was published: docs/operations.md, A key leaked.",
    });
  }
  if (secret !== undefined && open !== undefined && isTestKey(secret) !== isTestKey(open)) {
    findings.push({
      code: 'key_modes_differ',
      what: `the secret key is for ${modeOf(secret)} mode, the public key for ${modeOf(open)} mode`,
      means: 'A source made with the one cannot be charged with the other.',
      remedy: "Take both keys of one mode from the provider's dashboard.",
    });
  }
  if (secret !== undefined && livemode !== undefined && livemode === isTestKey(secret)) {
    findings.push(
      livemode
        ? {
            code: 'test_key_on_live',
            what: 'PROVIDER_LIVEMODE=true, and the secret key is a test key',
            means: 'Customers scan codes that charge nobody: goods leave, no money comes.',
            remedy: 'Set the live keys of the provider, for API, worker and tillflow.',
          }
        : {
            code: 'live_key_on_test',
            what: 'PROVIDER_LIVEMODE=false, and the secret key is a live key',
            means: 'Tests here charge real customers.',
            remedy: 'Set the test keys of the provider, for API, worker and tillflow.',
          },
    );
  }
  return { area: 'keys', findings, seen: secret === undefined ? 'not set' : `${modeOf(secret)} mode` };
}

function modeOf(key: string): 'test' | 'live' {
  return isTestKey(key) ? 'test' : 'live';
}
