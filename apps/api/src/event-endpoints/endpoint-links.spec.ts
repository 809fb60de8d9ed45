import 'reflect-metadata';
import { pino } from 'pino';
import { expect, it, vi } from 'vitest';
import { Settings } from '../providers.js';
import type { ApiSettings } from '../settings.js';
import type { TemporalAccess } from '../temporal/temporal.provider.js';
import { EndpointLinks } from './endpoint-links.js';

it('the stop of an API does not wait for a Temporal that does not answer', async () => {
  const listWorkflowExecutions = vi.fn<() => Promise<never>>(() => new Promise(() => {}));
  const temporal = {
    client: { options: { namespace: 'default' }, workflowService: { listWorkflowExecutions } },
    connection: { withDeadline: <T>(_deadline: number, work: () => T): T => work() },
  } as unknown as TemporalAccess;
  const settings = new Settings({ PROVIDER_SECRET_KEY: 'skey_test_a', TEMPORAL_TASK_QUEUE: 'a' } as ApiSettings);
  // Time stands still: the call never ends.
  vi.useFakeTimers();
  try {
    const links = new EndpointLinks(temporal, settings, pino({ enabled: false }));
    links.replaceAll();
    expect(listWorkflowExecutions).toHaveBeenCalledTimes(1);
    const stopped = await Promise.race([
      Promise.resolve(links.onApplicationShutdown()).then(() => 'stopped'),
      vi.advanceTimersByTimeAsync(1_000).then(() => 'waits'),
    ]);
    expect(stopped).toBe('stopped');
  } finally {
    vi.useRealTimers();
  }
});
