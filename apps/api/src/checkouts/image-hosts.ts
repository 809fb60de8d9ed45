import { isIP } from 'node:net';

const ENTRY = /^(\[[0-9a-f:.]+\]|[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)(?::(\d{1,5}))?$/i;
/** Where everyone can register a name, such as `co.th`: the names below have different owners. */
const PUBLIC_SUFFIX = /^[a-z]{2,3}\.[a-z]{2}$/;

/** Whether the text is a host or host:port, as `QR_IMAGE_HOSTS` lists them. */
export function isImageHost(text: string): boolean {
  return ENTRY.test(text) && URL.canParse(`http://${text}`);
}

/**
 * The hosts that the API fetches QR images from: those of `QR_IMAGE_HOSTS` (without a port: any port), or else the
 * provider's own: its host, the names below it, and the names beside it under the same domain. An image of an `https`
 * provider is never fetched by `http`.
 */
export class ImageHosts {
  readonly #provider: URL;

  constructor(
    providerBaseUrl: string,
    private readonly listed: readonly string[] | undefined,
  ) {
    this.#provider = new URL(providerBaseUrl);
  }

  allows(address: string): boolean {
    if (!URL.canParse(address)) return false;
    const url = new URL(address);
    if (url.protocol !== 'https:' && url.protocol !== this.#provider.protocol) return false;
    if (this.listed !== undefined) return this.listed.some((entry) => isAt(url, entry));
    return isOfProvider(url.hostname, this.#provider.hostname);
  }
}

function isAt(url: URL, entry: string): boolean {
  const [, host = '', port] = ENTRY.exec(entry) ?? [];
  const usual = url.protocol === 'https:' ? '443' : '80';
  const isPort = port === undefined || Number(port) === Number(url.port === '' ? usual : url.port);
  return isPort && url.hostname === host.toLowerCase();
}

function isOfProvider(host: string, provider: string): boolean {
  if (host === provider) return true;
  if (isIP(provider) !== 0 || provider.startsWith('[')) return false;
  if (host.endsWith(`.${provider}`)) return true;
  const parent = provider.slice(provider.indexOf('.') + 1);
  const isDomain = provider.includes('.') && parent.includes('.') && !PUBLIC_SUFFIX.test(parent);
  return isDomain && (host === parent || host.endsWith(`.${parent}`));
}
