/** What the page keeps on the device. It survives a reload and a loss of power. */
export type Memory = Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>;

/** A sale that the person at the till has begun and not yet finished. */
export type StoredSale = {
  /** Made here, before the first request. The same reference is the same checkout. */
  readonly reference: string;
  /** In the smallest currency unit. */
  readonly amount: number;
  readonly currency: string;
  readonly note: string;
  /** The API's time, in milliseconds since 1970. */
  readonly startedAt: number;
  /** The id of the checkout, once an answer contained it. */
  readonly id: string | null;
};

const SESSION = 'tillflow.session';

/** Reads and writes what the page keeps. Texts that another program has damaged count as absent. */
export class Device {
  constructor(private readonly memory: Memory) {}

  /** The bearer token of the till that was opened last. */
  get session(): string | null {
    return this.#read(SESSION, isText);
  }

  set session(token: string) {
    this.#tryToWrite(SESSION, token);
  }

  /** @param till the name of the till: another till of the same device has another sale. */
  sale(till: string): StoredSale | null {
    return this.#read(`tillflow.sale.${till}`, isSale);
  }

  /** @throws {Error} when the device cannot keep it: then no sale may begin. */
  keepSale(till: string, sale: StoredSale | null): void {
    this.#write(`tillflow.sale.${till}`, sale);
  }

  /** A choice of the person, such as the language. */
  choice(name: string): string | null {
    return this.#read(`tillflow.choice.${name}`, isText);
  }

  choose(name: string, value: string): void {
    this.#tryToWrite(`tillflow.choice.${name}`, value);
  }

  #read<T>(name: string, isValid: (value: unknown) => value is T): T | null {
    try {
      const value: unknown = JSON.parse(this.memory.getItem(name) ?? 'null');
      return isValid(value) ? value : null;
    } catch {
      return null;
    }
  }

  /** What the device does not keep, the page asks for again. */
  #tryToWrite(name: string, value: string): void {
    try {
      this.#write(name, value);
    } catch {
      // The device has no room, or forbids it.
    }
  }

  #write(name: string, value: unknown): void {
    if (value === null) this.memory.removeItem(name);
    else this.memory.setItem(name, JSON.stringify(value));
  }
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isSale(value: unknown): value is StoredSale {
  const sale = value as Partial<StoredSale> | null;
  return (
    typeof sale?.reference === 'string' &&
    Number.isSafeInteger(sale.amount) &&
    typeof sale.currency === 'string' &&
    typeof sale.note === 'string' &&
    typeof sale.startedAt === 'number' &&
    (sale.id === null || typeof sale.id === 'string')
  );
}
