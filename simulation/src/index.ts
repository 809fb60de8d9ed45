export type { BatchResult } from './batch.js';
export { Coverage } from './coverage.js';
export { LIVES_PER_WORLD, MOMENTS, Plans, type Beat, type LifePlan } from './plan.js';
export { failures } from './report.js';
export { simulate } from './simulate.js';
