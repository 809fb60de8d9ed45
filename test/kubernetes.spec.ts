import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { BlockList } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { API_SETTINGS, apiSettings, UPLOAD_WITHIN_MS } from '@tillflow/api';
import { run } from '@tillflow/cli';
import { SettingsError } from '@tillflow/temporal';
import { kustomize, OVERLAYS, render, withBacklog } from '@tillflow/tools';
import { serveHealth, WORKER_SETTINGS, workerSettings } from '@tillflow/worker';
import { Registry } from 'prom-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const MANIFESTS = join(ROOT, 'deploy/kubernetes');
const VERSION = (JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as { version: string }).version;

type Labels = Readonly<Record<string, string>>;
type Probe = { httpGet: { path: string; port: string }; timeoutSeconds?: number };
type Variable = {
  name: string;
  value?: string;
  valueFrom?: {
    secretKeyRef?: { name: string; key: string; optional?: boolean };
    fieldRef?: { fieldPath: string };
  };
};
type Container = {
  name: string;
  image: string;
  command?: string[];
  args?: string[];
  ports?: { name: string; containerPort: number }[];
  env: Variable[];
  envFrom: { configMapRef: { name: string } }[];
  startupProbe?: Probe;
  livenessProbe?: Probe;
  readinessProbe?: Probe;
  lifecycle?: { preStop: { sleep: { seconds: number } } };
  resources: { requests: Labels; limits: Labels };
  securityContext: object;
  volumeMounts: { name: string; mountPath: string; readOnly?: boolean; subPath?: string }[];
};
type Pod = {
  automountServiceAccountToken: boolean;
  enableServiceLinks: boolean;
  terminationGracePeriodSeconds?: number;
  securityContext: { runAsUser: number; runAsGroup: number; fsGroup: number };
  containers: [Container];
  volumes: { name: string; emptyDir?: object; secret?: { secretName: string } }[];
};
type Peer = {
  namespaceSelector?: { matchLabels: Labels };
  podSelector?: object;
  ipBlock?: { cidr: string; except?: string[] };
};
type Rule = { from?: Peer[]; to?: Peer[]; ports: { protocol: string; port: number | string }[] };
type Selector = {
  matchLabels?: Labels;
  matchExpressions?: { key: string; operator: string; values: string[] }[];
};
type Spec = {
  replicas?: number;
  selector?: Selector;
  template: { metadata: { labels: Labels }; spec: Pod };
  podSelector: Selector;
  policyTypes: string[];
  ingress?: Rule[];
  egress?: Rule[];
  scaleTargetRef: { kind?: string; name: string };
  minReplicas: number;
  maxReplicas: number;
  minReplicaCount: number;
  maxReplicaCount: number;
  ports: { targetPort: string }[];
  triggers: { type: string; metadata: Labels }[];
};
type Manifest = {
  kind: string;
  metadata: { name: string; namespace?: string; labels: Labels };
  spec: Spec;
  data?: Labels;
};

/** YAML 1.1 is what Kubernetes reads. */
const documents = (text: string): Manifest[] =>
  parseAllDocuments(text, { version: '1.1' }).map((document) => document.toJS() as Manifest);

async function manifestsIn(folder: string): Promise<Manifest[]> {
  const names = (await readdir(join(MANIFESTS, folder))).filter((name) => name !== 'kustomization.yaml');
  const texts = await Promise.all(names.map((name) => readFile(join(MANIFESTS, folder, name), 'utf8')));
  return texts.flatMap(documents);
}

/** As `kustomize` reads it. */
function settingsIn(text: string): Labels {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]));
}

