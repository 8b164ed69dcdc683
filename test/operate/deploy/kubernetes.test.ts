import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Ajv } from 'ajv';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { noteSkip } from '../../kit/skips.ts';
import { problemOf } from './given-settings.ts';

const chart = fileURLToPath(new URL('../../../deploy/kubernetes/sotto/', import.meta.url));
const values = parse(readFileSync(join(chart, 'values.yaml'), 'utf8')) as Values;
const about = parse(readFileSync(join(chart, 'Chart.yaml'), 'utf8')) as Record<string, string>;
const validate = new Ajv({ allErrors: true }).compile(
  JSON.parse(readFileSync(join(chart, 'values.schema.json'), 'utf8')) as object,
);

interface Values {
  [name: string]: Values | string | number | boolean | readonly unknown[];
}
// biome-ignore lint/suspicious/noExplicitAny: what a test expects of an object is what it tests.
type Made = any;

const origins = { control: 'https://control.example.com', broker: 'https://api.example.com' };
/** What has to be said. */
const said: Values = { origins, broker: { confidential: { kind: 'tdx' } } };

// Debian's packages of Go's libraries are sources in a GOPATH.
const go = { GO111MODULE: 'off', GOPATH: '/usr/share/gocode', GOFLAGS: '', CGO_ENABLED: '0' };
const hasGo =
  spawnSync('go', ['list', 'github.com/Masterminds/sprig', 'gopkg.in/yaml.v3'], {
    env: { ...process.env, ...go },
  }).status === 0;
const skipReason =
  'install Go and two libraries (`apt install golang-go golang-github-masterminds-sprig-dev golang-gopkg-yaml.v3-dev`).';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sotto-test-chart-'));
  if (!hasGo) return noteSkip('the Helm chart’s templates', skipReason);
  const source = fileURLToPath(new URL('./render/main.go', import.meta.url));
  execFileSync('go', ['build', '-o', join(folder, 'render'), source], {
    env: { ...process.env, ...go, GOCACHE: join(folder, 'cache') },
  });
}, 180_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const merged = (base: Values, changes: Values): Values =>
  Object.fromEntries(
    [...new Set([...Object.keys(base), ...Object.keys(changes)])].map((name) => {
      const [old, change] = [base[name], changes[name]];
      const both = isMap(old) && isMap(change);
      return [name, both ? merged(old, change) : (change ?? old ?? '')];
    }),
  );
const isMap = (value: unknown): value is Values => typeof value === 'object' && value !== null && !Array.isArray(value);

