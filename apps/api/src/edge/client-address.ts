import { BlockList, isIPv4, isIPv6 } from 'node:net';
import { addNetwork, isIn } from '@tillflow/temporal';
import { z } from 'zod';

/** Whether the API trusts the proxy with this address to name the client before it. Hop 0 is the connection itself. */
export type TrustProxy = (address: string | undefined, hop: number) => boolean;

const MAX_HOPS = 16;

/**
 * The setting `TRUST_PROXY`: addresses and networks, comma-separated, or the number of proxies in front. Unset: the API
 * ignores `X-Forwarded-*`.
 */
export const trustProxy = z.string().transform((text, context): TrustProxy => {
  if (/^\s*\d+\s*$/.test(text)) return hops(Number(text), context);
  const trusted = new BlockList();
  for (const entry of text.split(',').map((part) => part.trim())) {
    // A prefix of 0 would trust every caller.
    if (!addNetwork(trusted, entry))
      context.addIssue('must be addresses or networks, such as 10.0.0.0/8, or a number of hops');
  }
  return (address) => {
    if (address === undefined) return false;
    return isIn(trusted, address);
  };
});

function hops(count: number, context: z.RefinementCtx): TrustProxy {
  if (count < 1 || count > MAX_HOPS) context.addIssue(`must be from 1 to ${MAX_HOPS} hops`);
  return (_, hop) => hop < count;
}

/**
 * The address under which a client is counted: its IPv4 address, or the /64 of its IPv6 address, because one client can
 * use every address of a /64. Everything that is not an address counts as one client.
 */
export function addressKey(address: string): string {
  const bare = withoutPort(address);
  if (isIPv4(bare)) return bare;
  if (!isIPv6(bare)) return 'unknown';
  const [, mapped] = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(bare) ?? [];
  return mapped ?? `${firstGroups(bare.replace(/%.*$/, '')).join(':')}::/64`;
}

/** Some proxies write the port as well. */
function withoutPort(address: string): string {
  const [, v4, v6] = /^(?:(\d+\.\d+\.\d+\.\d+):\d+|\[([^\]]+)\](?::\d+)?)$/.exec(address) ?? [];
  return v4 ?? v6 ?? address;
}

function firstGroups(address: string): string[] {
  const [front = '', back = ''] = address.split('::', 2);
  const head = front === '' ? [] : front.split(':');
  const tail = back === '' ? [] : back.split(':');
  // An IPv4 address at the end stands for two groups.
  const missing = 8 - head.length - tail.length - (address.includes('.') ? 1 : 0);
  const gap = Array.from({ length: Math.max(0, missing) }, () => '0');
  return [...head, ...gap, ...tail].slice(0, 4).map((group) => Number.parseInt(group, 16).toString(16));
}
