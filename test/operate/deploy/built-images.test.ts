import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { noteSkip } from '@sotto/test-servers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Ran } from '../../kit/programs.ts';
import { canMakeImages, debianMirror, howToMakeImages } from './image-making.ts';
import {
  askPrivately,
  type Image,
  openSurroundings,
  type Surroundings,
  serveInstalled,
  writeFiles,
} from './installed-planes.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const isAble = canMakeImages(['buildah', 'mmdebstrap']);
const epoch = '1790000000';
const images: readonly Image[] = ['broker', 'control'];

let folder: string;
/**
 * Runs Buildah with layers as plain folders, and steps in a chroot. It needs no engine, and no privilege other than
 * root.
 */
const buildah = (...args: string[]): string =>
  execFileSync(
    'buildah',
    ['--storage-driver', 'vfs', '--root', join(folder, 'storage'), '--runroot', join(folder, 'run'), ...args],
    { cwd: root, encoding: 'utf8', maxBuffer: 1 << 26, stdio: ['ignore', 'pipe', 'pipe'] },
  ).trim();

/** Copies this machine's trusted certificates and package sources into a base. Bases from a registry have their own. */
function takeAlong(path: string): void {
  const authorities = join(path, 'etc/ssl/certs/ca-certificates.crt');
  mkdirSync(dirname(authorities), { recursive: true });
  cpSync('/etc/ssl/certs/ca-certificates.crt', authorities, { dereference: true });
}

/** Makes the two bases from this machine's Debian: one with Node and npm, and one with only a C library. */
function makeBases(): void {
  const build = join(folder, 'build-base');
  const mirror = debianMirror();
  execFileSync('mmdebstrap', [
    '--quiet',
    '--mode=root',
    '--variant=apt',
    'bookworm',
    build,
    `deb ${mirror} bookworm main`,
  ]);
  takeAlong(build);
  const npm = join(realpathSync(execFileSync('which', ['npm'], { encoding: 'utf8' }).trim()), '../..');
  const local = join(build, 'usr/local');
  cpSync(npm, join(local, 'lib/node_modules/npm'), { recursive: true });
  cpSync(process.execPath, join(local, 'bin/node'));
  for (const name of ['npm', 'npx']) {
    execFileSync('ln', ['-sf', `../lib/node_modules/npm/bin/${name}-cli.js`, join(local, 'bin', name)]);
  }
  const registry = execFileSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8' }).trim();
  mkdirSync(join(local, 'etc'), { recursive: true });
  writeFileSync(
    join(local, 'etc/npmrc'),
    `registry=${registry}\ncafile=/etc/ssl/certs/ca-certificates.crt\nupdate-notifier=false\n`,
  );
  const run = join(folder, 'run-base');
  const libraries = ['libc6', 'libgcc-s1', 'libstdc++6'].join(',');
  execFileSync('mmdebstrap', [
    ...['--quiet', '--mode=root', '--variant=extract', `--include=${libraries}`],
    ...['bookworm', run, `deb ${mirror} bookworm main`],
  ]);
  takeAlong(run);
  const environment = ['--env', 'SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt'];
  for (const [name, path, extra] of [
    ['build', build, ['--env', 'NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt']],
    ['run', run, environment],
  ] as const) {
    const container = buildah('from', 'scratch');
    buildah('add', '--quiet', container, path, '/');
    buildah('config', ...extra, container);
    buildah('commit', '--quiet', container, `localhost/sotto-test-${name}`);
    buildah('rm', container);
    rmSync(path, { recursive: true });
  }
}

/** Builds an image as the guide describes, on these bases. */
function build(image: Image, tag: string): void {
  const args = {
    BUILD_BASE: 'localhost/sotto-test-build',
    RUN_BASE: 'localhost/sotto-test-run',
    DEBIAN_SNAPSHOT: debianMirror(),
    SOURCE_DATE_EPOCH: epoch,
  };
  buildah(
    ...['build', '--quiet', '--isolation', 'chroot', '--pull=never', '--no-cache', '--format', 'docker'],
    ...['--timestamp', epoch, '--signature-policy', join(folder, 'policy.json')],
    ...Object.entries(args).flatMap(([name, value]) => ['--build-arg', `${name}=${value}`]),
    ...['-f', `deploy/images/${image}.Dockerfile`, '-t', tag, '.'],
  );
}

interface Config {
  readonly User: string;
  readonly Env: readonly string[];
  readonly Entrypoint: readonly string[];
  readonly Cmd?: readonly string[];
  readonly Healthcheck: { readonly Test: readonly string[] };
}
interface ImageRecord {
  readonly config: Config;
  readonly rootfs: { readonly diff_ids: readonly string[] };
}
const inspect = (tag: string): ImageRecord =>
  (JSON.parse(buildah('inspect', '--type', 'image', tag)) as { Docker: ImageRecord }).Docker;
