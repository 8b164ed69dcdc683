import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../../', import.meta.url));

/** What each part may import of ours. Imports point inward; a new arrow is a decision, not an accident. */
const mayImport: Record<string, readonly string[]> = {
  'packages/wire': [],
  'packages/settings': [],
  'packages/http': ['wire'],
  'packages/tracing': [],
  'packages/attestation': [],
  'packages/money': [],
  'packages/router': ['wire', 'money'],
  'packages/state': ['wire', 'money', 'router'],
  'packages/providers': ['wire', 'money', 'router'],
  'packages/contract': ['wire', 'attestation'],
  'packages/client': ['wire', 'money', 'attestation'],
  'apps/confidential': [
    ...['wire', 'settings', 'http', 'tracing', 'attestation', 'money', 'router', 'state', 'providers', 'contract'],
  ],
  'apps/control': ['wire', 'settings', 'http', 'tracing', 'money', 'router', 'state', 'contract'],
  'apps/dashboard': ['wire', 'contract', 'client'],
  'apps/keeper': ['wire', 'settings', 'http', 'attestation'],
  'apps/embedded': ['settings', 'http', 'router', 'state', 'control', 'confidential'],
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
      .filter((name) => /\.tsx?$/.test(name) && !/\.test\.tsx?$/.test(name))
      .map((name) => {
        const path = join(root, part, 'src', name);
        const text = readFileSync(path, 'utf8');
        const imports = [...text.matchAll(/(?:from|import|import\()\s*'([^']+)'/g)].flatMap(
          ([, specifier]) => specifier ?? [],
        );
        return { part, path: relative(root, path), text, imports };
      }),
  );
}

const files = sources();
/** Doors beside the front one: what runs in Node alone, and shapes without what reads them. */
const sideDoors: readonly string[] = [
  '@sotto/attestation/producers',
  '@sotto/attestation/documents',
  '@sotto/contract/control',
  '@sotto/contract/confidential',
];
const ours = (specifier: string): string | undefined => /^@sotto\/([^/]+)/.exec(specifier)?.[1];

describe('the layers', () => {
  it('were really scanned', () => {
    for (const part of Object.keys(mayImport))
      expect(files.filter((file) => file.part === part).length, part).toBeGreaterThan(2);
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
    const graph = new Map(
      files.map(({ path, imports }) => [
        path,
        imports.filter((name) => name.startsWith('.')).map((name) => relative(root, join(root, dirname(path), name))),
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
  });

  it('keep processes out of packages: no environment, no signals, no listening', () => {
    for (const { part, path, text } of files) {
      // The `sotto` command is a process, in a folder of its own.
      if (!part.startsWith('packages/') || path.startsWith('packages/client/src/command/')) continue;
      expect(text, path).not.toMatch(/process\.(env|on|exit|argv)/);
      expect(text, path).not.toMatch(/\.listen\(/);
    }
  });

  it('leave the reading of bodies to the one place that bounds what they hold', () => {
    expect(files.filter(({ text }) => text.includes('parseAs')).map(({ path }) => path)).toEqual([]);
    const readers = files.filter(({ text }) => /takeBodies\(|arrivingBodies\.read\(/.test(text));
    expect(readers.length).toBeGreaterThan(1);
  });
});

describe('the broker', () => {
  it('knows nothing of the routes of control', () => {
    const broker = files.filter(({ part }) => part === 'apps/confidential');
    expect(broker.filter(({ imports }) => imports.includes('@sotto/contract/control'))).toEqual([]);
  });

  it('reads its environment in one place, before anything else is loaded', () => {
    const broker = files.filter(({ part }) => part === 'apps/confidential');
    const readers = broker.filter(({ text }) => /process\s*\.\s*env|\benv\b.*from 'node:process'/.test(text));
    expect(readers.map(({ path }) => path)).toEqual(['apps/confidential/src/ground/take-ground.ts']);
    const main = broker.find(({ path }) => path === 'apps/confidential/src/main.ts');
    expect(main?.text.match(/^import .*$/gm)).toEqual(["import { takeGround } from './ground/take-ground.ts';"]);
    const ground = broker.filter(({ path }) => path.startsWith('apps/confidential/src/ground/'));
    const loaded = ground.flatMap(({ text }) =>
      [...text.matchAll(/^(?:import|export) (?!type )[^;]*from '([^']+)'/gm)].flatMap(
        ([, specifier]) => specifier ?? [],
      ),
    );
    expect(loaded.length).toBeGreaterThan(3);
    expect(loaded.filter((specifier) => !/^(node:|\.\/)/.test(specifier))).toEqual([]);
  });
});

describe('what browsers run', () => {
  const nodeOnly = /^packages\/client\/src\/(?:command\/|proxy\/|platform\/node-platform|index\.ts$|.*\/testing\/)/;
  const shared = files.filter(({ path }) => path.startsWith('packages/client/src/') && !nodeOnly.test(path));

  it('was really scanned', () => {
    expect(shared.length).toBeGreaterThan(20);
  });

  it('needs nothing of Node', () => {
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

describe('dependencies tell', () => {
  const resolves = (part: string, name: string): boolean => {
    try {
      createRequire(join(root, part, 'package.json')).resolve(name);
      return true;
    } catch (error) {
      // A package that is there but has no `require` entry was found all the same.
      return error instanceof Error && 'code' in error && error.code === 'ERR_PACKAGE_PATH_NOT_EXPORTED';
    }
  };

  it('the broker cannot reach accounts or billing', () => {
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

  it('control cannot reach the provider adapters', () => {
    for (const name of ['@sotto/providers', 'undici', '@sotto/confidential']) {
      expect(resolves('apps/control', name), name).toBe(false);
    }
  });

  it("the broker's own list of libraries is short, and known", () => {
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
