import type { LookupAddress, LookupOptions } from 'node:dns';
import { lookup, Resolver } from 'node:dns/promises';
import { networkInterfaces } from 'node:os';

/** A name server has so long to answer, twice. Milliseconds. */
const SERVER_WITHIN_MS = 3_000;
const SERVER_TRIES = 2;

/** As `lookup` of Node's `dns/promises` with the option `all`. */
type Lookup = (name: string, options: LookupOptions & { readonly all: true }) => Promise<LookupAddress[]>;
type Servers = Pick<Resolver, 'resolve4' | 'resolve6'>;

/**
 * Looks names up as {@link lookup} does. That function uses one of two threads that the whole process has for it, until
 * the name servers answer. So the name servers are asked without it first. It is used only for names that they do not
 * know, such as those of the hosts file, and for one name at a time. Name servers that do not answer delay nothing else.
 * @param servers asks the name servers that are configured now
 */
export function nameLookup(
  servers: () => Servers = () => new Resolver({ timeout: SERVER_WITHIN_MS, tries: SERVER_TRIES }),
  system: Lookup = lookup,
  hasIpv6 = hasPublicIpv6,
): Lookup {
  /** By the name. */
  const waiting = new Map<string, Promise<LookupAddress[]>>();
  let last: Promise<unknown> = Promise.resolve();
  const askSystem: Lookup = (name, options) => {
    const known = waiting.get(name);
    if (known !== undefined) return known;
    const looked = last.then(() => system(name, options)).finally(() => waiting.delete(name));
    waiting.set(name, looked);
    last = looked.catch(() => undefined);
    return looked;
  };
  return async (name, options) => {
    const asked = servers();
    const answers = await Promise.allSettled([asked.resolve4(name), hasIpv6() ? asked.resolve6(name) : []]);
    const addresses = answers.flatMap((answer, index) =>
      answer.status === 'fulfilled' ? answer.value.map((address) => ({ address, family: index === 0 ? 4 : 6 })) : [],
    );
    return addresses.length > 0 ? addresses : askSystem(name, options);
  };
}

/** A host without such an address cannot connect to one. */
function hasPublicIpv6(): boolean {
  const addresses = Object.values(networkInterfaces()).flatMap((own) => own ?? []);
  return addresses.some(({ family, internal, address }) => family === 'IPv6' && !internal && !/^fe80/i.test(address));
}
