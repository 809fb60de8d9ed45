import { Inject, Injectable } from '@nestjs/common';
import type { Logger } from 'pino';
import { Agent, request } from 'undici';
import { renderSVG } from 'uqr';
import { LOGGER, Settings } from '../providers.js';
import { Problem } from '../problems/problem.js';
import { CheckoutsRepository, keyOf } from './checkouts.repository.js';
import { LinkReads } from './link-reads.js';
import { ImageCache, type QrImage } from './image-cache.js';
import { ImageHosts } from './image-hosts.js';
import { CheckoutPresenter } from './presenter.js';

const IMAGE_TYPES = new Set(['image/svg+xml', 'image/png', 'image/jpeg']);
const MAX_BYTES = 1_048_576;
/** From the request to the last byte, with the wait for a connection. Milliseconds. */
const FETCH_WITHIN_MS = 3_000;
const CONNECTIONS = 16;
const CACHE = { keepMs: 5_000, maxEntries: 500, maxBytes: 16 * MAX_BYTES, maxLoading: 100 };
/** The API warns about at most this many hosts, because the provider chooses their names. */
const MAX_WARNINGS = 20;

/** The provider's image of a QR code, passed on so that a till's page needs no access to the provider. */
@Injectable()
export class QrService {
  readonly #images = new ImageCache(CACHE);
  readonly #hosts: ImageHosts;
  readonly #warned = new Set<string>();
  readonly #agent = new Agent({
    connections: CONNECTIONS,
    connect: { timeout: FETCH_WITHIN_MS },
    maxResponseSize: MAX_BYTES,
  });

  constructor(
    private readonly repository: CheckoutsRepository,
    private readonly linkReads: LinkReads,
    private readonly presenter: CheckoutPresenter,
    { values }: Settings,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    this.#hosts = new ImageHosts(values.PROVIDER_BASE_URL, values.QR_IMAGE_HOSTS);
  }

  /** @throws {Problem} `qr_gone` when the checkout has no QR code to pay with, `provider_unavailable`. */
  async image(id: string, isByLink: boolean): Promise<QrImage> {
    const key = keyOf(id);
    const reads = isByLink ? this.linkReads : this.repository;
    const { qr, status } = this.presenter.present(await reads.get(key));
    if (qr === null) throw new Problem('qr_gone', `The checkout is ${status}`);
    try {
      return await this.#provided(id, qr.download_uri);
    } catch (error) {
      // The API draws the same code itself: the till needs a QR code also when an image server is down.
      if (qr.raw_data === null || !(error instanceof Problem)) throw error;
      return { type: 'image/svg+xml', bytes: Buffer.from(renderSVG(qr.raw_data)) };
    }
  }

  async onApplicationShutdown(): Promise<void> {
    await this.#agent.close();
  }

  async #provided(id: string, address: string): Promise<QrImage> {
    if (!this.#hosts.allows(address)) {
      this.#warn(address);
      throw new Problem('provider_unavailable', 'The image is at a host that QR_IMAGE_HOSTS does not list');
    }
    const image = this.#images.get(`${id} ${address}`, () => this.#fetch(address));
    if (image === null) throw new Problem('provider_unavailable', 'Too many images are being read');
    return image;
  }

  /** Does not follow redirects, which could lead to another host. */
  async #fetch(address: string): Promise<QrImage> {
    try {
      const signal = AbortSignal.timeout(FETCH_WITHIN_MS);
      const { statusCode, headers, body } = await request(address, { dispatcher: this.#agent, signal });
      const [named = ''] = String(headers['content-type'] ?? '').split(';', 1);
      const type = named.trim().toLowerCase();
      const bytes = Buffer.from(await body.arrayBuffer());
      if (statusCode === 200 && IMAGE_TYPES.has(type) && bytes.length > 0) return { type, bytes };
    } catch (error) {
      throw new Problem('provider_unavailable', 'The image could not be read', { cause: error });
    }
    throw new Problem('provider_unavailable', 'The provider did not send an image');
  }

  #warn(address: string): void {
    const host = URL.canParse(address) ? new URL(address).host : 'unreadable';
    if (this.#warned.has(host) || this.#warned.size >= MAX_WARNINGS) return;
    this.#warned.add(host);
    this.logger.warn({ host }, 'QR_IMAGE_HOSTS does not allow the host of a QR image: the API draws the QR');
  }
}
