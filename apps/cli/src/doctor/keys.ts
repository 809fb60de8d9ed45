import { isLiveKey } from '@tillflow/temporal';
import type { ProviderSettings } from '../settings.js';
import type { Check, Finding } from './finding.js';

/** Prefixes of the keys. Source: assumption "Keys". */
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

/** Checks the keys by their prefixes, without any request. */
export function checkKeys(settings: ProviderSettings): Check {
  const { PROVIDER_SECRET_KEY: secret, PROVIDER_PUBLIC_KEY: publicKey, PROVIDER_LIVEMODE: livemode } = settings;
  const findings: Finding[] = [];
  if (secret !== undefined && !isSecretKey(secret)) {
    findings.push({
      code: 'secret_key_kind',
      what: `PROVIDER_SECRET_KEY is ${isPublicKey(secret) ? 'a public key (pkey_…)' : 'not a secret key (skey_…)'}`,
      means: 'API and worker refuse to start with it, and the provider refuses charges.',
      remedy: "Copy the secret key from the provider's dashboard.",
    });
  }
  if (publicKey !== undefined && !isPublicKey(publicKey)) {
    findings.push({
      code: 'public_key_kind',
      what: `PROVIDER_PUBLIC_KEY is ${isSecretKey(publicKey) ? 'a secret key (skey_…)' : 'not a public key (pkey_…)'}`,
      means: 'Browsers get this key. If it is the secret key, everyone can charge and refund.',
      remedy:
        'Copy the public key from the provider\'s dashboard. If the secret key was published, see docs/operations.md, "A key leaked".',
    });
  }
  if (secret !== undefined && publicKey !== undefined && isTestKey(secret) !== isTestKey(publicKey)) {
    findings.push({
      code: 'key_modes_differ',
      what: `the secret key is for ${modeOf(secret)} mode, the public key for ${modeOf(publicKey)} mode`,
      means: 'A source that was created with one key cannot be charged with the other.',
      remedy: "Copy both keys of one mode from the provider's dashboard.",
    });
  }
  if (secret !== undefined && livemode !== undefined && livemode === isTestKey(secret)) {
    findings.push(
      livemode
        ? {
            code: 'test_key_on_live',
            what: 'PROVIDER_LIVEMODE=true, and the secret key is a test key',
            means: 'Payments are not real: customers get goods without paying.',
            remedy: 'Set the live keys of the provider for API, worker and tillflow.',
          }
        : {
            code: 'live_key_on_test',
            what: 'PROVIDER_LIVEMODE=false, and the secret key is a live key',
            means: 'Tests here charge real customers.',
            remedy: 'Set the test keys of the provider for API, worker and tillflow.',
          },
    );
  }
  return { area: 'keys', findings, seen: secret === undefined ? 'not set' : `${modeOf(secret)} mode` };
}

function modeOf(key: string): 'test' | 'live' {
  return isTestKey(key) ? 'test' : 'live';
}
