import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { cacheFolder, freePorts, hashOf, SupervisedChild } from '@tillflow/tools';
import { Database } from '@tillflow/tools/postgres';
import { strFromU8, unzipSync } from 'fflate';
import { Pool } from 'undici';
import type { Variant } from './checkout/variants.js';
import { addUsage, usageOfFamily, usageOfProcess } from './processes.js';
import { print } from './report.js';
import type { UsageOfParts } from './stack.js';

const run = promisify(execFile);

const REGISTRY = 'https://repo1.maven.org/maven2/';
/** The newest war that the registry has, from 2021. */
const WAR = {
  path: 'org/kill-bill/billing/killbill-profiles-killbill/0.22.26/killbill-profiles-killbill-0.22.26.war',
  sha256: '3a777ea29916900a62f5450f0805d33dbb8086bd33f2babad4fb7be2ef48917b',
};
const JETTY = {
  path: 'org/eclipse/jetty/jetty-runner/9.4.57.v20241219/jetty-runner-9.4.57.v20241219.jar',
  sha256: 'f63fbee00a06f04a3f715267d5d53ba4389b5b3e9ecc6168d8b73d81243a883f',
};
/** Its plugin framework reaches into these packages of Java, which newer versions of Java close. */
const PROTOCOLS = ['file', 'ftp', 'http', 'https', 'jar'].map((name) => `sun.net.www.protocol.${name}`);
const LANGUAGE = ['io', 'lang', 'lang.reflect', 'net', 'security', 'text', 'util'].map((name) => `java.${name}`);
const OPENED = ['sun.net.www', ...PROTOCOLS, ...LANGUAGE];
const READY_WITHIN_MS = 180_000;
const BETWEEN_TRIES_MS = 500;
const CONNECTIONS = 100;
const HEADERS = {
  authorization: `Basic ${Buffer.from('admin:password').toString('base64')}`,
  'content-type': 'application/json',
  accept: 'application/json',
  'x-killbill-createdby': 'bench',
  'x-killbill-apikey': 'bench',
  'x-killbill-apisecret': 'bench',
};

/**
 * Kill Bill, an open-source payment system, on a PostgreSQL of its own. Each caller has an account there with the payment method
 * "external payment". One operation is a purchase, and a read that shows it.
 */
export class KillBill {
  private constructor(
    private readonly database: Database,
    private readonly java: SupervisedChild,
    private readonly pool: Pool,
    private readonly folder: string,
  ) {}

  /** @returns null where there is no Java. @throws {NotAvailableError} without PostgreSQL; Error when a download fails */
  static async start(): Promise<KillBill | null> {
    const hasJava = await run('java', ['-version']).then(
      () => true,
      () => false,
    );
    if (!hasJava) return null;
    const [war, jetty] = [await downloaded(WAR), await downloaded(JETTY)];
    const folder = await mkdtemp(join(tmpdir(), 'tillflow-kill-bill-'));
    const database = await Database.start({ maxConnections: CONNECTIONS, env: process.env, log: print });
    const schema = join(folder, 'schema.sql');
    await writeFile(schema, schemaIn(await readFile(war)));
    await database.execute(schema);
    const [port = 0] = await freePorts(1);
    const java = startJava({ war, jetty, port, folder, database });
    const pool = new Pool(`http://127.0.0.1:${port}`, { connections: 200 });
    const killBill = new KillBill(database, java, pool, folder);
    try {
      await killBill.#untilReady();
      await killBill.#request('POST', '/1.0/kb/tenants', { apiKey: 'bench', apiSecret: 'bench' });
    } catch (error) {
      await killBill.stop();
      throw error;
    }
    return killBill;
  }

