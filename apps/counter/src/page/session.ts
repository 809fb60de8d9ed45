import { Refused, type Api, type Session } from './api.js';
import type { Device } from './device.js';

/** The rights of a device: a bearer token, and the till that it is for. */
export type Rights = { readonly token: string; readonly session: Session };

/**
 * Exchanges the link of the device for a session, or reads the session that it has.
 * @returns null without either
 * @throws {Refused} `isFinal` when the link or the session is not valid any more; then the device forgets it
 */
export async function rightsOf(api: Api, device: Device): Promise<Rights | null> {
  const { link, session: token } = device;
  try {
    if (link !== null) {
      const { session, ...till } = await api.openSession(link);
      device.session = session;
      device.link = null;
      return { token: session, session: till };
    }
    return token === null ? null : { token, session: await api.readSession(token) };
  } catch (error) {
    if (error instanceof Refused && error.isFinal) {
      if (link !== null) device.link = null;
      else device.session = null;
    }
    throw error;
  }
}

/** The till in the names of what the device keeps. */
export function nameOf({ store, terminal }: Session): string {
  return `${store?.id ?? ''}/${terminal}`;
}
