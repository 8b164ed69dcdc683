import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { noteSkip } from '@sotto/test-servers';
import { Ajv } from 'ajv';
import { beforeAll, expect } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { useFolder } from '../../kit/folder.ts';

const chart = fileURLToPath(new URL('../../../deploy/kubernetes/sotto/', import.meta.url));
export const values = parse(readFileSync(join(chart, 'values.yaml'), 'utf8')) as Values;
const about = parse(readFileSync(join(chart, 'Chart.yaml'), 'utf8')) as Record<string, string>;
export const validate = new Ajv({ allErrors: true }).compile(
  JSON.parse(readFileSync(join(chart, 'values.schema.json'), 'utf8')) as object,
);

export interface Values {
  [name: string]: Values | string | number | boolean | readonly unknown[];
}
// biome-ignore lint/suspicious/noExplicitAny: what a test expects of an object is what it tests.
export type Made = any;

export const origins = {
  control: { origin: 'https://control.example.com' },
  broker: { origin: 'https://api.example.com' },
};
/** The required values. */
export const said: Values = { config: origins, broker: { confidential: { kind: 'tdx' } } };

// Debian packages Go libraries as sources in a GOPATH.
const go = { GO111MODULE: 'off', GOPATH: '/usr/share/gocode', GOFLAGS: '', CGO_ENABLED: '0' };
export const hasGo =
  spawnSync('go', ['list', 'github.com/Masterminds/sprig', 'gopkg.in/yaml.v3'], {
    env: { ...process.env, ...go },
  }).status === 0;
const skipReason =
  'install Go and two libraries (`apt install golang-go golang-github-masterminds-sprig-dev golang-gopkg-yaml.v3-dev`).';

let folder: () => string = () => '';

/** Builds the program that renders the chart, before the tests of a file. */
export function useRenderer(): void {
  const made = useFolder('chart');
  folder = () => made;
  beforeAll(() => {
    if (!hasGo) return noteSkip('the Helm chart’s templates', skipReason);
    const source = fileURLToPath(new URL('./render/main.go', import.meta.url));
    execFileSync('go', ['build', '-o', join(made, 'render'), source], {
      env: { ...process.env, ...go, GOCACHE: join(made, 'cache') },
    });
  }, 180_000);
}

export const merged = (base: Values, changes: Values): Values =>
  Object.fromEntries(
    [...new Set([...Object.keys(base), ...Object.keys(changes)])].map((name) => {
      const [old, change] = [base[name], changes[name]];
      const both = isMap(old) && isMap(change);
      return [name, both ? merged(old, change) : (change ?? old ?? '')];
    }),
  );
const isMap = (value: unknown): value is Values => typeof value === 'object' && value !== null && !Array.isArray(value);

/** The output of `helm template`, by the template's file. Throws the error that a template reports. */
export function renderFiles(changes: Values = {}, name = 'try'): Record<string, string> {
  const context = {
    Values: merged(merged(values, said), changes),
    Release: { Name: name, Namespace: 'sotto', Service: 'Helm' },
    Chart: { Name: about.name, Version: about.version, AppVersion: about.appVersion },
  };
  if (!validate(context.Values)) throw new Error(new Ajv().errorsText(validate.errors));
  const file = join(folder(), 'context.json');
  writeFileSync(file, JSON.stringify(context));
  const { status, stdout, stderr } = spawnSync(join(folder(), 'render'), [chart, file], { encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr);
  return JSON.parse(stdout) as Record<string, string>;
}

/** Its objects. */
export function render(changes: Values = {}, release = 'try'): Made[] {
  return Object.entries(renderFiles(changes, release))
    .filter(([name]) => name.endsWith('.yaml'))
    .flatMap(([name, text]) =>
      parseAllDocuments(text).map((document) => {
        expect(document.errors, `${name}\n${text}`).toEqual([]);
        return document.toJS() as Made;
      }),
    )
    .filter((made) => made !== null);
}

export const find = (all: readonly Made[], kind: string, name: string): Made =>
  all.find((made) => made.kind === kind && made.metadata.name === name);
export const podOf = (made: Made): Made => made.spec.template.spec;
export const containersOf = (made: Made): Made[] => [...(podOf(made).initContainers ?? []), ...podOf(made).containers];
export const environmentOf = (made: Made): Record<string, string> =>
  Object.fromEntries(podOf(made).containers[0].env.map(({ name, value }: Made) => [name, value]));

/** The sotto.yaml that the chart gives a plane. */
export const settingsOf = (all: readonly Made[], plane: 'control' | 'broker'): string =>
  find(all, 'ConfigMap', `try-${plane}`).data['sotto.yaml'];
