import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, readdir, readFile, realpath, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { useFolder } from '../../kit/folder.ts';
import { buildPlayground, buildPlaygroundInto } from '../../kit/playground.ts';
import { runToEnd } from '../../kit/programs.ts';
import { echo, type StandInService, startStandIn } from './stand-in.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../../', import.meta.url));
const client = join(root, 'packages/client');

const folder = useFolder('package');
let installed: string;
/** The output of the build. */
let printed: string;
let service: StandInService;
beforeAll(async () => {
  service = await startStandIn();
  service.onBroker(echo);
  const built = join(folder, 'package');
  // The compiler writes the declarations, as it does for a release.
  await run(process.execPath, ['node_modules/typescript/bin/tsc', '-b', 'packages/client'], { cwd: root });
  await buildPlayground();
  ({ stdout: printed } = await run(process.execPath, [join(client, 'build/build-package.ts'), built], { cwd: root }));
  await npm(['pack', '--silent', '--pack-destination', folder], built);
  const [packed = ''] = (await readdir(folder)).filter((name) => name.endsWith('.tgz'));
  installed = join(folder, 'app');
  await mkdir(join(installed, 'node_modules'), { recursive: true });
  await writeFile(join(installed, 'package.json'), '{"name":"app","private":true,"type":"module"}');
  // Provides the packages that a registry would provide.
  const provided = (name: string): Promise<string> => realpath(join(client, 'node_modules', name));
  const ofSocks = dirname(await provided('socks'));
  for (const from of [
    await provided('undici'),
    await provided('zod'),
    ...['socks', 'ip-address', 'smart-buffer'].map((name) => join(ofSocks, name)),
  ]) {
    await cp(from, join(installed, 'node_modules', basename(from)), { recursive: true, dereference: true });
  }
  await npm(['install', join(folder, packed)], installed);
}, 240_000);
afterAll(async () => {
  await service?.stop();
});

/** Runs the installed npm, without a registry. */
const npm = (args: readonly string[], cwd: string) =>
  run('npm', [...args, '--offline', '--ignore-scripts', '--no-audit', '--no-fund'], {
    cwd,
    env: { PATH: process.env.PATH ?? '', HOME: folder },
  });

async function inApp(script: string): Promise<string> {
  const file = join(installed, `script-${Math.random().toString(36).slice(2)}.mjs`);
  await writeFile(file, script);
  return (await run(process.execPath, [file], { cwd: installed })).stdout;
}

