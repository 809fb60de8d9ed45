import { COUNTER_POLICY, counterFiles } from '@tillflow/counter';
import type { FastifyInstance } from 'fastify';
import { servePage } from '../edge/static-pages.js';

/** The service worker of the pages also serves `/counter`, which is not below its own address. */
const SCOPE = { 'service-worker-allowed': '/' };

/** Serves the pages of the counter and their files. They are open: only a session gives rights. */
export function serveCounter(server: FastifyInstance): void {
  for (const file of counterFiles()) servePage(server, { ...file, policy: COUNTER_POLICY, headers: SCOPE });
}
