import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inlineParts, settingPaths } from '@sotto/server';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { documentedBlock } from '../../kit/documented.ts';
import { useFolder } from '../../kit/folder.ts';
import { find, hasGo, type Made, podOf, render, settingsOf, useRenderer, type Values } from './chart.ts';

useRenderer();
const folder = useFolder('chart-guide');

/** The keys of the Secret that a plane opens. */
function secretsOf(all: readonly Made[], plane: 'control' | 'broker'): string[] {
  const settings = parse(settingsOf(all, plane));
  const read = Object.values(settingPaths[plane]).map((path) => {
    const [part = '', name = ''] = path.split('.');
    return settings[part]?.[name];
  });
  const prefix = 'file:/run/secrets/sotto/';
  return read.flatMap((value) => (String(value).startsWith(prefix) ? [String(value).slice(prefix.length)] : []));
}

describe.runIf(hasGo)('the chart', () => {
  it('places brokers on machines that can attest them', () => {
    const of = (kind: string): Made => {
      const made = find(render({ broker: { confidential: { kind } } }), 'Deployment', 'try-broker');
      const { runtimeClassName, nodeSelector } = podOf(made);
      return { runtimeClassName, nodeSelector };
    };
    expect(of('tdx')).toEqual({
      runtimeClassName: 'kata-qemu-tdx',
      nodeSelector: { 'intel.feature.node.kubernetes.io/tdx': 'true' },
    });
    expect(of('snp')).toEqual({
      runtimeClassName: 'kata-qemu-snp',
      nodeSelector: { 'amd.feature.node.kubernetes.io/snp': 'true' },
    });
    expect(of('none')).toEqual({ runtimeClassName: undefined, nodeSelector: undefined });
  });

  it.each([
    ['control', 'models', 'the catalog'],
    ['broker', 'providers', 'an own registry'],
  ] as const)('restarts %s, and nothing else, when `%s` changes', (plane, part, _what) => {
    const none = { confidential: { kind: 'none' } };
    const [before = [], after = []] = ['a', 'b'].map((id) => render({ broker: none, config: { [part]: [{ id }] } }));
    const template = (all: readonly Made[], name: string) => find(all, 'Deployment', `try-${name}`).spec.template;
    const other = plane === 'control' ? 'broker' : 'control';
    expect(template(before, plane)).not.toEqual(template(after, plane));
    expect(template(before, other)).toEqual(template(after, other));
    expect(parse(settingsOf(after, plane))[part]).toEqual([{ id: 'b' }]);
  });

  it('gives no plane a key of sotto.yaml that only the other reads', () => {
    const helpers = readFileSync(
      new URL('../../../deploy/kubernetes/sotto/templates/_helpers.tpl', import.meta.url),
      'utf8',
    );
    const [ofControl = [], ofBroker = []] = [...helpers.matchAll(/omit \$config (.+) }}/g)].map(([, names = '']) =>
      names.split(' ').map((name) => name.replaceAll('"', '')),
    );
    const keysOf = (plane: 'control' | 'broker'): string[] => {
      const paths = Object.entries(settingPaths[plane]).flatMap(([name, path]) => [path, inlineParts[name] ?? path]);
      return [...new Set(paths.map((path) => path.split('.')[0] ?? ''))].sort();
    };
    const [control, broker] = [keysOf('control'), keysOf('broker')];
    expect(ofControl).toEqual(broker.filter((key) => !control.includes(key)));
    expect(ofBroker).toEqual(control.filter((key) => !broker.includes(key)));
  });

  it.each(['tdx', 'snp'])(
    'lets nothing outside the image add or override a provider of a broker with evidence: %s',
    (kind) => {
      const broker = { confidential: { kind } };
      expect(() => render({ broker, config: { providers: [{ id: 'a' }] } })).toThrow(
        'where brokers prove their code, the registry is part of the image',
      );
      expect(() => render({ broker, config: { providers_file: 'providers.yaml' } })).toThrow('providers_file');
    },
  );

  it('migrates before any part of a new version runs, with access to the database alone', () => {
    const job = find(render(), 'Job', 'try-migrate');
    expect(job.metadata.annotations['helm.sh/hook']).toBe('pre-install,pre-upgrade');
    expect(podOf(job).containers[0].args).toEqual(['migrate']);
    expect(podOf(job).volumes[0].secret.items).toEqual([{ key: 'database-url', path: 'database-url' }]);
  });

  it('pins images by digest if one is given, and otherwise by its own version', () => {
    const imageOf = (digest: string): string =>
      podOf(find(render({ control: { image: { digest } } }), 'Deployment', 'try-control')).containers[0].image;
    expect(imageOf('')).toBe('sotto-control:0.1.0');
    expect(imageOf(`sha256:${'b'.repeat(64)}`)).toBe(`sotto-control@sha256:${'b'.repeat(64)}`);
  });

  it('names the missing values', () => {
    expect(() => render({ config: { broker: { tls: { mode: 'files' } } } })).toThrow(
      'Set broker.tlsSecret to the name of a secret',
    );
    expect(() => render({ config: { broker: { origin: '' } } })).toThrow('/config/broker/origin');
  });

  it('is installed by the commands of the guide, with secrets that contain every value each plane reads', () => {
    const block = documentedBlock('docs/operate/kubernetes.md', 'kubernetes');
    // Stand-ins for the two programs that record their arguments, one a line.
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
      const wanted = secretsOf(all, plane);
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
