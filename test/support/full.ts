/** Options of a test that only `pnpm test:full` runs: `pnpm test` proves the same guarantee by another row. */
export const FULL = { tags: ['full'] };

/** `pnpm test:full` runs. It repeats more often what `pnpm test` does once. */
export const isFull = process.env['FULL'] === '1';
