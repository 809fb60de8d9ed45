import { vi } from 'vitest';
import type { CheckoutJson } from './stack.js';

type SeenEvent = { readonly id: number; readonly event: string; readonly checkout: CheckoutJson };

/** A reader of an event stream, as a page is one. */
export class EventReader {
  readonly events: SeenEvent[] = [];
  /** Lines that only keep the connection alive. */
  comments = 0;
  #text = '';
  readonly #abort = new AbortController();

  private constructor(readonly response: Response) {}

  /** How the connection ended. */
  ended!: Promise<'ended' | 'broken'>;

  static async open(url: string, headers: Record<string, string> = {}): Promise<EventReader> {
    const abort = new AbortController();
    const reader = new EventReader(await fetch(url, { headers, signal: abort.signal }));
    reader.#abort.signal.addEventListener('abort', () => abort.abort());
    reader.ended = reader.#read();
    return reader;
  }

  get statuses(): string[] {
    return this.events.map(({ checkout }) => checkout.status);
  }

  leave(): void {
    this.#abort.abort();
  }

  /** Waits for an event that satisfies the test; fails with what was seen. */
  until(satisfied: (checkout: CheckoutJson) => boolean, timeout = 90_000): Promise<SeenEvent> {
    return vi.waitFor(
      () => {
        const found = this.events.find(({ checkout }) => satisfied(checkout));
        if (found === undefined) throw new Error(`Not seen: ${JSON.stringify(this.events)}`);
        return found;
      },
      { timeout, interval: 10 },
    );
  }

  async #read(): Promise<'ended' | 'broken'> {
    if (this.response.body === null) return 'ended';
    try {
      const decoder = new TextDecoder();
      for await (const chunk of this.response.body) this.#take(decoder.decode(chunk, { stream: true }));
      return 'ended';
    } catch {
      return 'broken';
    }
  }

  #take(text: string): void {
    this.#text += text;
    const blocks = this.#text.split('\n\n');
    this.#text = blocks.pop() ?? '';
    for (const block of blocks) this.#takeBlock(block);
  }

  #takeBlock(block: string): void {
    if (block.startsWith(':')) this.comments += 1;
    const fields = new Map(
      block.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.replace(/^\w*: ?/, '')]),
    );
    const data = fields.get('data');
    if (data === undefined) return;
    const checkout = JSON.parse(data) as CheckoutJson;
    this.events.push({ id: Number(fields.get('id')), event: fields.get('event') ?? '', checkout });
  }
}
