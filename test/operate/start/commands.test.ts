import { createHash, createPublicKey } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { documentedBlock as block } from '../../kit/documented.ts';
import { useFolder } from '../../kit/folder.ts';
import { type Ran, runToEnd } from '../../kit/programs.ts';
import { type OwnStage, startOwnStage } from '../../kit/stage/own-stage.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const documents = [
  'README.md',
  'CONTRIBUTING.md',
  ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' }).map((name) => `docs/${name}`),
].filter((name) => name.endsWith('.md'));

/** Every shell block of a document, with the name of its test if it has one. */
const blocksOf = (path: string): { readonly name: string | undefined; readonly script: string }[] =>
  [...read(path).matchAll(/(?:<!-- test: ([\w-]+) -->\n)?```sh\n(.*?)```/gs)].map(([, name, script = '']) => ({
    name,
    script,
  }));

/** Blocks that start the tests themselves, or list commands. */
const lists = ['git clone ', 'npm start\n', 'npm test\n', 'npm run check ', 'npm run bench ', 'npm test -- '];

function sourcesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return entry.name === 'node_modules' ? [] : sourcesBelow(path);
    return entry.name.endsWith('.test.ts') ? [path] : [];
  });
}

describe('the commands in the documents', () => {
  it('are each executed by a test, which names the block and the document', () => {
    const tests = sourcesBelow(join(root, 'test')).map((path) => readFileSync(path, 'utf8'));
    const missing = documents.flatMap((path) =>
      blocksOf(path)
        .filter(({ script }) => !lists.some((beginning) => script.startsWith(beginning)))
        .filter(({ name }) => {
          if (name === undefined) return true;
          const file = path.slice(path.lastIndexOf('/') + 1);
          const executes = (text: string): boolean =>
            new RegExp(`['"\`.]${name}\\b`).test(text) || text.includes('matchAll(/<!-- test');
          return !tests.some((text) => text.includes(file) && executes(text));
        })
        .map(({ name, script }) => `${path}: ${name ?? script}`),
    );
    expect(missing).toEqual([]);
  });
});

describe('commands that do not need the service of npm start', () => {
  const folder = useFolder('commands');
  const bin = join(folder, 'bin');
  let stage: OwnStage | undefined;
  beforeAll(async () => {
    mkdirSync(bin);
    // Handles `npm run control -- …` in this folder, because npm itself would run in the project's.
    writeFileSync(
      join(bin, 'npm'),
      `#!/bin/sh\nshift 3\nexec ${process.execPath} --conditions=@sotto/source --disable-warning=ExperimentalWarning ${root}apps/control/src/main.ts "$@"\n`,
      { mode: 0o755 },
    );
    stage = await startOwnStage('the commands of the guides that look at a service');
  });
  afterAll(() => stage?.stop());

  const run = async (script: string, environment: Readonly<Record<string, string>> = {}): Promise<Ran> => {
    const env = { PATH: `${bin}:${process.env.PATH}`, HOME: folder, ...environment };
    const ran = await runToEnd('bash', ['-uc', script], folder, env);
    return { ...ran, out: `${ran.out}\n${ran.error}` };
  };

  it('docs/use/billing.md: the file is checked', async () => {
    cpSync(join(root, 'apps/control/billing.yaml'), join(folder, 'billing.yaml'));
    expect(await run(block('docs/use/billing.md', 'check'))).toMatchObject({ code: 0 });
    writeFileSync(join(folder, 'billing.yaml'), 'packages: none\n');
    expect((await run(block('docs/use/billing.md', 'check'))).code).not.toBe(0);
  });

  it('CONTRIBUTING.md: registry and catalog are checked', async () => {
    cpSync(join(root, 'apps/control/catalog.yaml'), join(folder, 'catalog.yaml'));
    cpSync(join(root, 'apps/confidential/providers.yaml'), join(folder, 'providers.yaml'));
    const checked = await run(block('CONTRIBUTING.md', 'catalog-check'));
    expect(checked.code, checked.out).toBe(0);
  });

  it('docs/operate/monitoring-and-runbooks.md and billing.md: a service is examined, and a refund wants an order that there is', async (context) => {
    if (stage === undefined) return context.skip('no Redis');
    const { service } = stage;
    const environment = {
      ...service.secrets,
      DATABASE_URL: service.pool.options.connectionString ?? '',
      REDIS_URL: service.redisUrl ?? '',
      CONTROL_ORIGIN: new URL(service.controlUrl).origin,
      CONFIDENTIAL_ORIGIN: new URL(service.baseUrl).origin,
    };
    const examined = await run(block('docs/operate/monitoring-and-runbooks.md', 'doctor'), environment);
    // This Redis is for tests. It may be the only problem.
    const wrong = examined.out.split('\n').filter((line) => line.startsWith('WRONG'));
    expect(
      wrong.filter((line) => !/redis|catalog/i.test(line)),
      examined.out,
    ).toEqual([]);
    const refunded = await run(block('docs/use/billing.md', 'refund'), environment);
    expect(refunded.code).not.toBe(0);
    expect(refunded.out).toMatch(/order/i);
  });

  it('docs/operate/confidential-vm.md: the images are built from files that there are, with the time of the commit', async () => {
    writeFileSync(join(bin, 'docker'), `#!/bin/sh\necho "$@" >> ${folder}/told\n`, { mode: 0o755 });
    const { code } = await run(`cd ${root}; ${block('docs/operate/confidential-vm.md', 'build')}`);
    expect(code).toBe(0);
    const told = readFileSync(join(folder, 'told'), 'utf8').trim().split('\n');
    expect(told).toHaveLength(2);
    for (const line of told) {
      const [, file = '', time] =
        /^build -f (\S+) --build-arg SOURCE_DATE_EPOCH=(\d+) -t sotto-\w+ \.$/.exec(line) ?? [];
      expect(existsSync(join(root, file)), line).toBe(true);
      expect(Number(time)).toBeGreaterThan(1_700_000_000);
    }
  });

  it('docs/use/verifying.md: the key of a connection is what the server has', async () => {
    const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
    const fresh = `openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=x -keyout ${key} -out ${cert}`;
    expect((await run(fresh)).code).toBe(0);
    const server: Server = createServer({ key: readFileSync(key), cert: readFileSync(cert) });
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const script = block('docs/use/verifying.md', 'tls-key').replace('api.example.com:443', `127.0.0.1:${port}`);
    const shown = await run(script);
    server.close();
    const spki = createPublicKey(readFileSync(key)).export({ type: 'spki', format: 'der' });
    expect(shown.out).toContain(createHash('sha256').update(spki).digest('hex'));
  });
});