  /** A purchase that is read again. The accounts of the callers are made first. */
  async variant(callers: number): Promise<Variant> {
    const free: string[] = [];
    for (let count = 0; count < callers; count += 1) free.push(await this.#account());
    return {
      name: 'kill bill',
      leavesOpen: false,
      once: async () => {
        const account = free.pop() ?? '';
        const beganAt = performance.now();
        const purchase = {
          transactionType: 'PURCHASE',
          amount: 1_500,
          currency: 'THB',
          transactionExternalKey: randomUUID(),
        };
        const { location } = await this.#request('POST', `${account}/payments`, purchase);
        const answeredMs = performance.now() - beganAt;
        const { body } = await this.#request('GET', new URL(location).pathname);
        if (!body.includes('"SUCCESS"')) throw new Error(`The payment is not there: ${body}`);
        free.push(account);
        return { answeredMs, totalMs: performance.now() - beganAt, workflowId: null };
      },
    };
  }

  async usage(): Promise<UsageOfParts> {
    const { user, system } = process.cpuUsage();
    const none = addUsage([]);
    return {
      server: await usageOfProcess(await this.java.pid),
      database: await usageOfFamily(await this.database.pid),
      worker: none,
      api: none,
      sandbox: none,
      baseline: none,
      load: { cpuSeconds: (user + system) / 1e6, rssBytes: process.memoryUsage.rss() },
    };
  }

  async stop(): Promise<void> {
    await this.pool.close();
    await this.java.stop();
    await this.database.stop();
    await rm(this.folder, { recursive: true, force: true });
  }

  async #untilReady(): Promise<void> {
    const ended = this.java.exited.then(() => true);
    const deadline = performance.now() + READY_WITHIN_MS;
    for (;;) {
      const isReady = await this.#request('GET', '/1.0/healthcheck').then(
        () => true,
        () => false,
      );
      if (isReady) return;
      const hasEnded = await Promise.race([ended, sleep(BETWEEN_TRIES_MS, false)]);
      if (hasEnded || performance.now() > deadline) throw new Error(`Kill Bill does not start:\n${this.java.tail()}`);
    }
  }

  /** @returns the path of a new account */
  async #account(): Promise<string> {
    const { location } = await this.#request('POST', '/1.0/kb/accounts', { name: randomUUID(), currency: 'THB' });
    const path = new URL(location).pathname.replace(/\/$/, '');
    const method = { pluginName: '__EXTERNAL_PAYMENT__', pluginInfo: {} };
    await this.#request('POST', `${path}/paymentMethods?isDefault=true`, method);
    return path;
  }

  /** @throws {Error} with the answer, unless its status is 2xx */
  async #request(method: 'GET' | 'POST', path: string, body?: object): Promise<{ location: string; body: string }> {
    const answer = await this.pool.request({
      method,
      path,
      headers: HEADERS,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.body.text();
    if (answer.statusCode >= 300) throw new Error(`${method} ${path}: ${answer.statusCode} ${text}`);
    return { location: String(answer.headers['location'] ?? ''), body: text };
  }
}

type Start = {
  readonly war: string;
  readonly jetty: string;
  readonly port: number;
  readonly folder: string;
  readonly database: Database;
};

function startJava({ war, jetty, port, folder, database }: Start): SupervisedChild {
  const url = `jdbc:postgresql://127.0.0.1:${database.port}/postgres`;
  const settings = Object.entries({
    'java.io.tmpdir': folder,
    'org.killbill.dao.url': url,
    'org.killbill.dao.user': database.user,
    'org.killbill.dao.password': database.password,
    'org.killbill.billing.osgi.dao.url': url,
    'org.killbill.billing.osgi.dao.user': database.user,
    'org.killbill.billing.osgi.dao.password': database.password,
    'org.killbill.osgi.bundle.install.dir': join(folder, 'bundles'),
    'org.killbill.server.updateCheck.skip': 'true',
  }).map(([name, value]) => `-D${name}=${value}`);
  const opened = OPENED.flatMap((name) => ['--add-opens', `java.base/${name}=ALL-UNNAMED`]);
  return new SupervisedChild('java', ['-Xmx1g', ...opened, ...settings, '-jar', jetty, '--port', String(port), war], {
    cwd: folder,
  });
}

/** The definitions of its tables. Each of its libraries has its own, and the one for PostgreSQL comes first. */
function schemaIn(war: Uint8Array): string {
  const libraries = unzipSync(war, { filter: ({ name }) => /^WEB-INF\/lib\/killbill-.*\.jar$/.test(name) });
  const files = Object.values(libraries).flatMap((library) =>
    Object.entries(unzipSync(library, { filter: ({ name }) => /\/ddl(-postgresql)?\.sql$/.test(name) })),
  );
  const isFirst = ([name]: readonly [string, Uint8Array]): boolean => name.endsWith('-postgresql.sql');
  return [...files.filter(isFirst), ...files.filter((file) => !isFirst(file))]
    .map(([, content]) => strFromU8(content))
    .join('\n');
}

/** A file of the registry, which is downloaded once. @throws {Error} when its content is another */
async function downloaded({ path, sha256 }: { readonly path: string; readonly sha256: string }): Promise<string> {
  const file = join(cacheFolder(process.env), basename(path));
  if ((await hashOf(file).catch(() => null)) === sha256) return file;
  print(`Downloading ${basename(path)}`);
  const { ok, status, body } = await fetch(`${REGISTRY}${path}`);
  if (!ok || body === null) throw new Error(`${basename(path)} cannot be downloaded: ${status}`);
  await mkdir(cacheFolder(process.env), { recursive: true });
  const part = `${file}.${process.pid}`;
  await pipeline(Readable.fromWeb(body), createWriteStream(part));
  const found = await hashOf(part);
  if (found !== sha256) throw new Error(`${basename(path)} is refused: its SHA-256 is ${found}`);
  await rename(part, file);
  return file;
}
