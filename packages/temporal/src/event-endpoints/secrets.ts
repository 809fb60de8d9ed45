import { randomBytes } from 'node:crypto';
import type { EndpointSecrets } from '@tillflow/workflows';
import { signingKey } from '../checkouts/links.js';
import { UnreadablePayloadError } from '../encryption/encryption-codec.js';
import type { Seal } from '../encryption/seal.js';

const SECRET_BYTES = 24;
/** The time for which a replaced secret still signs. Source: the contract of events in docs/api.md. Milliseconds. */
const BOTH_SIGN_MS = 24 * 3_600_000;

/** A secret, and what is stored of it. */
export type SealedSecret = { readonly secret: string; readonly sealed: string };

export type EventLinks = EndpointSecrets['links'];

/** How the API writes links. @param signingSecret the first secret of `URL_SIGNING_KEY` */
export function eventLinks(publicUrl: string, signingSecret: string, account?: string): EventLinks {
  return { base: publicUrl, key: signingKey(signingSecret, account).toString('base64') };
}

/** The secrets of endpoints. They are stored sealed, together with how links are written. */
export class EndpointSealer {
  constructor(private readonly seal: Seal) {}

  /** A new secret, which signs alone. */
  create(links: EventLinks): Promise<SealedSecret> {
    return this.#with(links, []);
  }

  /**
   * A new secret. The others sign for 24 hours more, unless they were sealed with another key.
   * @param now milliseconds since 1970 UTC
   */
  async rotate(sealed: string, links: EventLinks, now: number): Promise<SealedSecret> {
    const secrets = await this.#secretsIn(sealed);
    return this.#with(
      links,
      secrets
        .filter(({ until }) => until === null || until > now)
        .map(({ secret, until }) => ({ secret, until: until ?? now + BOTH_SIGN_MS })),
    );
  }

  /**
   * The same secrets with other links; null when they are the same already.
   * @throws {UnreadablePayloadError} when they were sealed with another key
   */
  async withLinks(sealed: string, links: EventLinks): Promise<string | null> {
    const stored = await this.#open(sealed);
    const isSame = stored.links.base === links.base && stored.links.key === links.key;
    return isSame ? null : this.#close({ ...stored, links });
  }

  async #secretsIn(sealed: string): Promise<EndpointSecrets['secrets']> {
    try {
      return (await this.#open(sealed)).secrets;
    } catch (error) {
      if (error instanceof UnreadablePayloadError) return [];
      throw error;
    }
  }

  async #with(links: EventLinks, others: EndpointSecrets['secrets']): Promise<SealedSecret> {
    const secret = `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`;
    return { secret, sealed: await this.#close({ secrets: [{ secret, until: null }, ...others], links }) };
  }

  async #open(sealed: string): Promise<EndpointSecrets> {
    return (await this.seal.open(sealed)) as EndpointSecrets;
  }

  #close(secrets: EndpointSecrets): Promise<string> {
    return this.seal.close(secrets);
  }
}
