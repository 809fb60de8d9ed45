import { NODATA, NOTFOUND, type LookupAddress, type LookupOptions } from 'node:dns';
import { lookup, Resolver } from 'node:dns/promises';

/** A name server has so long to answer, twice. Milliseconds. */
const SERVER_WITHIN_MS = 3_000;
const SERVER_TRIES = 2;

/** As `lookup` of Node's `dns/promises` with the option `all`. */
type Lookup = (name: string, options: LookupOptions & { readonly all: true }) => Promise<LookupAddress[]>;

/**
 * Looks a name up as {@link lookup} does. That function uses one of two threads that the whole process has for it, until
 * the name servers answer. So the name servers are asked without it first, and it is used only for names that they do
 * not know, such as those of the hosts file. Name servers that do not answer delay nothing else.
 */
export function nameLookup(
  resolver: Pick<Resolver, 'resolve4' | 'resolve6'> = new Resolver({ timeout: SERVER_WITHIN_MS, tries: SERVER_TRIES }),
  system: Lookup = lookup,
): Lookup {
  return async (name, options) => {
    const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
    const addresses = answers.flatMap((answer, index) =>
      answer.status === 'fulfilled' ? answer.value.map((address) => ({ address, family: index === 0 ? 4 : 6 })) : [],
    );
    if (addresses.length > 0) return addresses;
    for (const answer of answers) if (answer.status === 'rejected' && !isUnknown(answer.reason)) throw answer.reason;
    return system(name, options);
  };
}

/** A name server answered that there is no such name or address. */
function isUnknown(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === NOTFOUND || code === NODATA;
}
