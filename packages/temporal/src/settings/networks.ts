import { isIP, isIPv6, type BlockList } from 'node:net';

/** Adds an address or a network. @returns false when the text is neither, or is every address. */
export function addNetwork(networks: BlockList, entry: string): boolean {
  const [, address = '', prefix] = /^([0-9A-Fa-f.:]+)(?:\/(\d{1,3}))?$/.exec(entry) ?? [];
  const version = isIP(address);
  const family = version === 6 ? 'ipv6' : 'ipv4';
  if (version === 0 || Number(prefix) === 0 || (prefix !== undefined && Number(prefix) > (version === 6 ? 128 : 32)))
    return false;
  if (prefix === undefined) networks.addAddress(address, family);
  else networks.addSubnet(address, Number(prefix), family);
  return true;
}

/** @param address an IP address; any other text is in no network. */
export function isIn(networks: BlockList, address: string): boolean {
  const plain = address.replace(MAPPED, '');
  return isIP(plain) !== 0 && networks.check(plain, isIPv6(plain) ? 'ipv6' : 'ipv4');
}

/** An IPv4 address as IPv6 writes it. */
const MAPPED = /^::ffff:(?=\d+\.)/i;
