import { expect, it } from 'vitest';
import { Metrics } from './metrics.js';

it('the request metric has one label value for all unknown methods and routes', async () => {
  const metrics = new Metrics();
  try {
    for (const method of ['PROPFIND', 'MKCOL', 'TRACE']) metrics.answered(method, undefined, 405, 1);
    metrics.answered('GET', '/v1/checkouts', 200, 1);
    const text = await metrics.registry.metrics();
    const series = [...text.matchAll(/^tillflow_http_request_duration_seconds_count\{(.*)\}/gm)].map(
      ([, labels]) => labels,
    );
    expect(series).toEqual([
      'method="other",route="other",status="405"',
      'method="GET",route="/v1/checkouts",status="200"',
    ]);
  } finally {
    metrics.onApplicationShutdown();
  }
});
