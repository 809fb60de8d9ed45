import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { apiSettings, startApi } from '@tillflow/api';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { scanQr } from '../support/scan-qr.js';
import { KEYS, Stack, type CheckoutJson } from '../support/stack.js';

const PROVIDED = '<svg xmlns="http://www.w3.org/2000/svg"><!-- as the provider draws it --></svg>';

type Answer = (request: IncomingMessage, response: ServerResponse) => void;
const draw: Answer = (_, response) => void response.setHeader('content-type', 'image/svg+xml').end(PROVIDED);

/** Where the provider keeps its images: a server of its own, which answers as the test says. */
let answer: Answer = draw;
const requested: string[] = [];
const images = createServer((request, response) => {
  requested.push(request.url ?? '');
  answer(request, response);
});
const addressOfImages = (): string => `127.0.0.1:${(images.address() as AddressInfo).port}`;

let stack: Stack;
beforeAll(async () => {
  images.listen(0, '127.0.0.1');
  await once(images, 'listening');
  stack = await Stack.start({ webhookUrl: null, sandbox: { publicUrl: `http://${addressOfImages()}` } });
});
afterAll(async () => {
  await stack.stop();
  images.closeAllConnections();
  images.close();
});
beforeEach(() => {
  answer = draw;
  requested.length = 0;
});
afterEach(() => void vi.useRealTimers());

const imageOf = async ({ qr }: CheckoutJson): Promise<string> => (await fetch(qr?.image_url ?? '')).text();

/** The API drew this one from the QR's data. */
function expectOwn(image: string, { qr }: CheckoutJson): void {
  expect(image).not.toBe(PROVIDED);
  expect(scanQr(image)).toBe(qr?.raw_data);
}

describe('the QR image', () => {
  it('costs the provider one request, however many callers ask within five seconds', async () => {
    const [one, two] = [(await stack.create()).body, (await stack.create()).body];
    const shown = await Promise.all(Array.from({ length: 20 }, (_, at) => imageOf(at % 2 === 0 ? one : two)));
    expect(new Set(shown)).toEqual(new Set([PROVIDED]));
    await imageOf(one);
    expect(requested).toHaveLength(2);
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 5_000 });
    await imageOf(one);
    expect(requested).toHaveLength(3);
  });

  it('of a new attempt is fetched anew', async () => {
    const { body } = await stack.create();
    await imageOf(body);
    const { body: renewed } = await stack.post(`${body.location}/attempts`, { after: 1 });
    await imageOf(renewed);
    expect(new Set(requested).size).toBe(2);
  });

  it('is drawn by the API after three seconds, also when the provider sends its own image byte by byte', async () => {
    let wasCutOff = false;
    answer = (_, response) => {
      response.setHeader('content-type', 'image/svg+xml');
      const drip = setInterval(() => response.write(' '), 100);
      response.once('close', () => {
        clearInterval(drip);
        wasCutOff = true;
      });
    };
    const { body } = await stack.create();
    const asking = [imageOf(body), imageOf(body)];
    for (const image of await Promise.all(asking)) expectOwn(image, body);
    expectOwn(await imageOf(body), body);
    await expect.poll(() => wasCutOff).toBe(true);
    expect(requested).toHaveLength(1);
  });

  it.each<[string, Answer]>([
    [
      'leads elsewhere',
      (_, response) => void response.writeHead(302, { location: `http://${addressOfImages()}/elsewhere` }).end(),
    ],
    ['is a page', (_, response) => void response.setHeader('content-type', 'text/html').end('<script></script>')],
    ['is empty', (_, response) => void response.setHeader('content-type', 'image/png').end()],
    ['is missing', (_, response) => void response.writeHead(404, { 'content-type': 'image/png' }).end('x')],
    [
      'is endless',
      (_, response) => {
        response.setHeader('content-type', 'image/png');
        const more = (): void => {
          if (!response.destroyed) response.write(Buffer.alloc(65_536), more);
        };
        more();
      },
    ],
  ])("is drawn by the API when the provider's image %s", async (_, answered) => {
    answer = answered;
    const { body } = await stack.create();
    expectOwn(await imageOf(body), body);
    expect(requested).toHaveLength(1);
  });

  it('cannot run a script in a page of its own', async () => {
    const { body } = await stack.create();
    const { headers } = await fetch(body.qr?.image_url ?? '');
    expect(headers.get('content-security-policy')).toMatch(/default-src 'none'.*sandbox/);
  });
});

describe('QR_IMAGE_HOSTS', () => {
  async function shownWith(hosts: string, { location }: CheckoutJson): Promise<string> {
    const api = await startApi(apiSettings({ ...stack.apiEnvironment(), QR_IMAGE_HOSTS: hosts }), stack.logger);
    try {
      const headers = { authorization: `Bearer ${KEYS.checkout}` };
      return await (await fetch(`${api.url}${location}/qr`, { headers })).text();
    } finally {
      await api.close();
    }
  }

  it('are the only hosts that the API fetches images from; for any other host it sends no request and draws the QR itself', async () => {
    const { body } = await stack.create();
    for (const hosts of ['cdn.example', '127.0.0.1:1', 'localhost']) expectOwn(await shownWith(hosts, body), body);
    expect(requested).toEqual([]);
    const warning = stack.logs.find((line) => line.includes('QR_IMAGE_HOSTS')) ?? '';
    expect(JSON.parse(warning)).toMatchObject({ host: addressOfImages() });
    for (const hosts of ['127.0.0.1', `cdn.example, ${addressOfImages()}`]) {
      expect(await shownWith(hosts, body)).toBe(PROVIDED);
    }
  });

  it('refuses an address such as https://cdn.example, because it is not a host', () => {
    const environment = { ...stack.apiEnvironment(), QR_IMAGE_HOSTS: 'https://cdn.example' };
    expect(() => apiSettings(environment)).toThrow('QR_IMAGE_HOSTS: each must be host or host:port');
  });
});