describe('the package, installed in an empty folder', () => {
  it('sends a request privately', async () => {
    const said = await inApp(`
      import { createPrivateFetch } from '@sotto/client';
      const fetch = createPrivateFetch({
        apiKey: 'key', controlOrigin: '${service.controlUrl}', baseOrigin: '${service.baseUrl}', allowSimulated: true,
      });
      const body = JSON.stringify({ model: 'acme/small', messages: [{ role: 'user', content: 'hello' }] });
      const answer = await fetch('${service.baseUrl}/chat/completions', { method: 'POST', body });
      console.log((await answer.json()).choices[0].message.content);
      fetch.close();
    `);
    expect(said).toBe('You said: hello\n');
  });

  it('says which Node it needs, on one that is too old', async () => {
    const old = 'data:text/javascript,Object.defineProperty(process.versions, "node", { value: "20.20.2" })';
    const said =
      '@sotto/client: this is Node 20.20.2; it needs Node 22.19.0 or later. Install one from https://nodejs.org.';
    const file = join(installed, 'old.mjs');
    await writeFile(file, `import { verify } from '@sotto/client'; console.log(verify);`);
    const failure = await run(process.execPath, [`--import=${old}`, file], { cwd: installed }).catch((error) => error);
    expect(failure.stderr).toContain(said);
  });

  it('installs the command', async () => {
    const sotto = join(installed, 'node_modules/.bin/sotto');
    expect((await run(sotto, ['--help'])).stdout).toContain('sotto proxy');
    const failure = await run(sotto, ['verify', service.baseUrl]).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 1, stdout: expect.stringContaining('simulated.hardware') });
  });

  it('has the detector of `--redact`, which it loads without a registry', async () => {
    const origins = ['--base-url', service.baseUrl, '--control-url', service.controlUrl, '--allow-simulated'];
    const args = ['proxy', '--port', '0', '--open', '--redact', ...origins];
    const proxy = spawn(join(installed, 'node_modules/.bin/sotto'), args, {
      env: { PATH: process.env.PATH ?? '', INFERENCE_KEY: 'key' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [said] = (await once(proxy.stdout.setEncoding('utf8'), 'data')) as [string];
    const content = `Maria Schneider, ghp_${'aB3'.repeat(12)}`;
    const body = JSON.stringify({ model: 'acme/small', messages: [{ role: 'user', content }] });
    const answer = await fetch(`${said.trim()}/chat/completions`, { method: 'POST', body });
    expect(await answer.json()).toMatchObject({ choices: [{ message: { content: `You said: ${content}` } }] });
    expect(service.broker.at(-1)?.text).toMatch(/NAME_\w{6}_\w{8}, SECRET_\w{6}_\w{8}/);
    proxy.kill('SIGINT');
    expect(await once(proxy, 'close')).toEqual([0, null]);
  });

  it('verifies a bundle of Sigstore’s public instance with the trusted root that it contains', async () => {
    const signer = 'https://github.com/cli/cli/.github/workflows/deployment.yml@refs/heads/trunk';
    const failure = await run(join(installed, 'node_modules/.bin/sotto'), [
      ...['pins', 'add', join(client, 'vectors/sigstore/cli-2.54.0.json'), '--pins', join(folder, 'pins.json')],
      ...['--identity', signer, '--issuer', 'https://token.actions.githubusercontent.com'],
    ]).catch((error: unknown) => error);
    // It is genuine, but about another project.
    expect(failure).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^Refused: release.statement: .*slsa\.dev/),
    });
  });

  it('has the page of the playground, by the digest that the build and the command print', async () => {
    const [, sha256] = /^SHA-256 of the playground's page: ([0-9a-f]{64})$/m.exec(printed) ?? [];
    const guide = await readFile(join(root, 'docs/use/private-client.md'), 'utf8');
    const [, command = ''] = /`(find \. -type f [^`]+)`/.exec(guide) ?? [];
    const page = join(installed, 'node_modules/@sotto/client/playground');
    expect((await run('sh', ['-c', command], { cwd: page })).stdout).toBe(`${sha256}  -\n`);

    const origins = ['--base-url', service.baseUrl, '--control-url', service.controlUrl, '--allow-simulated'];
    const playground = spawn(join(installed, 'node_modules/.bin/sotto'), ['playground', ...origins], {
      env: { PATH: process.env.PATH ?? '', INFERENCE_KEY: 'key' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [said] = (await once(playground.stdout.setEncoding('utf8'), 'data')) as [string];
    const [, address = '', shown] = /^(http:\S+)\nSHA-256 of the page: (\S+)\n$/.exec(said) ?? [];
    expect(shown).toBe(sha256);
    expect(await (await fetch(address)).text()).toBe(await readFile(join(page, 'index.html'), 'utf8'));
    playground.kill('SIGINT');
    expect(await once(playground, 'close')).toEqual([0, null]);
  });

  it('has a page that another build of the same sources equals, byte for byte', async () => {
    const again = join(folder, 'elsewhere');
    await buildPlaygroundInto(again);
    const page = join(installed, 'node_modules/@sotto/client/playground');
    expect(await runToEnd('diff', ['-r', page, again], folder, {})).toEqual({ code: 0, out: '', error: '' });
  });

  it('has types, and offers no way to inject other verifiers', async () => {
    await writeFile(
      join(installed, 'use.ts'),
      `import { type ClientPins, createE2eeChat, createPrivateFetch, verify } from '@sotto/client';
      const pins: ClientPins = { gateway: { tdx: { measurements: [], minimum_evaluation_number: 18 } } };
      const options = { apiKey: 'k', controlOrigin: 'https://c.example', baseOrigin: 'https://b.example', pins };
      export const answer: Promise<Response> = createPrivateFetch(options)('https://b.example/v1/models');
      export const chat: Promise<Response> = createE2eeChat(options)({ model: 'm', messages: [] });
      export const verdict: Promise<string> = verify('https://b.example').then(({ gateway }) => gateway.verdict);
      // @ts-expect-error pins are strict
      export const wrong: ClientPins = { gateway: { tdx: { measurements: 'all' } } };
      // @ts-expect-error there is no such option
      export const door = createPrivateFetch({ ...options, verifyGateway: () => undefined });
      `,
    );
    const flags = [
      '--noEmit',
      '--strict',
      '--module',
      'nodenext',
      '--target',
      'es2024',
      '--lib',
      'es2024,dom,dom.iterable',
      '--types',
      '',
    ];
    await run(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), ...flags, 'use.ts'], {
      cwd: installed,
    }).catch((error: { stdout: string }) => expect.unreachable(error.stdout));
  });

  it('contains only the expected files', async () => {
    const at = join(installed, 'node_modules/@sotto/client');
    const files = await readdir(at, { recursive: true });
    expect(files.filter((name) => /testing|\.test\.|\.map$/.test(name))).toEqual([]);
    const manifest = JSON.parse(await readFile(join(at, 'package.json'), 'utf8')) as { dependencies: object };
    expect(Object.keys(manifest.dependencies)).toEqual(['socks', 'undici', 'zod']);
    const scripts = files.filter((name) => name.endsWith('.js'));
    for (const name of scripts) {
      const text = await readFile(join(at, name), 'utf8');
      expect(/@sotto\/(?:wire|attestation|money)['"]/.test(text), name).toBe(false);
      if (dirname(name) === 'browser') expect(text.includes('allowSimulated'), name).toBe(false);
    }
    const entry = await readFile(join(at, 'browser/index.js'));
    expect(gzipSync(entry).length).toBeLessThan(150_000);
  });
});
