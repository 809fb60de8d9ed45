export { FAULTS } from './faults.js';
export { isPassed, runGameDay } from './game-day.js';
