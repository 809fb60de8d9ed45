import { lookup } from 'node:dns/promises';
import { BlockList, isIP } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { addNetwork, isIn } from '../settings/networks.js';

/** Where events may go. */
export class EventNetworks {
  constructor(private readonly configured: BlockList) {}

  /** Why events may not go to this address; null when they may. @param isPlain without TLS */
  refuse(address: string, isPlain: boolean): string | null {
    if (isIn(LINK_LOCAL, address)) return `${address} is link-local`;
    if (isIn(this.configured, address)) return null;
    if (isIn(NOT_PUBLIC, address)) return `${address} is not a public address, and not in EVENT_ENDPOINT_NETWORKS`;
    return isPlain ? `http is permitted only in EVENT_ENDPOINT_NETWORKS, and ${address} is not there` : null;
  }
}

/** The networks that events may go to, besides public addresses, comma-separated. */
export const eventNetworks = z
  .string()
  .default('')
  .transform((text, context) => {
    const networks = new BlockList();
    for (const entry of text.split(',').map((part) => part.trim())) {
      if (entry !== '' && !addNetwork(networks, entry)) context.addIssue('must be networks, such as 10.20.0.0/16');
    }
    return new EventNetworks(networks);
  });

function blockList(...networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) addNetwork(list, network);
  return list;
}

/** Also those that contain an IPv4 address of this kind. */
const LINK_LOCAL = blockList(
  '169.254.0.0/16',
  'fe80::/10',
  '::169.254.0.0/112',
  '::ffff:0:169.254.0.0/112',
  '64:ff9b::169.254.0.0/112',
  '2002:a9fe::/32',
);

/** Source: the IANA registries of special-purpose IPv4 and IPv6 addresses, and multicast. */
const NOT_PUBLIC = blockList(
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  '::/96',
  '::ffff:0:0:0/96',
  // These contain IPv4 addresses, which a gateway may reach. An IPv4 address in ::ffff:0:0/96 is checked as such.
  '64:ff9b::/96',
  '64:ff9b:1::/48',
  '2002::/16',
  '100::/64',
  '2001::/23',
  '2001:db8::/32',
  '3fff::/20',
  '5f00::/16',
  'fc00::/7',
  'fec0::/10',
  'ff00::/8',
);

/** The longest address of an endpoint, in characters. */
export const MAX_ENDPOINT_URL = 2_048;
/** The longest time that the lookup of a name may take. Milliseconds. */
const LOOKED_UP_WITHIN_MS = 3_000;

/**
 * Why events cannot go to an address; null when they can. The worker checks each connection again: a name may have
 * other addresses by then. A name that is not known yet, or that is not looked up in time, is permitted.
 */
export async function refuseEndpoint(
  text: string,
  networks: EventNetworks,
  resolve: Resolve = lookup,
  withinMs = LOOKED_UP_WITHIN_MS,
): Promise<string | null> {
  if (text.length > MAX_ENDPOINT_URL) return `The address must have at most ${MAX_ENDPOINT_URL} characters`;
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) return 'The address must be an http or https address';
  if (url.username !== '' || url.password !== '') return 'The address must not contain a user name or a password';
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const addresses = isIP(host) === 0 ? await addressesOf(host, resolve, withinMs) : [host];
  const refusals = addresses.map((address) => networks.refuse(address, url.protocol === 'http:'));
  return refusals.includes(null) ? null : (refusals[0] ?? null);
}

/** As `lookup` of Node's `dns/promises`. */
type Resolve = (name: string, options: { readonly all: true }) => Promise<readonly { readonly address: string }[]>;

async function addressesOf(name: string, resolve: Resolve, withinMs: number): Promise<string[]> {
  const done = new AbortController();
  const late = sleep(withinMs, [], { signal: done.signal });
  late.catch(() => undefined);
  try {
    return (await Promise.race([resolve(name, { all: true }), late])).map(({ address }) => address);
  } catch {
    return [];
  } finally {
    done.abort();
  }
}
