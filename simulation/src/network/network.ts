import type { Random } from '../random.js';
import { running, type Machine, type VirtualTime } from '../virtual/time.js';

/** Between which two parts. */
const LINKS = ['till-api', 'api-engine', 'worker-engine', 'worker-provider', 'provider-api'] as const;
export type Link = (typeof LINKS)[number];

/** Why an exchange failed: nothing was sent, or the connection broke after something may have arrived. */
export type Broken = 'refused' | 'reset';

type State = {
  /** Until then every exchange fails; milliseconds of virtual time. */
  cutUntil: number;
  /** A cut link refuses connections, or takes requests and answers nothing. */
  isSilent: boolean;
  /** So many of the next requests and answers are lost. */
  loseRequests: number;
  loseAnswers: number;
};

/** A caller notices after this time that a silent connection is dead. Milliseconds. */
const KEEPALIVE_MS = 14_000;

/** Messages between the parts: each takes a moment, and can be cut off or lost. */
export class Network {
  readonly #links = new Map<Link, State>();

  constructor(
    private readonly time: VirtualTime,
    private readonly random: Random,
  ) {
    for (const link of LINKS) {
      this.#links.set(link, { cutUntil: 0, isSilent: false, loseRequests: 0, loseAnswers: 0 });
    }
  }

  of(link: Link): State {
    return this.#links.get(link) as State;
  }

  cut(link: Link, milliseconds: number, isSilent: boolean): void {
    const state = this.of(link);
    state.cutUntil = this.time.now + milliseconds;
    state.isSilent = isSilent;
  }

  isCut(link: Link): boolean {
    return this.of(link).cutUntil > this.time.now;
  }

  heal(): void {
    for (const state of this.#links.values()) {
      Object.assign(state, { cutUntil: 0, loseRequests: 0, loseAnswers: 0 });
    }
  }

  /**
   * One request and its answer. @param serve runs on the machine `at` @param ended runs on the caller's machine, once
   * @returns the caller gives up: `ended` is not called any more
   */
  exchange<T>(
    link: Link,
    at: () => Machine | null,
    serve: () => Promise<T>,
    ended: (result: { readonly answer: T } | { readonly broken: Broken }) => void,
  ): () => void {
    const caller = running.getStore();
    let isOver = false;
    const end = (after: number, result: { readonly answer: T } | { readonly broken: Broken }): void => {
      this.time.after(
        after,
        () => {
          if (isOver) return;
          isOver = true;
          ended(result);
        },
        caller,
      );
    };
    const state = this.of(link);
    const answer = async (machine: Machine): Promise<void> => {
      const answered = await running.run(machine, serve);
      if (machine.isDead) end(1, { broken: 'reset' });
      else if (this.isCut(link)) end(state.isSilent ? KEEPALIVE_MS : 1, { broken: 'reset' });
      else if (state.loseAnswers > 0) {
        state.loseAnswers -= 1;
        end(this.#delay(), { broken: 'reset' });
      } else end(this.#delay(), { answer: answered });
    };
    const arrive = (): void => {
      const machine = at();
      if (machine === null || machine.isDead) end(1, { broken: 'refused' });
      else if (machine.frozenUntil > this.time.now) {
        this.time.after(machine.frozenUntil - this.time.now, arrive, undefined);
      } else answer(machine).catch((error: unknown) => this.time.fail(error));
    };
    if (this.isCut(link)) {
      if (state.isSilent) end(KEEPALIVE_MS, { broken: 'reset' });
      else end(this.#delay(), { broken: 'refused' });
    } else if (state.loseRequests > 0) {
      state.loseRequests -= 1;
      end(this.#delay() + 5, { broken: 'reset' });
    } else this.time.after(this.#delay(), arrive, undefined);
    return () => {
      isOver = true;
    };
  }

  /** A message takes so long. Milliseconds. */
  #delay(): number {
    return 0.2 + this.random.fraction() * 1.3;
  }
}
