import { ConfiguredKeys } from '@tillflow/temporal';
import { expect, it } from 'vitest';
import { Settings } from '../providers.js';
import type { ApiSettings } from '../settings.js';
import { Metrics } from './metrics.js';

it('the request metric has one label value for all unknown methods and routes', async () => {
  const keys = new ConfiguredKeys({ API_KEYS: [], PROVIDER_SECRET_KEY: '' }, console);
  const metrics = new Metrics(new Settings({ TEMPORAL_TASK_QUEUE: 'tillflow' } as ApiSettings), keys);
  try {
    for (const method of ['PROPFIND', 'MKCOL', 'TRACE']) metrics.answered(method, undefined, 405, 1);
    metrics.answered('GET', '/v1/checkouts', 200, 1);
    const text = await metrics.registry.metrics();
    const series = [...text.matchAll(/^tillflow_http_request_duration_seconds_count\{(.*)\}/gm)].map(
      ([, labels]) => labels,
    );
    expect(series).toEqual([
      'account="default",method="other",route="other",status="405"',
      'account="default",method="GET",route="/v1/checkouts",status="200"',
    ]);
  } finally {
    metrics.onApplicationShutdown();
  }
});