const configOf = (tag: string): Config => inspect(tag).config;

/** Mounts an image and returns the path of its files. */
const mount = (tag: string): string => buildah('mount', buildah('from', '--pull=never', tag));

const paths: Partial<Record<Image, string>> = {};
let around: Surroundings | undefined;
let files: string | undefined;

/** Runs a command of an image as a container does: its user, its environment, a read-only root. */
function inside(image: Image, command: readonly string[], settings: Readonly<Record<string, string>>) {
  const own = configOf(image).Env.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]);
  const prepare = [
    'mount --bind "$0" "$0"',
    'mount -t proc proc "$0/proc"',
    'mount --rbind /dev "$0/dev"',
    `mount --bind ${files} "$0/config"`,
    'mount -o remount,bind,ro "$0"',
    'exec chroot --userspec=65532:65532 "$0" "$@"',
  ].join(' && ');
  const args = ['--mount', '--propagation', 'private', 'sh', '-c', prepare, paths[image] ?? '', ...command];
  return spawn('unshare', args, {
    env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', ...Object.fromEntries(own), ...settings },
    cwd: '/',
  });
}

describe.skipIf(!isAble)('images that a builder made from the Dockerfiles', () => {
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'sotto-test-built-'));
    writeFileSync(join(folder, 'policy.json'), '{"default": [{"type": "insecureAcceptAnything"}]}');
    makeBases();
    for (const image of images) {
      build(image, image);
      paths[image] = mount(image);
      for (const name of ['proc', 'dev', 'config']) mkdirSync(join(paths[image] ?? '', name), { recursive: true });
    }
  }, 1_200_000);
  afterAll(async () => {
    await around?.stop();
    if (files !== undefined) rmSync(files, { recursive: true });
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  }, 120_000);

  it("hold the output of the guide's command, and report the same about it", () => {
    for (const image of images) {
      const out = join(folder, `made-${image}`);
      const made = execFileSync(process.execPath, ['scripts/run.mjs', 'image', image, out], {
        cwd: root,
        encoding: 'utf8',
        env: { ...process.env, SOURCE_DATE_EPOCH: epoch },
      });
      const differing = spawnSync('diff', ['-r', '--no-dereference', out, join(paths[image] ?? '', 'sotto')], {
        encoding: 'utf8',
      });
      expect(differing.stdout).toBe('');
      const measured = JSON.parse(made.trim().split('\n').at(-1) ?? '') as unknown;
      expect(JSON.parse(readFileSync(join(paths[image] ?? '', 'sotto/measured.json'), 'utf8'))).toEqual(measured);
    }
  }, 300_000);

  it('are the same bytes when they are built again', () => {
    build('broker', 'broker-again');
    // Compares layers only: the builder's record of an image also contains the name of the build machine.
    expect(inspect('broker-again').rootfs.diff_ids).toEqual(inspect('broker').rootfs.diff_ids);
  }, 600_000);

  it('have no shell, no package manager and no user except `nobody`', () => {
    for (const image of images) {
      expect(configOf(image).User).toBe('65532:65532');
      for (const path of ['bin/sh', 'bin/bash', 'usr/bin/apt', 'usr/bin/dpkg', 'usr/bin/npm', 'src'])
        expect(existsSync(join(paths[image] ?? '', path)), path).toBe(false);
    }
  });

  it('serve a private request with a read-only root, and report themselves healthy', async (context) => {
    around = await openSurroundings('the built images, run');
    if (around === undefined) return context.skip('no Redis');
    const { adopt, output } = around;
    files = writeFiles(around);
    execFileSync('chmod', ['755', files]);
    const planes = await serveInstalled(around, {
      folder: files,
      files: '/config',
      start(image, settings) {
        const { Entrypoint, Cmd = [] } = configOf(image);
        adopt(inside(image, [...Entrypoint, ...Cmd], settings));
      },
      command: (args, settings) => finished(inside('control', [...configOf('control').Entrypoint, ...args], settings)),
      async health(image, settings) {
        const [kind, ...command] = configOf(image).Healthcheck.Test;
        expect(kind).toBe('CMD');
        return (await finished(inside(image, command, settings))).code;
      },
    });
    const answered = await askPrivately(planes);
    expect(answered.status, `${answered.text} ${output.join('')}`).toBe(200);
  }, 180_000);
});

if (!isAble) {
  noteSkip('images built of the Dockerfiles', howToMakeImages(['buildah', 'mmdebstrap']));
}

function finished(child: ReturnType<typeof spawn>): Promise<Ran> {
  let [out, error] = ['', ''];
  child.stdout?.on('data', (bytes) => {
    out += String(bytes);
  });
  child.stderr?.on('data', (bytes) => {
    error += String(bytes);
  });
  return new Promise((resolve) => {
    child.once('close', (code) => resolve({ code: code ?? 1, out: out.trim(), error }));
  });
}
