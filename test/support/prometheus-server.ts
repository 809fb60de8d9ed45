import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { freePorts, SupervisedChild } from '@tillflow/tools';
import { stringify } from 'yaml';
import { eventually } from './eventually.js';

/** `PROMTOOL` names another path to promtool, and Prometheus is beside it. */
export const PROMTOOL = process.env['PROMTOOL'] ?? 'promtool';
export const PROMETHEUS = PROMTOOL.includes('/') ? join(dirname(PROMTOOL), 'prometheus') : 'prometheus';

/** What Prometheus scrapes: the name of a job, its target `host:port`, and a bearer token. */
export type ScrapeJob = { readonly job: string; readonly target: string; readonly key?: string };

/** A series of an answer, and its newest value. */
export type Series = { readonly metric: Readonly<Record<string, string>>; readonly value: number };

/** A real Prometheus, which scrapes every two seconds. */
export class PrometheusServer {
  private constructor(
    private readonly url: string,
    private readonly child: SupervisedChild,
    private readonly folder: string,
  ) {}

  static async start(jobs: readonly ScrapeJob[]): Promise<PrometheusServer> {
    const folder = await mkdtemp(join(tmpdir(), 'tillflow-prometheus-'));
    const config = join(folder, 'prometheus.yml');
    const scrape_configs = jobs.map(({ job, target, key }) => ({
      job_name: job,
      static_configs: [{ targets: [target] }],
      ...(key === undefined ? {} : { authorization: { type: 'Bearer', credentials: key } }),
    }));
    await writeFile(config, stringify({ global: { scrape_interval: '2s', scrape_timeout: '2s' }, scrape_configs }));
    const [port = 0] = await freePorts(1);
    const address = `127.0.0.1:${port}`;
    const data = `--storage.tsdb.path=${join(folder, 'data')}`;
    const child = new SupervisedChild(PROMETHEUS, [`--config.file=${config}`, data, `--web.listen-address=${address}`]);
    const server = new PrometheusServer(`http://${address}`, child, folder);
    await eventually(async () => {
      if (!(await fetch(`${server.url}/-/ready`)).ok) throw new Error('Prometheus is not ready');
    });
    return server;
  }

  /** @throws when Prometheus refuses the expression */
  async query(expression: string): Promise<Series[]> {
    const response = await fetch(`${this.url}/api/v1/query?query=${encodeURIComponent(expression)}`);
    const body = (await response.json()) as {
      readonly error?: string;
      readonly data?: { readonly result: readonly { metric: Record<string, string>; value: [number, string] }[] };
    };
    if (body.data === undefined) throw new Error(`${body.error}: ${expression}`);
    return body.data.result.map(({ metric, value }) => ({ metric, value: Number(value[1]) }));
  }

  async stop(): Promise<void> {
    await this.child.stop();
    await rm(this.folder, { recursive: true, force: true });
  }
}
