export type { End } from './batch.js';
export { FaultsOfCharges } from './faults.js';
export { Life } from './life.js';
export type { Surroundings } from './people/surroundings.js';
export { Plans } from './plan.js';
export { failures } from './report.js';
export { simulate } from './simulate.js';
