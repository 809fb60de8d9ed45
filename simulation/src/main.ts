import './virtual/install.js';

const { runBatch } = await import('./batch.js');
const [seed = 1, from = 0, to = 1] = process.argv.slice(2).map(Number);
for (let batch = from; batch < to; batch += 1) {
  const startedAt = process.hrtime.bigint();
  const result = await runBatch(seed, batch, 20, { keepsLines: process.env['LINES'] !== undefined });
  const { lines, ...rest } = result;
  if (lines.length > 0) console.log(lines.join('\n'));
  console.log(Number((process.hrtime.bigint() - startedAt) / 1_000_000n), 'ms', rest);
}
process.exit(0);
