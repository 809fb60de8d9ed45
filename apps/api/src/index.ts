import 'reflect-metadata';
export { startApi, type RunningApi } from './app.js';
export { documents } from './documents.js';
export { PROBLEMS, type ProblemCode } from './problems/catalog.js';
export { apiSettings, type ApiSettings } from './settings.js';
