export { Database } from './database.js';
export { LoadBalancer } from './load-balancer.js';
export { NotAvailableError } from './not-available-error.js';
export { TemporalOnPostgres, type Server } from './temporal-on-postgres.js';
