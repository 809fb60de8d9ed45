import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { stringify } from 'yaml';
import { cacheFolder } from './temporal-download.js';
import { freePorts } from './ports.js';
import { SupervisedChild } from './supervised-child.js';

const run = promisify(execFile);

/** `PROMTOOL` names another path to promtool, and Prometheus is beside it. */
export const PROMTOOL = process.env['PROMTOOL'] ?? 'promtool';
const PROMETHEUS = PROMTOOL.includes('/') ? join(dirname(PROMTOOL), 'prometheus') : 'prometheus';

const READY_WITHIN_MS = 30_000;

/** What Prometheus scrapes: the name of a job, its targets `host:port`, and a bearer token. */
type ScrapeJob = { readonly job: string; readonly targets: readonly string[]; readonly key?: string };

export type PrometheusOptions = {
  /** The path of the program. Default: the installed one. */
  readonly program?: string;
  readonly jobs: readonly ScrapeJob[];
  /** The content of a file of rules, which are evaluated as often as the jobs are scraped. */
  readonly rules?: string;
  /** Seconds between two scrapes. Default 2. */
  readonly everySeconds?: number;
};

/** A series of an answer, and its newest value. */
export type Series = { readonly metric: Readonly<Record<string, string>>; readonly value: number };

/**
 * The path of a Prometheus: the one that is installed, or the distribution's package, which is downloaded once.
 * @returns null where neither can be had
 */
export async function findPrometheus(): Promise<string | null> {
  if (await starts(PROMETHEUS)) return PROMETHEUS;
  const programs = join(cacheFolder(process.env), 'prometheus/usr/bin');
  const program = join(programs, 'prometheus');
  if (await starts(program)) return program;
  await mkdir(programs, { recursive: true });
  // Several processes may download it at once.
  const work = await mkdtemp(join(programs, 'download-'));
  try {
    await run('apt-get', ['download', 'prometheus'], { cwd: work, timeout: 120_000 });
    await run('sh', ['-c', 'dpkg -x prometheus_*.deb .'], { cwd: work });
    for (const name of ['prometheus', 'promtool']) await rename(join(work, 'usr/bin', name), join(programs, name));
    return program;
  } catch {
    return null;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

function starts(program: string): Promise<boolean> {
  return run(program, ['--version']).then(
    () => true,
    () => false,
  );
}

/** A real Prometheus. */
export class PrometheusServer {
  private constructor(
    private readonly url: string,
    private readonly child: SupervisedChild,
    private readonly folder: string,
  ) {}

  /** @throws {Error} with the last output, when it does not start. */
  static async start({
    program = PROMETHEUS,
    jobs,
    rules,
    everySeconds = 2,
  }: PrometheusOptions): Promise<PrometheusServer> {
    const folder = await mkdtemp(join(tmpdir(), 'tillflow-prometheus-'));
    const config = join(folder, 'prometheus.yml');
    const every = `${everySeconds}s`;
    const scrape_configs = jobs.map(({ job, targets, key }) => ({
      job_name: job,
      static_configs: [{ targets }],
      ...(key === undefined ? {} : { authorization: { type: 'Bearer', credentials: key } }),
    }));
    await writeFile(join(folder, 'rules.yml'), rules ?? stringify({ groups: [] }));
    const global = { scrape_interval: every, scrape_timeout: every, evaluation_interval: every };
    await writeFile(config, stringify({ global, rule_files: ['rules.yml'], scrape_configs }));
    const [port = 0] = await freePorts(1);
    const address = `127.0.0.1:${port}`;
    const data = `--storage.tsdb.path=${join(folder, 'data')}`;
    const child = new SupervisedChild(program, [`--config.file=${config}`, data, `--web.listen-address=${address}`]);
    await child.waitForLine(/ready to receive web requests/i, READY_WITHIN_MS);
    return new PrometheusServer(`http://${address}`, child, folder);
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
