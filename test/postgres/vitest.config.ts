import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import shared from '../../vitest.config.js';

/** The specs whose outcome depends on Temporal, by what they ask of it. */
const SPECS = {
  workflows: [
    'checkout',
    'attempts-api',
    'refunds-api',
    'approvals',
    'aftercare',
    'payments',
    'repeated-requests',
    'waiting',
  ],
  signalsAndStreams: ['webhooks', 'event-tail', 'events', 'outgoing-events', 'temporal-ui'],
  lists: [
    'list-order',
    'stores',
    'askers',
    'accounts',
    'resolve-many',
    'reconciliation',
    'breaks',
    'day-reports',
    'counter-links',
  ],
  operation: ['cli', 'doctor', 'availability', 'schedules', 'worker-versions', 'rolling-upgrade', 'encryption'],
  faults: ['unknown-outcomes', 'dead-workers', 'late-writers', 'message-races', 'silent-provider', 'slow-engine'],
  commands: ['commands-api', 'plans-api', 'unknown-plans', 'command-workers'],
};

const { projects: _, ...options } = shared.test ?? {};
/** As in the project `product` of the other configuration. */
const env = { TEMPORAL_DEBUG: '1' };

/**
 * `pnpm test:postgres`: specs of the product against Temporal on PostgreSQL. Left out are specs that do not need Temporal,
 * or start another Temporal server themselves, and those of pages and pictures.
 */
export default defineConfig({
  root: fileURLToPath(new URL('../..', import.meta.url)),
  test: {
    ...options,
    // Two programs more than in `pnpm test` share the cores.
    maxWorkers: 4,
    projects: [
      {
        extends: true,
        test: {
          name: 'postgres',
          include: Object.values(SPECS)
            .flat()
            .map((name) => `test/${name}.spec.ts`),
          globalSetup: [fileURLToPath(new URL('global-setup.ts', import.meta.url))],
          env,
          sequence: { groupOrder: 1 },
        },
      },
      // Afterwards, because it starts more servers.
      {
        extends: true,
        test: { name: 'kills', include: ['test/postgres/*.spec.ts'], env, sequence: { groupOrder: 2 } },
      },
    ],
  },
});
