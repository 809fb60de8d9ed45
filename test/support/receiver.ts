import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { CheckoutJson } from './stack.js';

/** A delivery as a receiver gets it. */
export type Received = {
  /** `webhook-id`. */
  readonly id: string;
  readonly headers: Record<string, string>;
  /** As signed. */
  readonly raw: string;
  readonly type: string;
  readonly data: CheckoutJson;
};
type Answer = { readonly status: number; readonly headers?: Record<string, string> };

/** A system of the shop that gets events. */
export class Receiver {
  /** In the order of their arrival, repetitions too. */
  readonly received: Received[] = [];
  /** Decides each answer; default 200. */
  answer: (delivery: Received) => Answer | Promise<Answer> = () => ({ status: 200 });
  readonly #server = createServer((request, response) => void this.#receive(request, response));

  static async start(): Promise<Receiver> {
    const receiver = new Receiver();
    receiver.#server.listen(0, '127.0.0.1');
    await once(receiver.#server, 'listening');
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/events`;
  }

  /** Its deliveries about a checkout. */
  of(checkout: string): Received[] {
    return this.received.filter(({ data }) => data.id === checkout);
  }

  /** The types of its deliveries about a checkout, without `checkout.`. */
  typesOf(checkout: string): string[] {
    return this.of(checkout).map(({ type }) => type.replace('checkout.', ''));
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { headers } = request;
    const delivery = { ...read(await text(request)), headers: plain(headers), id: String(headers['webhook-id']) };
    this.received.push(delivery);
    const answer = await this.answer(delivery);
    response.writeHead(answer.status, answer.headers).end();
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }
}

function read(raw: string): Pick<Received, 'raw' | 'type' | 'data'> {
  const { type, data } = JSON.parse(raw) as Pick<Received, 'type' | 'data'>;
  return { raw, type, data };
}

function plain(headers: IncomingHttpHeaders): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
}
