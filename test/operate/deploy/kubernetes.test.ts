import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import {
  containersOf,
  environmentOf,
  find,
  hasGo,
  type Made,
  merged,
  origins,
  podOf,
  render,
  renderFiles,
  said,
  settingsOf,
  useRenderer,
  type Values,
  validate,
  values,
} from './chart.ts';
import { problemOf, problemsOfFile } from './installed-planes.ts';

useRenderer();

const tlsFiles = { cert_file: '/run/secrets/tls/tls.crt', key_file: '/run/secrets/tls/tls.key' };
const providers = [
  { id: 'acme', name: 'Acme', adapter: 'openai', base_url: 'https://api.acme.example/v1', privacy_class: 'private' },
];
const models = [
  {
    ...{ id: 'openai/small', model_type: 'text', context_length: 8000, max_output_tokens: 1000 },
    routes: [{ provider: 'openai', upstream_model: 's', privacy_class: 'anonymous', pricing: { input: 1, output: 2 } }],
  },
];

const variants: readonly [string, Values][] = [
  ['as it is', {}],
  ['SEV-SNP', { broker: { confidential: { kind: 'snp' } } }],
  [
    'no confidential machines, certificates from outside',
    {
      config: { broker: { tls: { mode: 'files', ...tlsFiles } } },
      broker: {
        confidential: { kind: 'none' },
        tlsSecret: 'api-tls',
        service: { type: 'ClusterIP' },
      },
    },
  ],
  ['an own registry', { broker: { confidential: { kind: 'none' } }, config: { providers } }],
  [
    'everything else',
    {
      config: {
        models,
        features: { image_generation: true, speech_synthesis: true, connected_apps: true },
        log: { level: 'warn' },
      },
      secrets: { providers: 'provider-keys' },
      imagePullSecrets: [{ name: 'registry' }],
      control: {
        maxReplicas: 0,
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
      config: { control: { metrics_port: 'off' }, broker: { metrics_port: 'off' } },
      networkPolicy: { enabled: false },
      migrations: { job: false },
      control: { ingress: { enabled: false } },
    },
  ],
];

describe('values of the chart', () => {
  it('need the two origins and a kind of machine, and are refused if their form is wrong', () => {
    expect(validate(values)).toBe(false);
    const right = merged(values, said);
    expect(validate(right), JSON.stringify(validate.errors)).toBe(true);
    expect(validate(merged(values, { config: origins }))).toBe(false);
    for (const wrong of [
      { config: { control: { origin: 'http://control.example.com' } } },
      { config: { broker: { origin: 'https://api.example.com/v1' } } },
      // The kind of the machine decides.
      { config: { broker: { attestation: 'off' } } },
      // The containers, probes and services name the usual ports.
      { config: { control: { port: 8080 } } },
      { config: { broker: { port: 443 } } },
      // Without TLS a broker serves its own machine alone. YAML 1.1, as Helm reads it, has `off` as false.
      { config: { broker: { tls: { mode: 'off' } } } },
      { config: { broker: { tls: { mode: false } } } },
      { config: { drain: { delay_s: '10' } } },
      // There are no files beside sotto.yaml in a pod.
      { config: { models_file: 'catalog.yaml' } },
      { broker: { confidential: { kind: 'sgx' } } },
      { broker: { replicas: 0 } },
      { control: { image: { digest: 'latest' } } },
      // This rule would allow traffic to every address.
      { networkPolicy: { brokerEgress: [{}] } },
    ])
      expect(validate(merged(right, wrong)), JSON.stringify(wrong)).toBe(false);
  });
});

describe.runIf(hasGo)('the notes of the chart', () => {
  it.each(['try', 'a'.repeat(53), `${'a'.repeat(49)}-b`])('have commands that find the deployment of %s', (name) => {
    const { 'NOTES.txt': notes = '' } = renderFiles({}, name);
    const deployments = render({}, name).filter(({ kind }) => kind === 'Deployment');
    const [control] = deployments.map((made) => made.metadata.name).filter((made) => made.endsWith('-control'));
    expect(notes.match(/deploy\/\S+/g)).toEqual(Array.from({ length: 3 }, () => `deploy/${control}`));
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

  it('creates objects with distinct names and the right labels', () => {
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

  it('gives each plane a sotto.yaml that it accepts, and its own secrets', async () => {
    for (const [plane, made] of [
      ['control', control],
      ['broker', broker],
    ] as const) {
      const text = settingsOf(all, plane);
      expect(problemOf(plane, environmentOf(made), text), text).toBeUndefined();
      expect(await problemsOfFile(text)).toBe('');
      const { mountPath } = podOf(made).containers[0].volumeMounts.find(({ name }: Made) => name === 'config');
      expect(environmentOf(made)).toEqual({ CONFIG_FILE: `${mountPath}/sotto.yaml` });
      expect(podOf(made).volumes.find(({ name }: Made) => name === 'secrets').secret.secretName).toBe(`sotto-${plane}`);
      const given = podOf(made).volumes.flatMap(({ configMap }: Made) => configMap?.name ?? []);
      expect(given).toEqual([`try-${plane}`]);
    }
    const { broker: settings, providers: own, ...others } = parse(settingsOf(all, 'broker'));
    const isAttested = podOf(broker).runtimeClassName !== undefined;
    expect(settings.attestation).toBe(isAttested ? 'configfs' : 'off');
    // A broker that proves its code takes its providers from its image, and its models from control.
    expect(own).toEqual(which === 'an own registry' ? providers : undefined);
    for (const name of ['control', 'models']) expect(others).not.toHaveProperty(name);
  });

  it('gives no container more privileges than it needs', () => {
    for (const made of all.filter(({ kind }) => kind === 'Deployment' || kind === 'Job')) {
      const pod = podOf(made);
      expect(pod.automountServiceAccountToken).toBe(false);
      expect(pod.securityContext).toMatchObject({ seccompProfile: { type: 'RuntimeDefault' } });
      // Inside its own VM the broker runs as root, without root's capabilities, because the kernel gives evidence only
      // to root.
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

  it('gives each pod the time to announce its end and to finish its requests', () => {
    for (const plane of ['control', 'broker'] as const) {
      const made = plane === 'control' ? control : broker;
      const { delay_s: delay, timeout_s: timeout } = parse(settingsOf(all, plane)).drain;
      const { terminationGracePeriodSeconds, containers } = podOf(made);
      expect(terminationGracePeriodSeconds).toBeGreaterThanOrEqual(delay + timeout + 10);
      const { readinessProbe } = containers[0];
      expect(readinessProbe.httpGet.path).toBe('/readyz');
      expect(delay).toBeGreaterThan(readinessProbe.periodSeconds * readinessProbe.failureThreshold);
      expect(made.spec.strategy.rollingUpdate).toEqual({ maxSurge: 1, maxUnavailable: 0 });
    }
  });

  it('connects names to pods: services, budgets, scalers and policies select existing ones', () => {
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

  it('lets the broker reach Redis and the world, and only clients reach the broker', () => {
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
