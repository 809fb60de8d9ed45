import type { LookupAddress, LookupOptions } from 'node:dns';
import { lookup, Resolver } from 'node:dns/promises';
import { networkInterfaces } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';

/** The longest time that a name server may take to answer, in each of {@link SERVER_TRIES}. Milliseconds. */
const SERVER_WITHIN_MS = 3_000;
const SERVER_TRIES = 2;
/** The longest time that a connection waits for the system to look its name up. Milliseconds. */
const SYSTEM_WITHIN_MS = 5_000;
/** A name server answered, and knows no address. Source: the documentation of Node's `dns`. */
const UNKNOWN = new Set(['ENOTFOUND', 'ENODATA']);

/** As `lookup` of Node's `dns/promises` with the option `all`. */
type Lookup = (name: string, options: LookupOptions & { readonly all: true }) => Promise<LookupAddress[]>;
type Servers = Pick<Resolver, 'resolve4' | 'resolve6'>;

/**
 * Looks names up as {@link lookup} does. The process has two threads for that function, and a name whose servers do not
 * answer keeps one of them for many seconds. So the name servers are asked first, without a thread. The system looks up
 * only names that they do not know, such as those of the hosts file, and names for which they did not answer: of each
 * kind one at a time. So a name whose servers do not answer delays only names of the same kind.
 * @param servers asks the name servers that are configured now
 */
export function nameLookup(
  servers: () => Servers = () => new Resolver({ timeout: SERVER_WITHIN_MS, tries: SERVER_TRIES }),
  system: Lookup = lookup,
  hasIpv6 = hasPublicIpv6,
  systemWithinMs = SYSTEM_WITHIN_MS,
): Lookup {
  const unknown = new SystemQueue(system, systemWithinMs);
  const unanswered = new SystemQueue(system, systemWithinMs);
  return async (name, options) => {
    const asked = servers();
    const answers = await Promise.allSettled([asked.resolve4(name), hasIpv6() ? asked.resolve6(name) : []]);
    const addresses = answers.flatMap((answer, index) =>
      answer.status === 'fulfilled' ? answer.value.map((address) => ({ address, family: index === 0 ? 4 : 6 })) : [],
    );
    if (addresses.length > 0) return addresses;
    return (answers.every(isAnswered) ? unknown : unanswered).look(name, options);
  };
}

/** Looks up one name after another. */
class SystemQueue {
  /** By the name. */
  readonly #waiting = new Map<string, Promise<LookupAddress[]>>();
  #last: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly system: Lookup,
    private readonly withinMs: number,
  ) {}

  /** @throws after {@link withinMs}: then the lookup goes on, and its successors wait for its end */
  look: Lookup = (name, options) => {
    const looked = this.#waiting.get(name) ?? this.#add(name, options);
    return inTime(looked, this.withinMs);
  };

  #add(name: string, options: Parameters<Lookup>[1]): Promise<LookupAddress[]> {
    const addedAt = performance.now();
    const looked = this.#last
      .then(() => {
        // Nothing waits for it any more.
        if (performance.now() - addedAt > this.withinMs) throw tooLate(this.withinMs);
        return this.system(name, options);
      })
      .finally(() => this.#waiting.delete(name));
    this.#waiting.set(name, looked);
    this.#last = looked.catch(() => undefined);
    return looked;
  }
}

async function inTime<T>(work: Promise<T>, ms: number): Promise<T> {
  const done = new AbortController();
  const late = sleep(ms, undefined, { signal: done.signal, ref: false }).then(() => Promise.reject(tooLate(ms)));
  late.catch(() => undefined);
  try {
    return await Promise.race([work, late]);
  } finally {
    done.abort();
  }
}

function tooLate(ms: number): Error {
  return new Error(`The name was not looked up within ${ms / 1_000} s`);
}

function isAnswered(answer: PromiseSettledResult<unknown>): boolean {
  return answer.status === 'fulfilled' || UNKNOWN.has((answer.reason as { readonly code?: string }).code ?? '');
}

/** A host without such an address cannot connect to one. */
function hasPublicIpv6(): boolean {
  const addresses = Object.values(networkInterfaces()).flatMap((own) => own ?? []);
  return addresses.some(({ family, internal, address }) => family === 'IPv6' && !internal && !/^fe80/i.test(address));
}
