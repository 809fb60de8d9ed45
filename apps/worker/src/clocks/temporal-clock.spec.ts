import { describe, expect, it } from 'vitest';
import { TemporalClock } from './temporal-clock.js';

const MINUTE = 60_000;
const START = Date.UTC(2026, 0, 1);

/** A machine and Temporal. The test moves their clocks. */
class World {
  /** The time of Temporal's clock, in milliseconds. */
  true = START;
  #monotonic = 5_000;
  wall: number;

  constructor(ahead = 0) {
    this.wall = START + ahead;
  }

  readonly machine = { wall: () => this.wall, monotonic: () => this.#monotonic };

  pass(ms: number): void {
    this.true += ms;
    this.#monotonic += ms;
    this.wall += ms;
  }

  /** Time passes while the machine is suspended. */
  suspend(ms: number, { isWallSetAfterwards = false } = {}): void {
    this.true += ms;
    if (isWallSetAfterwards) this.wall += ms;
  }

  /** Temporal records its time between the request and the answer. */
  read(wayThere = 5, wayBack = 5) {
    const from = this.#monotonic;
    this.pass(wayThere);
    const said = this.true;
    this.pass(wayBack);
    return { from, to: this.#monotonic, said };
  }

  clock(): TemporalClock {
    return new TemporalClock(this.read(), this.machine);
  }
}

describe('TemporalClock', () => {
  it.each([10 * MINUTE, -10 * MINUTE, 0])("is independent of the machine's clock, which is %i ms ahead", (ahead) => {
    const world = new World(ahead);
    const clock = world.clock();
    world.pass(20_000);
    expect(clock.now()).toBeGreaterThanOrEqual(world.true);
    expect(clock.now()).toBeLessThan(world.true + 20);
    expect(Math.abs(clock.offset - ahead)).toBeLessThan(20);
  });

  it('is never too early, however long the request or the answer takes', () => {
    for (const [there, back] of [
      [3_000, 0],
      [0, 3_000],
      [1_500, 1_500],
    ] as const) {
      const world = new World();
      const clock = new TemporalClock(world.read(there, back), world.machine);
      expect(clock.now()).toBeGreaterThanOrEqual(world.true);
      expect(clock.width).toBeGreaterThanOrEqual(3_000);
    }
  });

  it('is as accurate as its best reading', () => {
    const world = new World();
    const clock = new TemporalClock(world.read(3_000, 0), world.machine);
    clock.take(world.read(2, 2));
    clock.take(world.read(2_000, 2_000));
    expect(clock.now()).toBeGreaterThanOrEqual(world.true);
    expect(clock.now()).toBeLessThan(world.true + 10);
  });

  it('continues while the process is frozen', () => {
    const world = new World();
    const clock = world.clock();
    // The worker runs nothing meanwhile.
    world.pass(10 * MINUTE);
    expect(clock.now()).toBeGreaterThanOrEqual(world.true);
  });

  it('does not go back when the wall clock is set back', () => {
    const world = new World(10 * MINUTE);
    const clock = world.clock();
    world.pass(1_000);
    world.wall -= 10 * MINUTE;
    expect(clock.now()).toBeGreaterThanOrEqual(world.true);
    expect(clock.now()).toBeLessThan(world.true + 20);
    expect(clock.isDisturbed).toBe(true);
    clock.take(world.read());
    expect(clock.isDisturbed).toBe(false);
    expect(Math.abs(clock.offset)).toBeLessThan(20);
  });

  it('treats a wall clock that was set forward as passed time until the next reading', () => {
    const world = new World();
    const clock = world.clock();
    world.wall += 10 * MINUTE;
    expect(clock.now()).toBeGreaterThanOrEqual(world.true + 10 * MINUTE);
    expect(clock.isDisturbed).toBe(true);
    expect(Math.abs(clock.offset - 10 * MINUTE)).toBeLessThan(20);
    clock.take(world.read());
    expect(clock.now()).toBeLessThan(world.true + 20);
  });

  it('is not too early after the machine was suspended, if the wall clock is right afterwards', () => {
    const world = new World();
    const clock = world.clock();
    world.suspend(MINUTE, { isWallSetAfterwards: true });
    expect(clock.now()).toBeGreaterThanOrEqual(world.true);
    clock.hasReached(world.true - 1_000);
    expect(clock.now()).toBeGreaterThanOrEqual(world.true);
    clock.take(world.read());
    expect(clock.now()).toBeGreaterThanOrEqual(world.true);
    expect(clock.now()).toBeLessThan(world.true + 20);
  });

  it('is corrected by the time of a task when the machine did not notice its suspension', () => {
    const world = new World();
    const clock = world.clock();
    world.suspend(MINUTE);
    expect(clock.now()).toBeLessThan(world.true);
    clock.hasReached(world.true);
    expect(clock.now()).toBeGreaterThanOrEqual(world.true);
  });

  it("follows Temporal's own clock when that is set", () => {
    for (const step of [MINUTE, -MINUTE]) {
      const world = new World();
      const clock = world.clock();
      world.true += step;
      clock.take(world.read());
      expect(clock.now()).toBeGreaterThanOrEqual(world.true);
      expect(clock.now()).toBeLessThan(world.true + 20);
    }
  });

  it('allows for clock drift between readings', () => {
    const world = new World();
    const clock = world.clock();
    world.pass(10 * MINUTE);
    // This machine's clocks are slow by 100 ms in ten minutes.
    world.true += 100;
    expect(clock.now()).toBeGreaterThanOrEqual(world.true);
    clock.take(world.read());
    expect(clock.now()).toBeGreaterThanOrEqual(world.true);
  });
});
