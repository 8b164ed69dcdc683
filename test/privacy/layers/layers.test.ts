import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../../', import.meta.url));

/** The parts of ours that each part may import. Imports point inward. Add an arrow only as a deliberate decision. */
const mayImport: Record<string, readonly string[]> = {
  'packages/wire': [],
  'packages/server': ['wire', 'contract', 'money', 'yaml'],
  'packages/attestation': [],
  'packages/money': [],
  'packages/yaml': ['wire'],
  'packages/discovery': ['router'],
  'packages/router': ['wire', 'money', 'yaml'],
  'packages/state': ['wire', 'money', 'router'],
  'packages/providers': ['wire', 'money', 'router'],
  'packages/contract': ['wire', 'attestation'],
  'packages/dialects': ['wire'],
  'packages/client': ['wire', 'money', 'attestation', 'contract', 'dialects'],
  'apps/confidential': [
    ...['wire', 'server', 'attestation', 'money', 'router', 'state', 'providers', 'contract', 'yaml'],
  ],
  'apps/control': ['wire', 'server', 'money', 'router', 'state', 'contract', 'yaml', 'discovery'],
  'apps/dashboard': ['wire', 'contract', 'client'],
  'apps/keeper': ['wire', 'server', 'attestation'],
  'apps/embedded': ['wire', 'server', 'yaml', 'router', 'state', 'discovery', 'control', 'confidential'],
};

interface SourceFile {
  readonly part: string;
  readonly path: string;
  readonly text: string;
  readonly imports: readonly string[];
}

function sources(): SourceFile[] {
  return Object.keys(mayImport).flatMap((part) =>
    readdirSync(join(root, part, 'src'), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.tsx?$/.test(name) && !/\.(?:test|integration)\.tsx?$/.test(name))
      .map((name) => {
        const path = join(root, part, 'src', name);
        const text = readFileSync(path, 'utf8');
        return { part, path: relative(root, path), text, imports: importsOf(text) };
      }),
  );
}

