import { createSandbox } from '@tillflow/sandbox';
import { request } from 'undici';
import { CHARGE_FORM, PAGE_SIZE, type Operation } from './operations.js';

/** The bodies that the provider's sandbox gives to the operations: real shapes, real sizes. */
export async function repliesOfProvider(): Promise<Readonly<Record<Operation, string>>> {
  const sandbox = createSandbox({ seed: 'bench-client' });
  const { url } = await sandbox.listen({ port: 0 });
  const authorization = `Basic ${Buffer.from(`${sandbox.keys.secret}:`).toString('base64')}`;
  const call = async (method: 'GET' | 'POST', path: string, form?: string): Promise<string> => {
    const { statusCode, body } = await request(`${url}${path}`, {
      method,
      headers: { authorization, ...(form !== undefined && { 'content-type': 'application/x-www-form-urlencoded' }) },
      body: form ?? null,
    });
    const text = await body.text();
    if (statusCode !== 200) throw new Error(`${method} ${path} answered ${statusCode}: ${text}`);
    return text;
  };
  try {
    let id = '';
    for (let made = 0; made < PAGE_SIZE; made += 1) {
      ({ id } = JSON.parse(await call('POST', '/charges', CHARGE_FORM)) as { id: string });
      if (made % 2 === 0) await call('POST', `/charges/${id}/mark_as_paid`);
    }
    return {
      create: await call('POST', '/charges', CHARGE_FORM),
      retrieve: await call('GET', `/charges/${id}`),
      list: await call('GET', `/charges?limit=${PAGE_SIZE}`),
    };
  } finally {
    await sandbox.close();
  }
}
