import './virtual/install.js';

const { World } = await import('./world.js');
const world = await World.open('seed 1', { workers: 2, keepsLines: true });
let done = false;
const life = (async () => {
  const created = await world.ask('POST', '/v1/checkouts', { reference: 'a', amount: 150_000, currency: 'THB' });
  world.note(`created ${JSON.stringify(created)}`.slice(0, 300));
  await world.time.sleep(3_000);
  const [charge] = world.sandbox.state(['charges']).charges ?? [];
  if (charge) world.sandbox.mark(charge.id, { status: 'successful', force: true });
  await world.time.sleep(20_000);
  const read = await world.ask('GET', '/v1/checkouts/chk_default_a');
  world.note(`read ${JSON.stringify(read)}`.slice(0, 600));
  const refund = await world.ask('POST', '/v1/checkouts/chk_default_a/refunds', { amount: 5_000 }, { 'idempotency-key': 'k1' });
  world.note(`refund ${JSON.stringify(refund)}`.slice(0, 600));
  done = true;
})();
try {
  await world.time.run(() => done, world.time.now + 3_600_000);
  await life;
} catch (error) {
  console.error(error);
}
console.log(world.lines.join('\n'));
console.log(world.engine.problems, world.engine.counts, world.digest);
process.exit(0);
