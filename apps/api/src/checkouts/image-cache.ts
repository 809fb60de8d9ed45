export type QrImage = { readonly type: string; readonly bytes: Buffer };

type Cached = { readonly image: Promise<QrImage>; readonly until: number; readonly bytes: number };

export type ImageCacheLimits = {
  /** Milliseconds. */
  readonly keepMs: number;
  readonly maxEntries: number;
  readonly maxBytes: number;
  /** Images that load at the same time. */
  readonly maxLoading: number;
};

/** Loads each image once for all requests at the same time and shortly after. It caches failures as well. */
export class ImageCache {
  readonly #loading = new Map<string, Promise<QrImage>>();
  /** The oldest first. */
  readonly #cached = new Map<string, Cached>();
  #bytes = 0;

  constructor(private readonly limits: ImageCacheLimits) {}

  /** @returns null when too many images are being loaded. */
  get(key: string, load: () => Promise<QrImage>): Promise<QrImage> | null {
    const cached = this.#cached.get(key);
    if (cached !== undefined && Date.now() < cached.until) return cached.image;
    const loading = this.#loading.get(key);
    if (loading !== undefined) return loading;
    if (this.#loading.size >= this.limits.maxLoading) return null;
    const image = load();
    this.#loading.set(key, image);
    void image.then(
      ({ bytes }) => this.#keep(key, image, bytes.length),
      () => this.#keep(key, image, 0),
    );
    return image;
  }

  #keep(key: string, image: Promise<QrImage>, bytes: number): void {
    this.#loading.delete(key);
    this.#forget(key);
    this.#cached.set(key, { image, until: Date.now() + this.limits.keepMs, bytes });
    this.#bytes += bytes;
    for (const [oldest, { until }] of this.#cached) {
      const isFull = this.#cached.size > this.limits.maxEntries || this.#bytes > this.limits.maxBytes;
      if (!isFull && Date.now() < until) break;
      this.#forget(oldest);
    }
  }

  #forget(key: string): void {
    this.#bytes -= this.#cached.get(key)?.bytes ?? 0;
    this.#cached.delete(key);
  }
}
