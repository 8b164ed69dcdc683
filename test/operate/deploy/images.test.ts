import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { lstatSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { documentedBlock } from '../../kit/documented.ts';
import { useFolder } from '../../kit/folder.ts';
import { type Ran, runToEnd } from '../../kit/programs.ts';
import { askPrivately, openSurroundings, type Surroundings, serveInstalled, writeFiles } from './installed-planes.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const folder = useFolder('images');

const run = (program: string, args: readonly string[], environment: Record<string, string> = {}): Promise<Ran> =>
  runToEnd(program, args, root, { HOME: process.env.HOME ?? '', ...environment });

/** Assembles an image's content as its Dockerfile does. */
async function make(
  image: string,
  name: string,
  registry: readonly string[] = [],
): Promise<{ path: string; measured: Record<string, string> }> {
  const path = join(folder, name);
  const { code, out, error } = await run(process.execPath, ['scripts/run.mjs', 'image', image, path, ...registry], {
    SOURCE_DATE_EPOCH: '1790000000',
  });
  if (code !== 0) throw new Error(error);
  return { path, measured: JSON.parse(out.split('\n').at(-1) ?? '') as Record<string, string> };
}

function filesOf(path: string, at = ''): string[] {
  return readdirSync(join(path, at)).flatMap((entry) => {
    const file = at === '' ? entry : `${at}/${entry}`;
    return lstatSync(join(path, file)).isDirectory() ? filesOf(path, file) : [file];
  });
}

const billOf = (path: string) =>
  JSON.parse(readFileSync(join(path, 'sbom.cdx.json'), 'utf8')) as {
    bomFormat: string;
    components: { name: string; version: string; purl?: string; hashes?: { content: string }[] }[];
  };

let broker: Awaited<ReturnType<typeof make>>;
let again: Awaited<ReturnType<typeof make>>;
let control: Awaited<ReturnType<typeof make>>;

beforeAll(async () => {
  broker = await make('broker', 'broker');
  again = await make('broker', 'broker-again');
  control = await make('control', 'control');
}, 300_000);

describe('the content of an image', () => {
  it('has the same bytes, permissions and times each time', () => {
    expect(again.measured).toEqual(broker.measured);
    const look = (path: string) =>
      filesOf(path).map((file) => {
        const { mode, mtimeMs } = lstatSync(join(path, file));
        return [file, mode, mtimeMs];
      });
    expect(look(again.path)).toEqual(look(broker.path));
    expect(new Set(look(broker.path).map(([, , mtime]) => mtime))).toEqual(new Set([1_790_000_000_000]));
  });

  it('is created by the command of the guide, wherever that runs', async () => {
    const script = documentedBlock('docs/operate/confidential-vm.md', 'image');
    const path = join(folder, 'by-the-guide');
    const { code, out, error } = await run('bash', ['-c', script.replaceAll('/tmp/sotto-broker', path)]);
    expect(code, error).toBe(0);
    expect(out).toContain(broker.measured.tree_sha256);
  });

  it('is a bundle of code with its licences, without tools to compile or to test', () => {
    for (const { path } of [broker, control]) {
      const files = filesOf(path);
      expect(files.filter((file) => /\/licen[cs]e/i.test(file)).length).toBeGreaterThan(50);
      expect(files.filter((file) => /\.(ts|map|tsbuildinfo)$|\.test\.[cm]?js$|\/testing\//.test(file))).toEqual([]);
      expect(
        files.filter((file) => /node_modules\/(vitest|typescript|@biomejs|esbuild|vite|drizzle-kit)\//.test(file)),
      ).toEqual([]);
      // Every link leads to a file inside.
      for (const file of files) expect(() => readFileSync(join(path, file)), file).not.toThrow(/ENOENT/);
    }
  });

  it('has, in the broker, no database, no accounts and no web page', () => {
    const forbidden = /^(pg|drizzle-orm|better-auth|oidc-provider|stripe|nodemailer|react|kysely|@sotto\/control)$/;
    const names = (path: string) => billOf(path).components.map(({ name }) => name);
    expect(names(control.path).filter((name) => forbidden.test(name))).toContain('pg');
    expect(names(broker.path).filter((name) => forbidden.test(name))).toEqual([]);
    expect(readdirSync(join(broker.path, 'apps'))).toEqual(['confidential']);
    expect(readdirSync(join(control.path, 'apps')).sort()).toEqual(['control', 'dashboard']);
    expect(names(broker.path)).toContain('@sotto/providers');
    expect(names(control.path)).not.toContain('@sotto/providers');
  });

  it('lists its components, each with its hash, and its measured parts', () => {
    for (const { path } of [broker, control]) {
      const bill = billOf(path);
      expect(bill.bomFormat).toBe('CycloneDX');
      const theirs = bill.components.filter(({ name, purl }) => purl !== undefined && !name.startsWith('@sotto/'));
      expect(theirs.length).toBeGreaterThan(50);
      expect(theirs.filter(({ hashes }) => hashes?.[0]?.content.length !== 128)).toEqual([]);
      expect(bill.components).toContainEqual(expect.objectContaining({ name: 'node', version: process.versions.node }));
    }
    const registry = readFileSync(join(broker.path, 'apps/confidential/providers.yaml'));
    expect(broker.measured.registry_sha256).toBe(createHash('sha256').update(registry).digest('hex'));
    expect(JSON.parse(readFileSync(join(broker.path, 'measured.json'), 'utf8'))).toEqual(broker.measured);
  });

  it('has, in a broker, the registry that was named, and reports its digest', async () => {
    const file = join(folder, 'own-providers.yaml');
    writeFileSync(file, 'providers: []\n');
    const { path, measured } = await make('broker', 'own-registry', [file]);
    expect(readFileSync(join(path, 'apps/confidential/providers.yaml'), 'utf8')).toBe('providers: []\n');
    expect(measured.registry_sha256).toBe(createHash('sha256').update('providers: []\n').digest('hex'));
    expect(measured.tree_sha256).not.toBe(broker.measured.tree_sha256);
  });

  it('is not written into a folder with files, or for an unknown image', async () => {
    expect(await run(process.execPath, ['deploy/images/assemble.mjs', 'broker', broker.path])).toMatchObject({
      code: 1,
      error: expect.stringContaining('is not empty; choose a new folder'),
    });
    expect(
      await run(process.execPath, ['deploy/images/assemble.mjs', 'toaster', join(folder, 'toaster')]),
    ).toMatchObject({
      code: 1,
      error: expect.stringContaining('usage: npm run image -- control|keeper OUT, or broker OUT [PROVIDERS]'),
    });
  });
});

describe('both images together', () => {
  let around: Surroundings | undefined;
  let files: string | undefined;

  beforeAll(async () => {
    around = await openSurroundings('the images, run');
  });
  afterAll(async () => {
    await around?.stop();
    if (files !== undefined) rmSync(files, { recursive: true });
  });

  it('serve a private request over TLS, in production mode, without other files', async (context) => {
    if (around === undefined) return context.skip('no Redis');
    const { adopt, output } = around;
    files = writeFiles(around);
    const pathOf = { broker: broker.path, control: control.path };
    const mainOf = { broker: 'apps/confidential/dist/main.js', control: 'apps/control/dist/main.js' };
    const planes = await serveInstalled(around, {
      folder: files,
      files,
      // Starts as the images' entry points do. The broker's entry point also clears the base image's own variable.
      start(image, settings) {
        const path = pathOf[image];
        const args = ['--core=0:0', join(path, 'bin/node'), '--disable-sigusr1', join(path, mainOf[image])];
        const env = { NODE_ENV: 'production', SSL_CERT_FILE: '', ...settings };
        adopt(spawn('prlimit', image === 'control' ? [...args, 'serve'] : args, { env, cwd: '/' }));
      },
      command: (args, settings) =>
        run(join(control.path, 'bin/node'), [join(control.path, mainOf.control), ...args], settings),
      health: async (image, settings) =>
        (await run(join(pathOf[image], 'bin/node'), [join(pathOf[image], 'health.mjs'), image], settings)).code,
    });
    const answered = await askPrivately(planes);
    expect(answered.status, `${answered.text} ${output.join('')}`).toBe(200);
    expect(JSON.parse(answered.text)).toMatchObject({ object: 'chat.completion', model: 'acme/small' });
    expect((await fetch(`${planes.controlUrl}/`)).headers.get('content-type')).toContain('text/html');
    expect(output.join('')).not.toContain('unexpected error');
  });
});

describe('the folder of the keeper', () => {
  it('has its own files and nothing of the planes, and lists its settings', async () => {
    const keeper = await make('keeper', 'keeper');
    expect(readdirSync(join(keeper.path, 'apps'))).toEqual(['keeper']);
    const ours = billOf(keeper.path).components.flatMap(({ name }) => (name.startsWith('@sotto/') ? [name] : []));
    // The table of settings and the routes about the service need `contract` and `money`.
    expect(ours).toEqual(
      ['attestation', 'contract', 'keeper', 'money', 'server', 'wire', 'yaml'].map((name) => `@sotto/${name}`),
    );
    const args = ['--disable-sigusr1', join(keeper.path, 'apps/keeper/dist/main.js')];
    expect(await run(join(keeper.path, 'bin/node'), args)).toMatchObject({
      code: 1,
      error: expect.stringContaining('sotto-keeper: KEEPER_ORIGIN is not set'),
    });
  });
});
