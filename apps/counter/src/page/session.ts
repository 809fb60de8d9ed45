import { TillflowError } from '@tillflow/sdk';
import { Refused, type Api, type Session } from './api.js';
import type { Device } from './device.js';

/** The rights of a device: a bearer token, and the till that it is for. */
export type Rights = { readonly token: string; readonly session: Session };

/** What devices keep of its tills has names without an account, as it always had. */
const DEFAULT_ACCOUNT = 'default';

/** What a page begins with: the token of a link, or else the session that the device has kept. */
export type Start = { readonly link: string } | { readonly token: string };

export function startOf(link: string | null, device: Device): Start | null {
  if (link !== null) return { link };
  const token = device.session;
  return token === null ? null : { token };
}

/**
 * Exchanges a link for a session, or reads a session.
 * @throws {Refused} `isFinal` when the link or the session is not valid any more
 */
export async function rightsOf(api: Api, start: Start): Promise<Rights> {
  if ('token' in start) return { token: start.token, session: await api.readSession(start.token) };
  const { session: token, ...session } = await api.openSession(start.link);
  return { token, session };
}

/** Sessions begin like this, and links do not. Source: `TillTokens` of the API. */
export function isSession(token: string): boolean {
  return token.startsWith('tills_');
}

/** The API says that the session, or its link, is not valid any more. A proxy's 401 does not end a session. */
export function isSessionEnd(error: unknown): boolean {
  if (error instanceof Refused) return error.isFinal;
  return error instanceof TillflowError && (error.code === 'unauthorized' || error.code === 'forbidden');
}

/** The till in the names of what the device keeps. Tills of two accounts may have one name. */
export function nameOf({ account = DEFAULT_ACCOUNT, store, terminal }: Session): string {
  const till = `${store?.id ?? ''}/${terminal}`;
  return account === DEFAULT_ACCOUNT ? till : `${account}/${till}`;
}
