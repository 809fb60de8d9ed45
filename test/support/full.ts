/** Options of a test that only `pnpm test:full` runs: `pnpm test` proves the same guarantee by another row. */
export const FULL = { tags: ['full'] };

/** Options of a test that `pnpm test:full` repeats more often, or in more ways, than `pnpm test`: see {@link isFull}. */
export const MORE = { tags: ['more'] };

/** `pnpm test:full` runs. */
export const isFull = process.env['FULL'] === '1';
