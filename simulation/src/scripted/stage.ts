import type { ChargeJson, Fault } from '@tillflow/sandbox';
import type { CheckoutMemo } from '@tillflow/workflows';
import type { Guarantee } from '@tillflow/workflows/testing';
import type { FaultKind } from '../fault-kinds.js';
import { Life } from '../life.js';
import type { World } from '../world.js';

const STEP_MS = 20;
const MINUTE_MS = 60_000;
/** Written again on purpose, as in the oracle: an error in the product's own rule must show here. After midnight UTC. */
const CUT_OFF_MS = (16 * 60 + 15) * MINUTE_MS;
const DAY_MS = 86_400_000;

/**
 * One checkout that follows a script. Nothing else goes wrong. The event tail is paused: within a minute, it finds what the
 * checkout must find.
 */
export class Stage {
  readonly life: Life;
  /** The requests that reached the provider: method and path. */
  readonly #requests: string[] = [];
  readonly #leave: () => void;

  /** @param index the number of the first life of this world: the command that repeats it names that life */
  constructor(
    private readonly world: World,
    index: number,
    readonly name: string,
    seconds: number,
  ) {
    const plan = { index, reference: `script-life-${index}`, expiresIn: seconds, beginsAfter: 0, beats: [] };
    this.life = new Life(world, { cause: () => undefined }, { ...plan, isOneByOne: true });
    world.onPublished(this.life.workflowId, () => this.life.look());
    this.#leave = world.provider.at((sandbox) =>
      sandbox.on('request', ({ method, path }) => this.#requests.push(`${method} ${path}`)),
    );
  }

  get memo(): CheckoutMemo | null {
    return this.life.memo;
  }

  get status(): string {
    return this.life.status;
  }

  /** The newest charge at the provider. */
  get charge(): ChargeJson {
    const charge = this.life.customer.charges.at(-1);
    if (charge === undefined) throw new Error('The provider has no charge of the script');
    return charge;
  }

  /** The path of {@link charge} at the provider. */
  get chargePath(): string {
    return `/charges/${this.charge.id}`;
  }

  /** The code of the attention that the checkout shows; null: none. */
  get attention(): string | null {
    return this.memo?.state?.attention?.code ?? null;
  }

  /** The number of requests to the provider whose method and path begin so. */
  count(request: string): number {
    return this.#requests.filter((one) => one.startsWith(request)).length;
  }

  /** The provider fails these requests. */
  fail(...faults: Fault[]): void {
    this.world.provider.at((sandbox) => sandbox.faults.add(faults));
  }

  /** The API's calls do not reach Temporal, and have no answer. Milliseconds. */
  silenceTemporal(milliseconds: number): void {
    this.world.network.cut('api-engine', milliseconds, true);
  }

  /** So many of the next workflow tasks never reach a worker, for each worker. Temporal hands each out again after 10 s. */
  loseWorkflowTasks(count: number): void {
    for (const worker of this.world.workers.all) worker.loseTasks = count;
  }

  /** The provider sends no webhook from now on. */
  loseWebhooks(): void {
    this.world.provider.failWebhooks({ drop: 1 });
  }

  /** The provider sends each webhook twice from now on. */
  doubleWebhooks(): void {
    this.world.provider.failWebhooks({ duplicate: 1 });
  }

  /** No request to the provider fails any more. Its lists and webhooks stay as they are. */
  answer(): void {
    this.world.provider.at((sandbox) => sandbox.faults.clear());
  }

  /** The provider's lists show this lie for so long. Milliseconds. */
  lieInLists(lie: FaultKind, milliseconds: number): void {
    this.world.provider.lies.lag(lie, milliseconds);
  }

  /** The provider fails nothing any more. */
  heal(): void {
    this.world.provider.heal();
  }

  sleep(milliseconds: number): Promise<void> {
    return this.world.time.sleep(milliseconds);
  }

  /** Every machine stands still until this instant, as a suspended host does. Milliseconds since 1970, UTC. */
  async skipTo(instant: number): Promise<void> {
    this.world.skipTo(instant);
    await this.sleep(MINUTE_MS / 2);
  }

  /** The script goes on while this work is under way. When the work fails, the run ends. */
  later(work: Promise<unknown>): void {
    work.catch((error: unknown) => this.world.time.fail(error));
  }

  /** Waits until this instant. Milliseconds since 1970, UTC. */
  at(instant: number): Promise<void> {
    return this.sleep(instant - this.world.time.now);
  }

  /** The next instant at which the time to void ends. Milliseconds since 1970, UTC. */
  get nextCutOff(): number {
    const today = Math.floor(this.world.time.now / DAY_MS) * DAY_MS + CUT_OFF_MS;
    return today > this.world.time.now + 10 * MINUTE_MS ? today : today + DAY_MS;
  }

  /** Workflows see this instant as the present, to the millisecond; null: the clock goes on. */
  stopClockOfWorkflows(instant: number | null): void {
    this.world.engine.parts.clockStandsAt = instant;
  }

  /** Creates the checkout, and waits for its QR code. */
  async create(): Promise<void> {
    await this.life.create();
    await this.within(2_000, 6, 'shows its QR code', () => this.status === 'awaiting_payment');
  }

  pay(): void {
    this.life.customer.pay(0);
  }

  /** Creates the checkout, and pays it. */
  async createAndPay(): Promise<void> {
    await this.create();
    this.pay();
    await this.within(2_000, 5, 'is paid', () => this.status === 'paid');
  }

  /** Fails the script when something does not become so in time. Milliseconds. */
  async within(milliseconds: number, guarantee: Guarantee, what: string, isSo: () => boolean): Promise<void> {
    this.expect(guarantee, `after ${milliseconds} ms, it ${what}`, await this.life.until(isSo, STEP_MS, milliseconds));
  }

  /** Fails the script when something is not so. */
  expect(guarantee: Guarantee, what: string, isSo: boolean): void {
    if (isSo) return;
    this.life.breaches.push({
      guarantee,
      checkout: this.life.id,
      what: `${this.name}; not so: ${what}. It is ${this.status}`,
    });
  }

  end(): void {
    this.#leave();
    this.stopClockOfWorkflows(null);
    this.heal();
  }
}
