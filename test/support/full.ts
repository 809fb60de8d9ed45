/** Options of a test that only `pnpm test:full` runs: `pnpm test` proves the same guarantee by another row. */
export const FULL = { tags: ['full'] };