const plain = [...(await manifestsIn('base')), ...(await manifestsIn('build'))];
const settings = new Map<string, Labels>();
/** With those that are commented out. */
const possibleSettings = new Map<string, Labels>();
for (const overlay of OVERLAYS) {
  const text = await readFile(join(MANIFESTS, 'overlays', overlay, 'settings.env'), 'utf8');
  settings.set(overlay, settingsIn(text));
  possibleSettings.set(overlay, settingsIn(text.replaceAll(/^# (?=[A-Z_]+=)/gm, '')));
}

const COMPONENT = 'app.kubernetes.io/component';
const BUILD = 'app.kubernetes.io/version';
const componentOf = ({ metadata }: Manifest): string => metadata.labels[COMPONENT] ?? '';
const isWorkload = ({ kind }: Manifest): boolean => kind === 'Deployment' || kind === 'Job';
const workloads = new Map(plain.filter(isWorkload).map((one) => [componentOf(one), one]));
const podOf = (component: string): Pod => {
  const found = workloads.get(component);
  if (found === undefined) throw new Error(`no workload is the component ${component}`);
  return found.spec.template.spec;
};
const containerOf = (component: string): Container => podOf(component).containers[0];
const portOf = (component: string, name: string): number | undefined =>
  containerOf(component).ports?.find((port) => port.name === name)?.containerPort;
const ofKind = (kind: string, all: readonly Manifest[] = plain): Manifest[] => all.filter((one) => one.kind === kind);

const PROGRAMS = ['api', 'worker', 'cli', 'setup'];
const READ: ReadonlySet<string> = new Set([...API_SETTINGS, ...WORKER_SETTINGS]);
const OWN: Readonly<Record<string, ReadonlySet<string>>> = {
  api: new Set(API_SETTINGS),
  worker: new Set(WORKER_SETTINGS),
  // The command line has the settings of both.
  cli: new Set([...READ, 'PROVIDER_PUBLIC_KEY']),
  setup: new Set(WORKER_SETTINGS),
};

/** Of each Secret, the keys that docs/kubernetes.md creates, with values of the right form. */
const SECRETS: Readonly<Record<string, Labels>> = {
  tillflow: {
    PROVIDER_SECRET_KEY: 'skey_test_kubernetes',
    PROVIDER_PUBLIC_KEY: 'pkey_test_kubernetes',
    PROVIDER_WEBHOOK_SECRET: 'YSBzZWNyZXQ=',
    URL_SIGNING_KEY: 'u'.repeat(32),
    PAYLOAD_KEYS: `k1:${Buffer.alloc(32).toString('base64')}`,
    TEMPORAL_API_KEY: 'key',
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20key',
  },
};

/** The environment of a container, where the optional secrets do not exist. */
function environmentOf(component: string, overlay: string): Record<string, string> {
  const { env } = containerOf(component);
  const own = env.flatMap(({ name, value, valueFrom }) => {
    const secret = valueFrom?.secretKeyRef;
    if (secret?.optional === true) return [];
    if (secret !== undefined) return [[name, SECRETS[secret.name]?.[secret.key] ?? '']];
    return [[name, valueFrom?.fieldRef === undefined ? (value ?? '') : VERSION]];
  });
  return { ...settings.get(overlay), ...(Object.fromEntries(own) as Labels) };
}

function problemsOf(read: () => unknown): readonly string[] {
  try {
    read();
    return [];
  } catch (error) {
    if (error instanceof SettingsError) return error.problems;
    throw error;
  }
}

const openapi = JSON.parse(await readFile(join(ROOT, 'docs/openapi.json'), 'utf8')) as {
  paths: Record<string, Record<string, { responses: Record<string, unknown> }>>;
};

it('pnpm kubernetes checks both overlays of the project', async () => {
  expect(await readdir(join(MANIFESTS, 'overlays'))).toEqual(expect.arrayContaining([...OVERLAYS]));
});

describe.each(OVERLAYS)('the settings of %s', (overlay) => {
  it.each(PROGRAMS)('%s reads each setting that its container has of its own', (component) => {
    const names = containerOf(component).env.map(({ name }) => name);
    for (const name of names) expect(OWN[component]).toContain(name);
    // One of both would win without a word.
    for (const name of names) expect(Object.keys(settings.get(overlay) ?? {})).not.toContain(name);
  });

  it('a program reads each setting of settings.env, and .env.example lists it', async () => {
    const example = await readFile(join(ROOT, '.env.example'), 'utf8');
    for (const name of Object.keys(settings.get(overlay) ?? {})) {
      expect(READ).toContain(name);
      expect(example).toMatch(new RegExp(`^${name}=`, 'm'));
    }
  });

  it.each([
    ['api', apiSettings],
    ['worker', workerSettings],
  ] as const)('the %s accepts them, and has each that it requires', (component, read) => {
    const environment = environmentOf(component, overlay);
    expect(problemsOf(() => read(environment))).toEqual([]);
    const required = problemsOf(() => read({})).map((problem) => problem.split(':', 1)[0] ?? '');
    expect(required.length).toBeGreaterThan(1);
    // Either of the two is enough.
    for (const name of required) expect(environment).toHaveProperty(name === 'API_KEYS' ? 'KEYS_FILE' : name);
  });

  it('setup accepts them, and then looks for Temporal', async () => {
    const { args = [] } = containerOf('setup');
    // Without the file, which is in no Secret here.
    const environment = { ...environmentOf('setup', overlay), ACCOUNTS_FILE: '', TEMPORAL_ADDRESS: '127.0.0.1:1' };
    const wait = args.indexOf('--wait') + 1;
    expect(Number(args[wait])).toBeGreaterThan(0);
    const outcome = await run(
      args.map((arg, at) => (at === wait ? '0' : arg)),
      environment,
    );
    expect({ exit: outcome.exit, err: outcome.err }).toEqual({ exit: 3, err: expect.stringContaining('127.0.0.1:1') });
  });

  it('setup, API, worker and command line know the same accounts, keys and encryption', () => {
    const shared = ['PAYLOAD_KEYS', 'PROVIDER_SECRET_KEY', 'TEMPORAL_API_KEY'];
    for (const component of PROGRAMS) {
      const names = containerOf(component).env.map(({ name }) => name);
      expect(names).toEqual(expect.arrayContaining(shared));
      expect(containerOf(component).envFrom).toEqual([{ configMapRef: { name: 'tillflow-settings' } }]);
    }
    const cli = containerOf('cli').env.map(({ name }) => name);
    for (const component of ['api', 'worker']) {
      const secrets = containerOf(component).env.filter(({ valueFrom }) => valueFrom?.secretKeyRef !== undefined);
      // The command line makes no spans.
      for (const { name } of secrets) if (!name.startsWith('OTEL_')) expect(cli).toContain(name);
    }
  });

  it('each file that they name is in the folder of a Secret, which every program has', () => {
    const paths = Object.entries(possibleSettings.get(overlay) ?? {}).filter(([name]) => /_(FILE|PATH)$/.test(name));
    expect(paths.map(([name]) => name)).toEqual(
      expect.arrayContaining(['KEYS_FILE', 'TEMPORAL_TLS_CERT_PATH', 'TEMPORAL_TLS_KEY_PATH']),
    );
    if (overlay === 'several-accounts') expect(paths.map(([name]) => name)).toContain('ACCOUNTS_FILE');
    for (const [name, path] of paths) {
      for (const component of PROGRAMS) {
        const mount = containerOf(component).volumeMounts.find(({ mountPath }) => path.startsWith(`${mountPath}/`));
        expect(mount).toMatchObject({ readOnly: true });
        // With subPath, the container would keep the file that it started with.
        expect(mount).not.toHaveProperty('subPath');
        const volume = podOf(component).volumes.find((one) => one.name === mount?.name);
        const secret = name.startsWith('TEMPORAL_TLS_') ? 'tillflow-temporal-tls' : 'tillflow-files';
        expect(volume?.secret?.secretName).toBe(secret);
      }
    }
  });

  it('the limit of provider calls holds while two builds have as many workers as their autoscalers allow', () => {
    const { PROVIDER_PROCESSES = '' } = settings.get(overlay) ?? {};
    const autoscaler = ofKind('HorizontalPodAutoscaler').find((one) => componentOf(one) === 'worker');
    expect(Number(PROVIDER_PROCESSES)).toBe(2 * (autoscaler?.spec.maxReplicas ?? 0));
  });
});

describe('secrets', () => {
  const SECRET = /KEY|SECRET|PASSWORD|TOKEN|HEADERS/;

  it('are in no file of the project', () => {
    expect(ofKind('Secret')).toEqual([]);
    for (const values of settings.values()) {
      for (const name of Object.keys(values)) if (name !== 'KEYS_FILE') expect(name).not.toMatch(SECRET);
    }
    for (const component of PROGRAMS) {
      for (const { name, value } of containerOf(component).env)
        if (value !== undefined) expect(name).not.toMatch(SECRET);
    }
  });

  it('come from the Secret that docs/kubernetes.md creates, each by its own name', async () => {
    const handbook = await readFile(join(ROOT, 'docs/kubernetes.md'), 'utf8');
    for (const component of PROGRAMS) {
      for (const { name, valueFrom } of containerOf(component).env) {
        const secret = valueFrom?.secretKeyRef;
        if (secret === undefined) continue;
        expect(secret).toMatchObject({ name: 'tillflow', key: name });
        expect(SECRETS['tillflow']).toHaveProperty(name);
        expect(handbook).toContain(name);
      }
      for (const { secret } of podOf(component).volumes) if (secret) expect(handbook).toContain(secret.secretName);
    }
  });

  it('reach only the programs that read them', () => {
    for (const component of PROGRAMS) {
      for (const { name, valueFrom } of containerOf(component).env) {
        if (valueFrom?.secretKeyRef !== undefined) expect(OWN[component]).toContain(name);
      }
    }
    expect(containerOf('worker').env.map(({ name }) => name)).not.toContain('URL_SIGNING_KEY');
  });
});

describe('a container', async () => {
  const dockerfile = await readFile(join(ROOT, 'Dockerfile'), 'utf8');
  const targets = Array.from(dockerfile.matchAll(/^FROM \S+ AS (\S+)$/gm), ([, name = '']) => name);

  it.each(PROGRAMS)('of %s runs an image of the Dockerfile', (component) => {
    const [, target = ''] = /^tillflow\/(\w+)$/.exec(containerOf(component).image) ?? [];
    expect(targets).toContain(target);
    expect(target).toBe(component === 'setup' ? 'cli' : component);
  });

  it.each(PROGRAMS)('of %s is one that the pod security standard "restricted" accepts', (component) => {
    const { securityContext, ...pod } = podOf(component);
    expect(securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
    // The image names its user, and Kubernetes accepts only a number as not root.
    expect(dockerfile).toMatch(/^USER node$/m);
    expect(securityContext.runAsUser).toBe(1000);
    expect(containerOf(component).securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
    expect(pod).toMatchObject({ automountServiceAccountToken: false, enableServiceLinks: false });
    // No folder of the node.
    for (const { name: _, ...source } of pod.volumes) expect(Object.keys(source).join()).toMatch(/^(emptyDir|secret)$/);
    // It can read its secrets, whose group is fsGroup.
    expect(securityContext.fsGroup).toBe(securityContext.runAsGroup);
  });

  it('runs in a namespace that enforces the standard', () => {
    const [namespace] = ofKind('Namespace');
    for (const mode of ['enforce', 'audit', 'warn'])
      expect(namespace?.metadata.labels).toHaveProperty([`pod-security.kubernetes.io/${mode}`], 'restricted');
  });

  it.each(PROGRAMS)('of %s may write only to its temporary folder', (component) => {
    const writable = containerOf(component).volumeMounts.filter(({ readOnly }) => readOnly !== true);
    expect(writable.map(({ mountPath }) => mountPath)).toEqual(['/tmp']);
    const volume = podOf(component).volumes.find(({ name }) => name === writable[0]?.name);
    expect(volume?.emptyDir).toHaveProperty('sizeLimit');
  });

  it.each(PROGRAMS)('of %s asks for CPU and memory, and has a limit of memory', (component) => {
    const { requests, limits } = containerOf(component).resources;
    expect(Object.keys(requests).toSorted()).toEqual(['cpu', 'memory']);
    expect(Object.keys(limits)).toEqual(['memory']);
  });

  it('of the command line has its program where docs/kubernetes.md calls it', async () => {
    const handbook = await readFile(join(ROOT, 'docs/kubernetes.md'), 'utf8');
    const entry = /^ENTRYPOINT \["node", "([^"]+)"\]$/m.exec(dockerfile)?.[1] ?? '';
    expect(handbook).toContain(`exec deploy/${workloads.get('cli')?.metadata.name} -- node ${entry} `);
  });
});

describe('ports', () => {
  it.each(OVERLAYS)('are those that the API listens on (%s)', (overlay) => {
    const { HOST, PORT } = apiSettings(environmentOf('api', overlay));
    expect({ HOST, PORT }).toEqual({ HOST: '0.0.0.0', PORT: portOf('api', 'http') });
  });

  it.each(OVERLAYS)('are those that the worker listens on (%s)', (overlay) => {
    const { WORKER_HOST, WORKER_HEALTH_PORT, WORKER_SDK_METRICS_PORT } = workerSettings(
      environmentOf('worker', overlay),
    );
    expect(WORKER_HOST).toBe('0.0.0.0');
    expect(WORKER_HEALTH_PORT).toBe(portOf('worker', 'health'));
    expect(WORKER_SDK_METRICS_PORT).toBe(portOf('worker', 'sdk-metrics'));
    expect(WORKER_SDK_METRICS_PORT).not.toBe(WORKER_HEALTH_PORT);
  });

  it('the service leads to the port of the API', () => {
    const [service] = ofKind('Service');
    const selector = service?.spec.selector as Labels;
    expect(workloads.get('api')?.spec.template.metadata.labels).toMatchObject(selector);
    for (const { targetPort } of service?.spec.ports ?? []) expect(portOf('api', targetPort)).toBeDefined();
  });
});

describe('a probe', () => {
  const probes = ['api', 'worker'].flatMap((component) => {
    const { startupProbe, livenessProbe, readinessProbe } = containerOf(component);
    return Object.entries({ startupProbe, livenessProbe, readinessProbe }).map(
      ([kind, probe]) => [component, kind, probe as Probe] as const,
    );
  });

  it.each(probes)('of the %s (%s) asks the port of its health', (component, _, { httpGet }) => {
    expect(httpGet.port).toBe(component === 'api' ? 'http' : 'health');
    expect(portOf(component, httpGet.port)).toBeDefined();
  });

  it.each(probes.filter(([component]) => component === 'api'))(
    'of the %s (%s) asks an address of the API, which says 503 without Temporal only for readiness',
    (_, kind, { httpGet }) => {
      const answers = Object.keys(openapi.paths[httpGet.path]?.['get']?.responses ?? {});
      expect(answers).toContain('200');
      expect(answers.includes('503')).toBe(kind === 'readinessProbe');
    },
  );

  describe('of the worker', () => {
    let status: 'ok' | 'temporal_unreachable' = 'ok';
    let health: { readonly url: string; close(): void };
    beforeAll(async () => {
      const state = () => Promise.resolve({ status, clock: null });
      health = await serveHealth('127.0.0.1', 0, { state, registry: new Registry() });
    });
    afterAll(() => health.close());

    it.each(probes.filter(([component]) => component === 'worker'))(
      '(%s, %s) gets 200, and 503 without Temporal only for readiness',
      async (_, kind, { httpGet }) => {
        const answer = async (): Promise<number> => (await fetch(health.url + httpGet.path)).status;
        status = 'ok';
        expect(await answer()).toBe(200);
        status = 'temporal_unreachable';
        expect(await answer()).toBe(kind === 'readinessProbe' ? 503 : 200);
      },
    );

    it('and Prometheus read from the same port', async () => {
      expect((await fetch(`${health.url}/metrics`)).status).toBe(200);
    });
  });

  it.each(probes.filter(([, kind]) => kind === 'readinessProbe'))(
    'of the %s (%s) waits longer than the program waits for Temporal, which is 1 s',
    (_, __, { timeoutSeconds = 1 }) => expect(timeoutSeconds).toBeGreaterThan(1),
  );
});

describe('a pod that ends', () => {
  it.each(OVERLAYS)('lets the API finish its longest request (%s)', (overlay) => {
    const { ANSWER_WITHIN_MS, REQUEST_TIMEOUT_MS } = apiSettings(environmentOf('api', overlay));
    const preStop = containerOf('api').lifecycle?.preStop.sleep.seconds ?? 0;
    // The proxies learn meanwhile that the pod leaves.
    expect(preStop).toBeGreaterThanOrEqual(5);
    const longest = preStop + (UPLOAD_WITHIN_MS + ANSWER_WITHIN_MS + REQUEST_TIMEOUT_MS) / 1_000;
    expect(podOf('api').terminationGracePeriodSeconds).toBeGreaterThan(longest);
  });

  it.each(OVERLAYS)('lets the worker finish its calls, and close its connections within 10 s (%s)', (overlay) => {
    const { SHUTDOWN_GRACE_MS } = workerSettings(environmentOf('worker', overlay));
    expect(podOf('worker').terminationGracePeriodSeconds).toBeGreaterThanOrEqual(SHUTDOWN_GRACE_MS / 1_000 + 10);
  });
});

describe('the network policies', () => {
  const policies = ofKind('NetworkPolicy');
  const selects = ({ matchLabels = {}, matchExpressions = [] }: Selector, component: string): boolean =>
    Object.entries(matchLabels).every(([key, value]) => key === COMPONENT && value === component) &&
    matchExpressions.every(({ key, operator, values }) => {
      expect({ key, operator }).toEqual({ key: COMPONENT, operator: 'In' });
      return values.includes(component);
    });
  const nameOf = ({ namespaceSelector, ipBlock }: Peer): string =>
    namespaceSelector === undefined
      ? `public ${ipBlock?.cidr}`
      : (Object.entries(namespaceSelector.matchLabels).map((pair) => pair.join('='))[0] ?? 'every namespace');
  /** What the policies let through to or from a program, a line for each peer and port. */
  const allowed = (component: string, way: 'ingress' | 'egress'): string[] =>
    policies
      .filter(({ spec }) => selects(spec.podSelector, component))
      .flatMap(({ spec }) => spec[way] ?? [])
      .flatMap(({ from, to, ports }) =>
        [...(from ?? to ?? [])].flatMap((peer) =>
          ports.map(({ port, protocol }) => `${nameOf(peer)} ${protocol} ${port}`),
        ),
      )
      .toSorted();
  const OUT = [
    'kubernetes.io/metadata.name=kube-system TCP 53',
    'kubernetes.io/metadata.name=kube-system UDP 53',
    'kubernetes.io/metadata.name=temporal TCP 7233',
    'public 0.0.0.0/0 TCP 443',
    'public 0.0.0.0/0 TCP 7233',
    'public 2000::/3 TCP 443',
    'public 2000::/3 TCP 7233',
  ];

  it('forbid everything that none of them allows', () => {
    const closing = policies.find(({ spec }) => spec.ingress === undefined && spec.egress === undefined);
    expect(closing?.spec).toEqual({ podSelector: {}, policyTypes: ['Ingress', 'Egress'] });
    for (const { spec } of policies) {
      for (const rule of [...(spec.ingress ?? []), ...(spec.egress ?? [])]) {
        expect(rule.ports.length).toBeGreaterThan(0);
        expect((rule.from ?? rule.to ?? []).length).toBeGreaterThan(0);
      }
      expect(spec.policyTypes).toEqual(
        [spec.ingress && 'Ingress', spec.egress && 'Egress'].filter(Boolean).length === 0
          ? ['Ingress', 'Egress']
          : [...(spec.ingress ? ['Ingress'] : []), ...(spec.egress ? ['Egress'] : [])],
      );
    }
  });

  it('let the ingress and Prometheus reach the API, and only Prometheus the workers', () => {
    expect(allowed('api', 'ingress')).toEqual([
      'tillflow-ingress=allowed TCP http',
      'tillflow-monitoring=allowed TCP http',
    ]);
    expect(allowed('worker', 'ingress')).toEqual([
      'tillflow-monitoring=allowed TCP health',
      'tillflow-monitoring=allowed TCP sdk-metrics',
    ]);
    for (const component of ['setup', 'cli']) expect(allowed(component, 'ingress')).toEqual([]);
    for (const component of ['api', 'worker']) {
      for (const line of allowed(component, 'ingress'))
        expect(portOf(component, line.split(' ').at(-1) ?? '')).toBeDefined();
    }
  });

  it.each(PROGRAMS)('let %s reach names, Temporal, and public addresses with https', (component) => {
    const ingress = ['tillflow-ingress=allowed TCP 443', 'tillflow-ingress=allowed TCP 8443'];
    // `doctor` asks for PUBLIC_URL.
    expect(allowed(component, 'egress')).toEqual(component === 'cli' ? [...OUT, ...ingress] : OUT);
  });

  it('name no address of a private network as public', () => {
    const blocks = policies.flatMap(({ spec }) => (spec.egress ?? []).flatMap(({ to }) => to ?? []));
    const wide = blocks.flatMap(({ ipBlock }) => (ipBlock?.cidr === '0.0.0.0/0' ? [ipBlock.except ?? []] : []));
    expect(wide.length).toBe(2);
    for (const except of wide) {
      const closed = new BlockList();
      for (const cidr of except) closed.addSubnet(cidr.split('/')[0] ?? '', Number(cidr.split('/')[1]));
      for (const address of ['10.1.2.3', '172.16.0.1', '192.168.1.1', '169.254.169.254', '127.0.0.1', '100.64.0.1'])
        expect(closed.check(address)).toBe(true);
      expect(closed.check('203.0.113.7')).toBe(false);
    }
  });

  it.each(OVERLAYS)('fit the addresses in the settings (%s)', (overlay) => {
    const { TEMPORAL_ADDRESS = '', PROVIDER_BASE_URL = '' } = settings.get(overlay) ?? {};
    const [, namespace, port] = /^[^.]+\.([^.:]+):(\d+)$/.exec(TEMPORAL_ADDRESS) ?? [];
    expect(OUT).toContain(`kubernetes.io/metadata.name=${namespace} TCP ${port}`);
    expect(new URL(PROVIDER_BASE_URL)).toMatchObject({ protocol: 'https:', port: '' });
  });
});

describe('autoscaling', () => {
  const autoscalers = ofKind('HorizontalPodAutoscaler');

  it.each(['api', 'worker'])(
    'has the number of processes of %s, at least two, and no manifest sets it',
    (component) => {
      const target = autoscalers.find((one) => componentOf(one) === component);
      expect(target?.spec.scaleTargetRef).toMatchObject({
        kind: 'Deployment',
        name: workloads.get(component)?.metadata.name,
      });
      expect(target?.spec.minReplicas).toBeGreaterThanOrEqual(2);
      expect(workloads.get(component)?.spec).not.toHaveProperty('replicas');
    },
  );

  it.each(['api', 'worker'])('a disruption of the cluster takes one process of %s at a time', (component) => {
    const budget = ofKind('PodDisruptionBudget').find((one) => componentOf(one) === component);
    expect(budget?.spec).toMatchObject({ maxUnavailable: 1 });
    expect(budget?.spec.selector).toEqual(workloads.get(component)?.spec.selector);
  });

  it('by the backlog reads the queue and the deployment of the workers', async () => {
    const scaled = documents(await readFile(join(MANIFESTS, 'backlog/scaled-object.yaml'), 'utf8'))[0];
    const byCpu = autoscalers.find((one) => componentOf(one) === 'worker');
    const { spec } = scaled as Manifest;
    expect(spec.scaleTargetRef.name).toBe(workloads.get('worker')?.metadata.name);
    expect([spec.minReplicaCount, spec.maxReplicaCount]).toEqual([byCpu?.spec.minReplicas, byCpu?.spec.maxReplicas]);
    const { metadata } = spec.triggers.find(({ type }) => type === 'temporal') ?? { metadata: {} };
    for (const overlay of OVERLAYS) {
      const worker = workerSettings(environmentOf('worker', overlay));
      expect(metadata).toMatchObject({
        taskQueue: worker.TEMPORAL_TASK_QUEUE,
        namespace: worker.TEMPORAL_NAMESPACE,
        workerDeploymentName: worker.WORKER_DEPLOYMENT,
        endpointFromEnv: 'TEMPORAL_ADDRESS',
      });
    }
  });
});

describe('Prometheus in Kubernetes', async () => {
  type Job = {
    job_name: string;
    metrics_path: string;
    kubernetes_sd_configs: { role: string; namespaces: { names: string[] } }[];
    relabel_configs: { source_labels: string[]; regex?: string; action?: string }[];
  };
  const read = async (name: string): Promise<{ rule_files: string[]; scrape_configs: Job[] }> =>
    parse(await readFile(join(ROOT, 'deploy/prometheus', name), 'utf8')) as {
      rule_files: string[];
      scrape_configs: Job[];
    };
  const { rule_files: rules, scrape_configs: jobs } = await read('kubernetes.yml');

  it('has the jobs that the alerts name', async () => {
    const others = await read('prometheus.yml');
    expect(rules).toEqual(others.rule_files);
    const short = (all: readonly Job[]): string[] => all.map(({ job_name, metrics_path }) => job_name + metrics_path);
    expect(short(jobs)).toEqual(short(others.scrape_configs));
  });

  it.each(jobs.map((job) => [job.job_name, job] as const))(
    '%s keeps the pods by a label and a port that they have',
    (_, job) => {
      const [discovery] = job.kubernetes_sd_configs;
      expect(discovery?.namespaces.names).toEqual(ofKind('Namespace').map(({ metadata }) => metadata.name));
      const keep = job.relabel_configs.find(({ action }) => action === 'keep');
      expect(keep?.source_labels).toEqual([
        `__meta_kubernetes_pod_label_${COMPONENT.replaceAll(/[./]/g, '_')}`,
        '__meta_kubernetes_pod_container_port_name',
      ]);
      const [component = '', port = ''] = keep?.regex?.split(';') ?? [];
      expect(portOf(component, port)).toBeDefined();
      expect(job.job_name).toMatch(new RegExp(`^tillflow-${component}`));
      expect(job.job_name.endsWith('-sdk')).toBe(port === 'sdk-metrics');
      if (component === 'api') expect(openapi.paths).toHaveProperty([job.metrics_path]);
      // A pod that has ended, such as an evicted one, is no process that does not answer.
      const drop = job.relabel_configs.find(({ action }) => action === 'drop');
      expect(drop?.source_labels).toEqual(['__meta_kubernetes_pod_phase']);
      for (const phase of ['Failed', 'Succeeded']) expect(phase).toMatch(new RegExp(`^(?:${drop?.regex})$`));
      expect('Running').not.toMatch(new RegExp(`^(?:${drop?.regex})$`));
    },
  );
});

const kustomizePath = await kustomize();

it('kustomize renders the overlays', async ({ skip }) => {
  skip(kustomizePath === null, 'kustomize is not there: pnpm kubernetes builds it, and KUSTOMIZE names another one');
  for (const overlay of OVERLAYS) {
    const rendered = documents(await render(kustomizePath ?? '', overlay));
    // The settings are the one manifest that no file has.
    expect(rendered.map(({ kind }) => kind).toSorted()).toEqual(
      [...plain.map(({ kind }) => kind), 'ConfigMap'].toSorted(),
    );
  }
});

describe.each(kustomizePath === null ? [] : OVERLAYS)('rendered, %s', (overlay) => {
  const path = kustomizePath ?? '';
  let all: Manifest[] = [];
  beforeAll(async () => {
    all = documents(await render(path, overlay));
  });
  const labelsOf = (one: Manifest): Labels => one.spec.template.metadata.labels;
  const isSelected = (selector: Labels, labels: Labels): boolean =>
    Object.entries(selector).every(([key, value]) => labels[key] === value);
  const buildsIn = (rendered: readonly Manifest[]): Manifest[] =>
    ofKind('Deployment', rendered).filter((one) => componentOf(one) === 'worker');

  it('each build has its version in the name, the label, the tags and WORKER_BUILD_ID', () => {
    const builds = buildsIn(all);
    expect(builds.map((one) => one.metadata.labels[BUILD])).toContain(VERSION);
    for (const build of builds) {
      const version = build.metadata.labels[BUILD] ?? '';
      const suffix = version.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
      expect(build.metadata.name).toBe(`tillflow-worker-${suffix}`);
      const [container] = build.spec.template.spec.containers;
      expect(container.image).toMatch(new RegExp(`^[^:]+/worker:${version.replaceAll('.', String.raw`\.`)}$`));
      const id = container.env.find(({ name }) => name === 'WORKER_BUILD_ID');
      expect(id?.valueFrom?.fieldRef?.fieldPath).toBe(`metadata.labels['${BUILD}']`);
      expect(labelsOf(build)[BUILD]).toBe(version);
    }
  });

  it('API, setup and command line are those of this release, and setup runs once for all builds', () => {
    for (const component of ['api', 'setup', 'cli']) {
      const found = all.filter((one) => isWorkload(one) && componentOf(one) === component);
      expect(found.map((one) => one.metadata.name)).toEqual([`tillflow-${component}`]);
      expect(found[0]?.spec.template.spec.containers[0].image.split(':').at(-1)).toBe(VERSION);
    }
  });

  it('each program has the settings of settings.env', () => {
    const [map] = ofKind('ConfigMap', all);
    expect(map?.data).toEqual(settings.get(overlay));
    const pods = all.filter(isWorkload).map((one) => one.spec.template.spec.containers[0]);
    expect(pods.length).toBe(4);
    for (const { envFrom } of pods) expect(envFrom).toEqual([{ configMapRef: { name: map?.metadata.name } }]);
  });

  it('each name leads to something that exists, in the namespace', () => {
    const [namespace] = ofKind('Namespace', all);
    for (const one of all) if (one !== namespace) expect(one.metadata.namespace).toBe(namespace?.metadata.name);
    const deployments = ofKind('Deployment', all);
    const autoscalers = ofKind('HorizontalPodAutoscaler', all);
    expect(autoscalers.length).toBe(2);
    for (const { spec } of autoscalers)
      expect(deployments.map(({ metadata }) => metadata.name)).toContain(spec.scaleTargetRef.name);
    for (const one of ofKind('PodDisruptionBudget', all)) {
      const selected = deployments.filter((other) => isSelected(one.spec.selector?.matchLabels ?? {}, labelsOf(other)));
      expect(selected.map(({ metadata }) => metadata.name)).toEqual([one.metadata.name]);
    }
  });

  it('a second build, added as docs/kubernetes.md says, leaves the first as it is and shares no pod with it', async () => {
    const copy = await mkdtemp(join(tmpdir(), 'tillflow-builds-'));
    try {
      await cp(MANIFESTS, copy, { recursive: true });
      const folder = join(copy, 'overlays', overlay);
      const [first = ''] = await readdir(join(folder, 'builds'));
      await cp(join(folder, 'builds', first), join(folder, 'builds', '9-0-0'), { recursive: true });
      const edit = async (file: string, change: (text: string) => string): Promise<void> =>
        writeFile(file, change(await readFile(file, 'utf8')));
      await edit(join(folder, 'builds/9-0-0/kustomization.yaml'), (text) =>
        text.replaceAll(first, '9-0-0').replaceAll(VERSION, '9.0.0'),
      );
      await edit(join(folder, 'kustomization.yaml'), (text) =>
        text.replace(`  - builds/${first}\n`, `  - builds/${first}\n  - builds/9-0-0\n`),
      );
      const rendered = documents(await render(path, overlay, copy));
      const builds = buildsIn(rendered);
      expect(builds.map(({ metadata }) => metadata.name).toSorted()).toEqual([
        `tillflow-worker-${first}`,
        'tillflow-worker-9-0-0',
      ]);
      for (const one of all.filter(({ kind }) => kind !== 'Namespace'))
        expect(rendered.find(({ kind, metadata }) => kind === one.kind && metadata.name === one.metadata.name)).toEqual(
          one,
        );
      for (const one of builds) {
        const selected = builds.filter((other) => isSelected(one.spec.selector?.matchLabels ?? {}, labelsOf(other)));
        expect(selected).toEqual([one]);
      }
    } finally {
      await rm(copy, { recursive: true });
    }
  });

  it('scaled by the backlog, each build has an autoscaler of KEDA with its own version in place of the one by CPU', async () => {
    const rendered = documents(await withBacklog((manifests) => render(path, overlay, manifests)));
    const scaled = ofKind('ScaledObject', rendered);
    expect(scaled.map(({ spec }) => spec.scaleTargetRef.name)).toEqual(
      buildsIn(rendered).map(({ metadata }) => metadata.name),
    );
    for (const { metadata, spec } of scaled) {
      const trigger = spec.triggers.find(({ type }) => type === 'temporal');
      expect(trigger?.metadata['workerDeploymentBuildId']).toBe(metadata.labels[BUILD]);
    }
    expect(ofKind('HorizontalPodAutoscaler', rendered).map(componentOf)).toEqual(['api']);
  });
});
