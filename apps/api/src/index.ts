import 'reflect-metadata';
export { startApi, type RunningApi } from './app.js';
export { apiSettings, type ApiSettings } from './settings.js';