/** What `helm template` would print, as objects; throws what a template says is wrong. */
function render(changes: Values = {}): Made[] {
  const context = {
    Values: merged(merged(values, said), changes),
    Release: { Name: 'try', Namespace: 'sotto', Service: 'Helm' },
    Chart: { Name: about.name, Version: about.version, AppVersion: about.appVersion },
  };
  if (!validate(context.Values)) throw new Error(new Ajv().errorsText(validate.errors));
  const file = join(folder, 'context.json');
  writeFileSync(file, JSON.stringify(context));
  const { status, stdout, stderr } = spawnSync(join(folder, 'render'), [chart, file], { encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr);
  const outputs = JSON.parse(stdout) as Record<string, string>;
  return Object.entries(outputs)
    .filter(([name]) => name.endsWith('.yaml'))
    .flatMap(([name, text]) =>
      parseAllDocuments(text).map((document) => {
        expect(document.errors, `${name}\n${text}`).toEqual([]);
        return document.toJS() as Made;
      }),
    )
    .filter((made) => made !== null);
}

const find = (all: readonly Made[], kind: string, name: string): Made =>
  all.find((made) => made.kind === kind && made.metadata.name === name);
const podOf = (made: Made): Made => made.spec.template.spec;
const containersOf = (made: Made): Made[] => [...(podOf(made).initContainers ?? []), ...podOf(made).containers];
const environmentOf = (made: Made): Record<string, string> =>
  Object.fromEntries(podOf(made).containers[0].env.map(({ name, value }: Made) => [name, value]));

const variants: readonly [string, Values][] = [
  ['as it is', {}],
  ['SEV-SNP', { broker: { confidential: { kind: 'snp' } } }],
  [
    'no confidential machines, certificates from outside',
    {
      broker: {
        confidential: { kind: 'none' },
        tls: { mode: 'files', secret: 'api-tls' },
        service: { type: 'ClusterIP' },
      },
    },
  ],
  [
    'everything else',
    {
      catalog: 'models: []\n',
      secrets: { providers: 'provider-keys' },
      features: { imageGeneration: true, speechSynthesis: true, connectedApps: true },
      imagePullSecrets: [{ name: 'registry' }],
      control: {
        maxReplicas: 0,
        environment: { LOG_LEVEL: 'warn' },
        ingress: { className: 'nginx', annotations: { 'cert-manager.io/cluster-issuer': 'le' } },
        nodeSelector: { pool: 'general' },
        tolerations: [{ key: 'a', operator: 'Exists' }],
      },
      broker: {
        maxReplicas: 0,
        confidential: { evidenceVolume: { emptyDir: {} } },
        image: { digest: `sha256:${'a'.repeat(64)}` },
        nodeSelector: { pool: 'confidential' },
        tolerations: [{ key: 'b', operator: 'Exists' }],
      },
      metrics: { podMonitor: true },
      networkPolicy: {
        controlEgress: [{ to: [{ ipBlock: { cidr: '10.3.0.9/32' } }], ports: [{ port: 4318 }] }],
        brokerEgress: [{ to: [{ ipBlock: { cidr: '10.3.0.0/24' } }], ports: [{ port: 4318 }] }],
      },
    },
  ],
  [
    'as little as can be',
    {
      metrics: { enabled: false },
      networkPolicy: { enabled: false },
      migrations: { job: false },
      control: { ingress: { enabled: false } },
    },
  ],
];

describe('values of the chart', () => {
  it('need the two origins and a kind of machine, and are refused where they are of the wrong form', () => {
    expect(validate(values)).toBe(false);
    const right = merged(values, said);
    expect(validate(right), JSON.stringify(validate.errors)).toBe(true);
    expect(validate(merged(values, { origins }))).toBe(false);
    for (const wrong of [
      { origins: { control: 'http://control.example.com' } },
      { origins: { broker: 'https://api.example.com/v1' } },
      { broker: { confidential: { kind: 'sgx' } } },
      { broker: { tls: { mode: 'off' } } },
      { broker: { replicas: 0 } },
      { control: { image: { digest: 'latest' } } },
      { control: { environment: { LOG_LEVEL: 1 } } },
      { features: { imageGeneration: 'on' } },
      // To everywhere.
      { networkPolicy: { brokerEgress: [{}] } },
    ])
      expect(validate(merged(right, wrong)), JSON.stringify(wrong)).toBe(false);
  });
});

describe.runIf(hasGo).each(variants)('the chart, %s', (which, changes) => {
  let all: Made[];
  let control: Made;
  let broker: Made;
  beforeAll(() => {
    all = render(changes);
    control = find(all, 'Deployment', 'try-control');
    broker = find(all, 'Deployment', 'try-broker');
  });

  it('makes objects with names of their own and the labels that belong to them', () => {
    const names = all.map(({ apiVersion, kind, metadata }) => {
      expect(apiVersion).toMatch(/^(v1|[a-z0-9.]+\/v\d\w*)$/);
      expect(metadata.labels['app.kubernetes.io/instance']).toBe('try');
      return `${kind} ${metadata.name}`;
    });
    expect(new Set(names).size).toBe(names.length);
    expect(names).toEqual(
      expect.arrayContaining(['Deployment try-control', 'Deployment try-broker', 'Service try-broker']),
    );
  });

  it('gives each plane settings that it takes, and the secrets that are its own', () => {
    expect(problemOf('control', environmentOf(control))).toBeUndefined();
    expect(problemOf('broker', environmentOf(broker))).toBeUndefined();
    const secretsOf = (made: Made): string[] =>
      Object.keys(environmentOf(made))
        .filter((name) => /_FILE$/.test(name) && !/^(TLS|CATALOG)/.test(name))
        .sort();
    expect(secretsOf(broker)).toEqual(['REDIS_URL_FILE', 'SETTLEMENT_MAC_KEY_FILE', 'TICKET_SEALING_KEY_FILE']);
    expect(secretsOf(control)).toHaveLength(6);
    expect(podOf(broker).volumes.find(({ name }: Made) => name === 'secrets').secret.secretName).toBe('sotto-broker');
    // The broker runs by what is in its image; its catalog comes from control, its registry is measured.
    expect(podOf(broker).volumes.some(({ configMap }: Made) => configMap !== undefined)).toBe(false);
  });

  it('lets no container have more than it needs', () => {
    for (const made of all.filter(({ kind }) => kind === 'Deployment' || kind === 'Job')) {
      const pod = podOf(made);
      expect(pod.automountServiceAccountToken).toBe(false);
      expect(pod.securityContext).toMatchObject({ seccompProfile: { type: 'RuntimeDefault' } });
      // Root of a machine of its own, without root's rights: the kernel gives evidence to nobody else.
      if (pod.runtimeClassName === undefined) expect(pod.securityContext.runAsNonRoot).toBe(true);
      else expect([made.metadata.name, pod.securityContext.runAsUser]).toEqual(['try-broker', 0]);
      for (const { name, securityContext, volumeMounts } of containersOf(made)) {
        expect(securityContext, name).toMatchObject({
          ...{ allowPrivilegeEscalation: false, readOnlyRootFilesystem: true },
          capabilities: { drop: ['ALL'] },
        });
        const volumes = new Set(pod.volumes.map((volume: Made) => volume.name));
        for (const mount of volumeMounts) expect(volumes).toContain(mount.name);
      }
    }
  });

  it('gives each pod the time to say that it goes and to end what it has begun', () => {
    for (const made of [control, broker]) {
      const { DRAIN_DELAY_S, DRAIN_TIMEOUT_S } = environmentOf(made);
      const { terminationGracePeriodSeconds, containers } = podOf(made);
      expect(terminationGracePeriodSeconds).toBeGreaterThanOrEqual(
        Number(DRAIN_DELAY_S) + Number(DRAIN_TIMEOUT_S) + 10,
      );
      const { readinessProbe } = containers[0];
      expect(readinessProbe.httpGet.path).toBe('/readyz');
      expect(Number(DRAIN_DELAY_S)).toBeGreaterThan(readinessProbe.periodSeconds * readinessProbe.failureThreshold);
      expect(made.spec.strategy.rollingUpdate).toEqual({ maxSurge: 1, maxUnavailable: 0 });
    }
  });

  it('leads names to pods: services, budgets, scalers and policies choose those that there are', () => {
    const pods = all.filter(({ kind }) => kind === 'Deployment' || kind === 'Job').map(({ spec }) => spec.template);
    const chosen = (labels: Record<string, string>): Made[] =>
      pods.filter(({ metadata }) => Object.entries(labels).every(([name, value]) => metadata.labels[name] === value));
    for (const { kind, metadata, spec } of all) {
      const what = `${kind} ${metadata.name}`;
      if (kind === 'Service') {
        const [pod] = chosen(spec.selector);
        const ports = pod.spec.containers[0].ports.map(({ name }: Made) => name);
        for (const { targetPort } of spec.ports) expect(ports, what).toContain(targetPort);
      } else if (kind === 'NetworkPolicy') expect(chosen(spec.podSelector.matchLabels), what).toHaveLength(1);
      else if (kind === 'PodDisruptionBudget' || kind === 'Deployment')
        expect(chosen(spec.selector.matchLabels), what).toHaveLength(1);
      else if (kind === 'HorizontalPodAutoscaler') {
        expect(find(all, 'Deployment', spec.scaleTargetRef.name).spec.replicas, what).toBeUndefined();
        expect(spec.maxReplicas).toBeGreaterThanOrEqual(spec.minReplicas);
      }
    }
    expect(all.filter(({ kind }) => kind === 'PodDisruptionBudget')).toHaveLength(2);
  });

  it('lets the broker reach Redis and the world, and nothing reach it but clients', () => {
    const policy = find(all, 'NetworkPolicy', 'try-broker');
    if (which === 'as little as can be') return expect(policy).toBeUndefined();
    const { ingress, egress, policyTypes } = policy.spec;
    expect(policyTypes).toEqual(['Ingress', 'Egress']);
    expect(ingress.filter(({ from }: Made) => from === undefined)).toEqual([{ ports: [{ port: 'tls' }] }]);
    const ports = [443, 53, 53, 6379, ...(which === 'everything else' ? [4318] : [])];
    expect(egress.flatMap(({ ports }: Made) => ports.map(({ port }: Made) => port)).sort()).toEqual(ports.sort());
    const given = { controlEgress: 'try-control', brokerEgress: 'try-broker' };
    for (const [value, name] of Object.entries(given)) {
      const rules = find(all, 'NetworkPolicy', name).spec.egress;
      const wanted = Object(Object(changes).networkPolicy)[value] ?? [];
      expect(rules.slice(rules.length - wanted.length), value).toEqual(wanted);
      if (which === 'everything else') expect(wanted, value).toHaveLength(1);
    }
    const world = egress.find(({ ports }: Made) => ports[0].port === 443).to[0].ipBlock;
    expect(world.except).toContain('10.0.0.0/8');
  });
});

describe.runIf(hasGo)('the chart', () => {
  it('puts brokers on machines that can vouch for them, and says so to the broker', () => {
    const of = (kind: string): Made => {
      const made = find(render({ broker: { confidential: { kind } } }), 'Deployment', 'try-broker');
      const { runtimeClassName, nodeSelector } = podOf(made);
      return { runtimeClassName, nodeSelector, attestation: environmentOf(made).ATTESTATION };
    };
    expect(of('tdx')).toEqual({
      ...{ runtimeClassName: 'kata-qemu-tdx', attestation: 'configfs' },
      nodeSelector: { 'intel.feature.node.kubernetes.io/tdx': 'true' },
    });
    expect(of('snp')).toEqual({
      ...{ runtimeClassName: 'kata-qemu-snp', attestation: 'configfs' },
      nodeSelector: { 'amd.feature.node.kubernetes.io/snp': 'true' },
    });
    expect(of('none')).toEqual({ runtimeClassName: undefined, nodeSelector: undefined, attestation: 'off' });
  });

  it('restarts control, and nothing else, when the catalog changes', () => {
    const [before, after] = ['models: []\n', 'models: [] # another\n'].map((catalog) => render({ catalog }));
    const template = (all: readonly Made[] = [], name: string) => find(all, 'Deployment', name).spec.template;
    expect(template(before, 'try-control')).not.toEqual(template(after, 'try-control'));
    expect(template(before, 'try-broker')).toEqual(template(after, 'try-broker'));
    expect(find(after ?? [], 'ConfigMap', 'try-control-catalog').data['catalog.yaml']).toBe('models: [] # another\n');
  });

  it('migrates before anything of a new version runs, with the database alone', () => {
    const job = find(render(), 'Job', 'try-migrate');
    expect(job.metadata.annotations['helm.sh/hook']).toBe('pre-install,pre-upgrade');
    expect(podOf(job).containers[0].args).toEqual(['migrate']);
    expect(podOf(job).volumes[0].secret.items).toEqual([{ key: 'database-url', path: 'database-url' }]);
  });

  it('pins images by digest where one is given, and by its own version where none is', () => {
    const imageOf = (digest: string): string =>
      podOf(find(render({ control: { image: { digest } } }), 'Deployment', 'try-control')).containers[0].image;
    expect(imageOf('')).toBe('sotto-control:0.1.0');
    expect(imageOf(`sha256:${'b'.repeat(64)}`)).toBe(`sotto-control@sha256:${'b'.repeat(64)}`);
  });

  it('says what is missing', () => {
    expect(() => render({ broker: { tls: { mode: 'files' } } })).toThrow('broker.tls.secret names the secret');
    expect(() => render({ origins: { broker: '' } })).toThrow('/origins/broker');
  });

  it('is installed by the commands of the guide, with secrets that have what each plane reads', () => {
    const guide = readFileSync(fileURLToPath(new URL('../../../docs/guides/kubernetes.md', import.meta.url)), 'utf8');
    const block = /<!-- test: kubernetes -->\n```sh\n(.*?)```/s.exec(guide)?.[1] ?? 'exit 1';
    // In place of the two programs: what they are told, an argument a line.
    const told = join(folder, 'told');
    for (const name of ['kubectl', 'helm'])
      writeFileSync(join(folder, name), `#!/bin/sh\n{ echo "> ${name}"; printf '%s\\n' "$@"; } >> ${told}\n`, {
        mode: 0o755,
      });
    execFileSync('bash', ['-euc', block], {
      cwd: fileURLToPath(new URL('../../../', import.meta.url)),
      env: {
        PATH: `${folder}:${process.env.PATH}`,
        DATABASE_URL: 'postgresql://d',
        REDIS_URL: 'redis://r',
        BROKER_REDIS_URL: 'redis://broker@r',
        OPENAI_API_KEY: 'sk-x',
      },
    });
    const calls = readFileSync(told, 'utf8')
      .split(/^> .*\n/m)
      .slice(1)
      .map((text) => text.trimEnd().split('\n'));
    const secret = (name: string): Record<string, string> =>
      Object.fromEntries(
        (calls.find((args) => args[0] === 'create' && args[3] === name) ?? []).flatMap((argument) => {
          const [, key, value = ''] = /^--from-literal=([^=]+)=(.*)$/.exec(argument) ?? [];
          return key === undefined ? [] : [[key, value]];
        }),
      );
    const install = calls.find(([first]) => first === 'install') ?? [];
    expect(install.slice(0, 3)).toEqual(['install', 'sotto', 'deploy/kubernetes/sotto']);
    const changes: Values = {};
    for (const [index, flag] of install.entries()) {
      if (!['--set', '--set-file', '--set-json'].includes(flag)) continue;
      const [path = '', value = ''] = (install[index + 1] ?? '').split(/=(.*)/s);
      const names = path.split('.');
      let at: Values = changes;
      for (const name of names.slice(0, -1)) at = at[name] = (at[name] as Values | undefined) ?? {};
      const file = (): string => readFileSync(fileURLToPath(new URL(`../../../${value}`, import.meta.url)), 'utf8');
      at[names.at(-1) ?? ''] =
        flag === '--set' ? value : flag === '--set-json' ? (JSON.parse(value) as readonly unknown[]) : file();
    }
    const all = render(changes);
    for (const plane of ['control', 'broker'] as const) {
      const made = find(all, 'Deployment', `try-${plane}`);
      const wanted = Object.entries(environmentOf(made)).flatMap(([name, path]) =>
        /_FILE$/.test(name) && path.startsWith('/run/secrets/sotto/') ? [path.slice('/run/secrets/sotto/'.length)] : [],
      );
      expect(Object.keys(secret(`sotto-${plane}`)).sort(), plane).toEqual(wanted.sort());
      expect(podOf(made).containers[0].image).toBe(`registry.example.com/sotto-${plane}:0.1.0`);
    }
    expect(secret('sotto-broker')['ticket-sealing-key']).toBe(secret('sotto-control')['ticket-sealing-key']);
    const policy = find(all, 'NetworkPolicy', 'try-broker');
    expect(JSON.stringify(policy.spec.egress)).toContain('10.2.0.0/16');
    expect(secret('sotto-providers')).toEqual({ OPENAI_API_KEY: 'sk-x' });
    expect(podOf(find(all, 'Deployment', 'try-broker')).containers[0].envFrom).toEqual([
      { secretRef: { name: 'sotto-providers' } },
    ]);
  });
});
