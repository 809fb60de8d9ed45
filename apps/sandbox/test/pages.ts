import type { ChargeJson } from '../src/index.js';
import { NEW_CHARGE, type Bench } from './harness.js';

export async function createCharge({ call }: Bench, form: Record<string, string> = {}): Promise<ChargeJson> {
  return (await call<ChargeJson>('POST', '/charges', { form: { ...NEW_CHARGE, ...form } })).body;
}

/** The address in a charge's QR code. */
export function walletOf(charge: ChargeJson): string {
  return charge.source?.scannable_code?.raw_data ?? '';
}

/** The main part of a page, without style and script. */
function mainOf(page: string): string {
  return /<main[\s\S]*<\/main>/.exec(page)?.[0] ?? page;
}

export async function open(address: string): Promise<string> {
  const response = await fetch(address);
  return mainOf(await response.text());
}

/** Sends a form as a browser does, with the name and value of the button, and follows the redirect. */
export async function press(
  address: string,
  fields: Record<string, string> = {},
  headers: Record<string, string> = {},
): Promise<{ readonly status: number; readonly url: string; readonly page: string }> {
  const response = await fetch(address, { method: 'POST', body: new URLSearchParams(fields), headers });
  return { status: response.status, url: response.url, page: mainOf(await response.text()) };
}