const importsOf = (text: string): string[] =>
  [...text.matchAll(/(?:from|import|import\()\s*'([^']+)'/g)].flatMap(([, specifier]) => specifier ?? []);

const files = sources();
/** Every file of the project that is not ignored, relative to the root. */
const tracked = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  .filter((path) => existsSync(join(root, path)));
/** Entry points beside the main one: code that runs in Node alone, code that needs a library which not all have, and types without the code that reads them. */
const sideDoors: readonly string[] = [
  '@sotto/attestation/producers',
  '@sotto/attestation/documents',
  '@sotto/attestation/measure',
  '@sotto/contract/control',
  '@sotto/contract/confidential',
  '@sotto/contract/for-readers',
  '@sotto/client/playground',
  '@sotto/server/process-metrics',
];
/** A noun of the contract has a door of its own, so that a page that needs one list does not load the schemas of all. */
const isNoun = (specifier: string): boolean => /^@sotto\/contract\/(?:control|confidential)\/[a-z-]+$/.test(specifier);
const ours = (specifier: string): string | undefined => /^@sotto\/([^/]+)/.exec(specifier)?.[1];

describe('the layers', () => {
  it('contain files to scan', () => {
    for (const part of Object.keys(mayImport))
      expect(files.filter((file) => file.part === part).length, part).toBeGreaterThan(1);
    expect(files.length).toBeGreaterThan(100);
    expect(files.some((file) => file.imports.includes('@sotto/wire'))).toBe(true);
    expect(files.some((file) => file.part === 'apps/control' && file.imports.includes('pg'))).toBe(true);
  });

  it('import only inward, and only the front door of a package', () => {
    for (const { part, path, imports } of files) {
      for (const specifier of imports) {
        const name = ours(specifier);
        if (name === undefined) continue;
        expect(mayImport[part], `${path} imports ${specifier}`).toContain(name);
        if (isNoun(specifier)) continue;
        expect([`@sotto/${name}`, ...sideDoors], `${path} reaches into a package`).toContain(specifier);
      }
    }
  });

  it('stay inside their own folder with relative imports', () => {
    for (const { part, path, imports } of files) {
      for (const specifier of imports.filter((name) => name.startsWith('.'))) {
        const target = relative(root, join(root, dirname(path), specifier));
        expect(target.startsWith(`${part}/`), `${path} imports ${specifier}`).toBe(true);
      }
    }
  });

  it('have no circles between files', () => {
    expectNoCircle(files);
  });

  it('keep processes out of packages: no environment, no signals, no listening', () => {
    for (const { part, path, text } of files) {
      // The `sotto` command is a process in its own folder.
      if (!part.startsWith('packages/') || path.startsWith('packages/client/src/command/')) continue;
      expect(text, path).not.toMatch(/process\.(env|on|exit|argv)/);
      expect(text, path).not.toMatch(/\.listen\(/);
    }
  });

  it('start no program and run no text as code in a process that serves', () => {
    const serving = files.filter(({ part, path }) => part !== 'apps/embedded' && !path.startsWith('packages/client/'));
    // `npm start` is a parent of both processes.
    expect(files.some(({ part, text }) => part === 'apps/embedded' && text.includes('node:child_process'))).toBe(true);
    const starters = serving.filter(({ text }) => /node:(?:child_process|vm)|\bnew Function\(|\beval\(/.test(text));
    expect(starters.map(({ path }) => path)).toEqual([]);
  });

  it('leave the reading of bodies to the one place that bounds their memory', () => {
    expect(files.filter(({ text }) => text.includes('parseAs')).map(({ path }) => path)).toEqual([]);
    const readers = files.filter(({ text }) => /takeBodies\(|requestBodies\.read\(/.test(text));
    expect(readers.length).toBeGreaterThan(1);
  });
});

it('no source file has more than 400 lines', () => {
  const written = tracked.filter((path) => /\.(?:tsx?|mjs)$/.test(path));
  expect(written.length).toBeGreaterThan(1500);
  const lines = (path: string): number => readFileSync(join(root, path), 'utf8').split('\n').length - 1;
  expect(written.filter((path) => lines(path) > 400)).toEqual([]);
});

/** Expects that no file imports itself through others, by relative imports. */
function expectNoCircle(of: readonly { readonly path: string; readonly imports: readonly string[] }[]): void {
  const graph = new Map(
    of.map(({ path, imports }) => [
      path,
      imports.filter((name) => name.startsWith('.')).map((name) => join(dirname(path), name)),
    ]),
  );
  const state = new Map<string, 'open' | 'done'>();
  const visit = (path: string, trail: readonly string[]): void => {
    expect(state.get(path), `circle: ${[...trail, path].join(' → ')}`).not.toBe('open');
    if (state.has(path)) return;
    state.set(path, 'open');
    for (const next of graph.get(path) ?? []) visit(next, [...trail, path]);
    state.set(path, 'done');
  };
  for (const path of graph.keys()) visit(path, []);
}

describe('tests and tools', () => {
  const outside = tracked
    .filter((path) => /^(?:test|tools)\/.*\.m?tsx?$/.test(path))
    .map((path) => ({ path, imports: importsOf(readFileSync(join(root, path), 'utf8')) }));

  it('contain files to scan', () => {
    expect(outside.length).toBeGreaterThan(500);
    expect(outside.some(({ imports }) => imports.includes('@sotto/control/testing'))).toBe(true);
    expect(outside.some(({ imports }) => imports.some((specifier) => specifier.startsWith('../../kit/')))).toBe(true);
  });

  it('import each other in no circle', () => {
    expectNoCircle(outside);
  });

  it('name the package whose code they import', () => {
    const reaching = outside.filter(({ path, imports }) =>
      imports.some((name) => name.startsWith('.') && /^(?:packages|apps)\//.test(join(dirname(path), name))),
    );
    expect(reaching.map(({ path }) => path)).toEqual([]);
  });

  it('give servers to tests from a package that knows none of ours', () => {
    const folder = 'packages/test-servers/src';
    const names = readdirSync(join(root, folder));
    expect(names.length).toBeGreaterThan(5);
    for (const name of names) {
      const imports = importsOf(readFileSync(join(root, folder, name), 'utf8'));
      expect(
        imports.filter((specifier) => ours(specifier) ?? specifier.startsWith('..')),
        name,
      ).toEqual([]);
    }
    for (const part of Object.keys(mayImport)) {
      const { dependencies } = JSON.parse(readFileSync(join(root, part, 'package.json'), 'utf8'));
      expect(Object.keys(dependencies ?? {}), part).not.toContain('@sotto/test-servers');
    }
  });
});

describe('the broker', () => {
  const broker = files.filter(({ part }) => part === 'apps/confidential');

  it('does not use the routes of control', () => {
    const isOfControl = (specifier: string): boolean => specifier.startsWith('@sotto/contract/control');
    expect(files.filter(({ imports }) => imports.some(isOfControl)).length).toBeGreaterThan(20);
    expect(broker.filter(({ imports }) => imports.some(isOfControl))).toEqual([]);
  });

  it('reads its environment in one place, before anything else is loaded', () => {
    const readers = broker.filter(({ text }) => /process\s*\.\s*env|\benv\b.*from 'node:process'/.test(text));
    expect(readers.map(({ path }) => path)).toEqual(['apps/confidential/src/hardening/harden-process.ts']);
    const main = broker.find(({ path }) => path === 'apps/confidential/src/main.ts');
    expect(main?.text.match(/^import .*$/gm)).toEqual([
      "import { hardenProcess } from './hardening/harden-process.ts';",
    ]);
    const hardening = broker.filter(({ path }) => path.startsWith('apps/confidential/src/hardening/'));
    const loaded = hardening.flatMap(({ text }) =>
      [...text.matchAll(/^(?:import|export) (?!type )[^;]*from '([^']+)'/gm)].flatMap(
        ([, specifier]) => specifier ?? [],
      ),
    );
    expect(loaded).toEqual(['node:fs', 'node:inspector']);
  });
});

describe('code for browsers', () => {
  const nodeOnly =
    /^packages\/client\/src\/(?:agents\/|command\/|conversations\/|playground\/|proof\/|proxy\/|purse\/|redaction\/|releases\/|platform\/(?:node-|relay)|index\.ts$|(?:.*\/)?testing\/)/;
  const shared = files.filter(({ path }) => path.startsWith('packages/client/src/') && !nodeOnly.test(path));

  it('contains files to scan', () => {
    expect(shared.length).toBeGreaterThan(20);
  });

  it('needs no Node built-ins', () => {
    for (const { path, text, imports } of shared) {
      expect(
        imports.filter((name) => name.startsWith('node:')),
        path,
      ).toEqual([]);
      expect(
        imports.filter((name) => name.includes('/testing/') || name === 'undici'),
        path,
      ).toEqual([]);
      expect(text, path).not.toMatch(/\b(Buffer|process|require)[.(]/);
    }
  });
});

describe('dependencies', () => {
  const resolves = (part: string, name: string): boolean => {
    try {
      createRequire(join(root, part, 'package.json')).resolve(name);
      return true;
    } catch (error) {
      // This package exists, but it has no `require` entry.
      return error instanceof Error && 'code' in error && error.code === 'ERR_PACKAGE_PATH_NOT_EXPORTED';
    }
  };

  it('do not let the broker reach accounts or billing', () => {
    expect(resolves('apps/confidential', 'fastify')).toBe(true);
    expect(resolves('apps/control', 'pg')).toBe(true);
    for (const name of [
      'pg',
      'drizzle-orm',
      'better-auth',
      'stripe',
      '@sotto/control',
      '@sotto/embedded',
      '@sotto/client',
    ]) {
      expect(resolves('apps/confidential', name), name).toBe(false);
    }
  });

  it('do not let control reach the provider adapters', () => {
    for (const name of ['@sotto/providers', 'undici', '@sotto/confidential']) {
      expect(resolves('apps/control', name), name).toBe(false);
    }
  });

  it('of the broker are a short, known list', () => {
    const parts = ['apps/confidential', ...(mayImport['apps/confidential'] ?? []).map((name) => `packages/${name}`)];
    const trusted = parts.flatMap((part) => {
      const { dependencies = {} } = JSON.parse(readFileSync(join(root, part, 'package.json'), 'utf8')) as {
        dependencies?: Record<string, string>;
      };
      return Object.keys(dependencies).filter((dependency) => !dependency.startsWith('@sotto/'));
    });
    expect([...new Set(trusted)].sort()).toEqual([
      '@fastify/proxy-addr', // Fastify brings it: TRUST_PROXY is checked with what reads it later
      '@noble/curves',
      '@noble/hashes',
      '@peculiar/x509',
      'fastify',
      'ioredis',
      'jose',
      'pino',
      'prom-client',
      'reflect-metadata',
      'undici',
      'yaml',
      'zod',
    ]);
  });
});
