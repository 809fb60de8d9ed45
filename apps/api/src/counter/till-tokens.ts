import { Injectable } from '@nestjs/common';
import { COUNTER_LINK, counterAddress, readTillToken, writeTillToken, type TillSession } from '@tillflow/temporal';
import type { CounterLink } from '@tillflow/workflows';
import { Signatures } from '../auth/signatures.js';
import { Settings } from '../providers.js';

/** Sessions of the counter: each is a bearer token that the API signs, and gives the rights of one till. */
@Injectable()
export class TillTokens {
  constructor(
    private readonly signatures: Signatures,
    private readonly settings: Settings,
  ) {}

  /** @param base of the address, without a slash at its end */
  address(base: string, link: CounterLink): string {
    const sign = (parts: readonly unknown[]): string => this.signatures.sign(COUNTER_LINK, parts);
    return counterAddress(base, link, sign, this.settings.account);
  }

  sessionToken(session: TillSession): string {
    return SESSION + writeTillToken(session, (parts) => this.signatures.sign('counter session', parts));
  }

  /** Null unless the API signed it for a link. It may have expired. */
  inLink(token: string): TillSession | null {
    return readTillToken(token, (given, parts) => this.signatures.verify(given, COUNTER_LINK, parts));
  }

  /** Null for every other bearer token. The session may have expired. */
  inSession(token: string): TillSession | null {
    if (!token.startsWith(SESSION)) return null;
    return readTillToken(token.slice(SESSION.length), (given, parts) =>
      this.signatures.verify(given, 'counter session', parts),
    );
  }
}

/** Tells a session from a key at a glance, in a log of another system too. */
export const SESSION = 'tills_';

export function hasExpired({ expires }: TillSession, now = Date.now()): boolean {
  return now >= expires * 1_000;
}
