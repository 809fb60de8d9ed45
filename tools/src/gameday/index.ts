export { findPrometheus } from '../prometheus.js';
export { FAULTS } from './faults.js';
export { isPassed, runGameDay } from './game-day.js';
