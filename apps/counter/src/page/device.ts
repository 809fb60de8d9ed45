/** What the page keeps on the device. It survives a reload and a loss of power. */
export type Memory = Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>;

/** The memory of a browser that forbids the page to keep anything. */
export const NO_MEMORY: Memory = {
  getItem: () => null,
  setItem: () => {
    throw new Error('The browser forbids it');
  },
  removeItem: () => undefined,
};

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

/**
 * Where each page keeps its session. The customer's screen has a name of its own, so that the page of the till does not
 * open on a device that only shows. Without one, it shows the till of its device.
 */
const SESSIONS = { till: ['tillflow.session'], display: ['tillflow.display', 'tillflow.session'] } as const;

/** Reads and writes what the page keeps. Texts that another program has damaged count as absent. */
export class Device {
  readonly #names: readonly [string, ...string[]];

  /** @param own what only this window keeps, over its reloads */
  constructor(
    private readonly memory: Memory,
    private readonly own: Memory,
    page: keyof typeof SESSIONS,
  ) {
    this.#names = SESSIONS[page];
  }

  /** The bearer token of this window, else the one that another window has kept last. */
  get session(): string | null {
    const ofWindow = this.#read(this.#names[0], isText, this.own);
    return this.#names.reduce((found, name) => found ?? this.#read(name, isText), ofWindow);
  }

  /** @param isNew it comes from a link: windows without a session of their own begin with it. */
  keepSession(token: string, isNew: boolean): void {
    this.#tryToWrite(this.#names[0], token, this.own);
    if (isNew) this.#tryToWrite(this.#names[0], token);
  }

  /** The session of this page has ended. What other pages keep stays. */
  forgetSession(): void {
    for (const memory of [this.own, this.memory]) memory.removeItem(this.#names[0]);
  }

  /** @param till the name of the till: another till of the same device has another sale. */
  sale(till: string): StoredSale | null {
    return this.#read(`tillflow.sale.${till}`, isSale);
  }

  /** @throws {Error} when the device cannot keep it: then no sale may begin. */
  keepSale(till: string, sale: StoredSale | null): void {
    const name = `tillflow.sale.${till}`;
    if (sale === null) this.memory.removeItem(name);
    else this.memory.setItem(name, JSON.stringify(sale));
  }

  /** The references of the sales that the person at the till has left without a payment, the newest last. */
  left(till: string): readonly string[] {
    return this.#read(`tillflow.left.${till}`, isTexts) ?? [];
  }

  keepLeft(till: string, references: readonly string[]): void {
    this.#tryToWrite(`tillflow.left.${till}`, references);
  }

  /** A choice of the person, such as the language. */
  choice(name: string): string | null {
    return this.#read(`tillflow.choice.${name}`, isText);
  }

  choose(name: string, value: string): void {
    this.#tryToWrite(`tillflow.choice.${name}`, value);
  }

  #read<T>(name: string, isValid: (value: unknown) => value is T, memory = this.memory): T | null {
    try {
      const value: unknown = JSON.parse(memory.getItem(name) ?? 'null');
      return isValid(value) ? value : null;
    } catch {
      return null;
    }
  }

  /** What the device does not keep, the page asks for again. */
  #tryToWrite(name: string, value: string | readonly string[], memory = this.memory): void {
    try {
      memory.setItem(name, JSON.stringify(value));
    } catch {
      // The device has no room, or forbids it.
    }
  }
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every(isText);
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
