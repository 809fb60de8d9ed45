import { isIPv4, isIPv6 } from 'node:net';

/**
 * What a client is counted by: its IPv4 address, or the /64 of its IPv6 address, because one client has as many addresses
 * of a /64 as it likes. Whatever is no address counts as one client.
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
