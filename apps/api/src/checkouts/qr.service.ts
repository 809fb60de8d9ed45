import { Injectable } from '@nestjs/common';
import { Agent, request } from 'undici';
import { renderSVG } from 'uqr';
import { Problem } from '../problems/problem.js';
import { CheckoutsService } from './checkouts.service.js';

export type QrImage = { readonly type: string; readonly bytes: Buffer };

const IMAGE_TYPES = new Set(['image/svg+xml', 'image/png', 'image/jpeg']);
const MAX_BYTES = 1_048_576;
const FETCH_WITHIN_MS = 3_000;

/** The QR as the provider draws it, handed on so that a till's page needs no access to the provider. */
@Injectable()
export class QrService {
  readonly #agent = new Agent({
    headersTimeout: FETCH_WITHIN_MS,
    bodyTimeout: FETCH_WITHIN_MS,
    maxResponseSize: MAX_BYTES,
  });

  constructor(private readonly checkouts: CheckoutsService) {}

  /** @throws {Problem} `qr_gone` when there is nothing to pay with, `provider_unavailable`. */
  async image(id: string): Promise<QrImage> {
    const { qr, status } = await this.checkouts.get(id);
    if (qr === null) throw new Problem('qr_gone', `The checkout is ${status}`);
    try {
      return await this.#fetch(qr.download_uri);
    } catch (error) {
      // The same code, drawn by us: a till must not stand without a QR because an image server is down.
      if (qr.raw_data === null || !(error instanceof Problem)) throw error;
      return { type: 'image/svg+xml', bytes: Buffer.from(renderSVG(qr.raw_data)) };
    }
  }

  async onApplicationShutdown(): Promise<void> {
    await this.#agent.close();
  }

  async #fetch(address: string): Promise<QrImage> {
    try {
      const { statusCode, headers, body } = await request(address, { dispatcher: this.#agent });
      const type =
        String(headers['content-type'] ?? '')
          .split(';', 1)[0]
          ?.trim() ?? '';
      const bytes = Buffer.from(await body.arrayBuffer());
      if (statusCode === 200 && IMAGE_TYPES.has(type)) return { type, bytes };
    } catch (error) {
      throw new Problem('provider_unavailable', 'The image could not be read', { cause: error });
    }
    throw new Problem('provider_unavailable', 'The provider did not send an image');
  }
}
