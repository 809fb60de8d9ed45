import 'reflect-metadata';
export { AccountApi, type Shared } from './accounts/account-api.js';
export { Neighbours } from './accounts/neighbours.js';
export { startApi, type RunningApi } from './app.js';
export { UPLOAD_WITHIN_MS } from './disputes/upload.js';
export { documents } from './documents.js';
export { PROBLEMS, type ProblemCode } from './problems/catalog.js';
export { API_SETTINGS, apiSettings, type ApiSettings } from './settings.js';
