import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort, noteSkip } from '@sotto/test-servers';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { bearer } from '../../kit/client.ts';
import { answerNothing } from '../../kit/provider.ts';
import { post } from '../../kit/send.ts';
import { type TestAccount, until } from '../../kit/service.ts';
import { describeStage } from '../../kit/stage/describe-stage.ts';
import { disguises, found, searchable } from './disguises.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const node = [process.execPath, '--conditions=@sotto/source'] as const;
const marker = `canary${randomBytes(12).toString('hex')}`;
const secret = (): string => randomBytes(32).toString('base64');
const secrets = {
  TICKET_SEALING_KEY: secret(),
  SETTLEMENT_MAC_KEY: secret(),
  ACCOUNT_REF_KEY: secret(),
  SESSION_SECRET: secret(),
};
const sealing = { TICKET_SEALING_KEY: secrets.TICKET_SEALING_KEY, SETTLEMENT_MAC_KEY: secrets.SETTLEMENT_MAC_KEY };

let databaseUrl: string;
let files: string;

interface Crash {
  readonly how: string;
  /** The action of the process on SIGUSR2. */
  readonly hook?: keyof typeof hooks;
  readonly signal?: NodeJS.Signals;
}

/** A process in its own folder, where it may write a core dump. */
class Doomed {
  readonly folder: string;
  readonly #child: ChildProcess;
  readonly #said: Buffer[] = [];

  constructor(folder: string, command: readonly string[], environment: Readonly<Record<string, string>>) {
    this.folder = folder;
    const script = 'ulimit -S -c unlimited 2>/dev/null; exec "$@"';
    this.#child = spawn('sh', ['-c', script, 'sh', ...command], {
      cwd: folder,
      env: { PATH: process.env.PATH ?? '', TMPDIR: folder, HOST: '127.0.0.1', LOG_LEVEL: 'trace', ...environment },
    });
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream?.on('data', (piece: Buffer) => this.#said.push(piece));
  }

  get said(): string {
    return Buffer.concat(this.#said).toString('latin1');
  }

  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /** Resolves to the signal or the exit code with which the process ended. */
  async end(signal: NodeJS.Signals | undefined): Promise<NodeJS.Signals | number | null> {
    const closed = this.hasEnded ? undefined : once(this.#child, 'close');
    if (signal !== undefined) this.#child.kill(signal);
    await closed;
    return this.#child.signalCode ?? this.#child.exitCode;
  }

  /** All output of the process, and all files in its folder. */
  remains(): string {
    return [this.said, ...this.#files().map((path) => readFileSync(path, 'latin1'))].join('\n');
  }

  #files(): string[] {
    const left = readdirSync(this.folder, { recursive: true, withFileTypes: true });
    return left.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }
}

async function withDoomed(
  command: readonly string[],
  environment: Readonly<Record<string, string>>,
  use: (doomed: Doomed) => Promise<void>,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'sotto-crash-'));
  const doomed = new Doomed(folder, command, environment);
  // A test that takes too long never gets to the end of this function.
  onTestFinished(() => doomed.kill());
  try {
    await use(doomed);
  } finally {
    doomed.kill();
    await doomed.end(undefined);
    await rm(folder, { recursive: true });
  }
}

/** SIGUSR2 raises an error that quotes its input, as a parser's errors do, or fills the heap. */
const hooks = {
  throws: "throw new SyntaxError('no place for ' + text + '\\n    at ' + text + ' (x.ts:1:1)', { cause: text });",
  rejects: 'Promise.reject(text);',
  fills: 'const kept = []; for (;;) kept.push(new Array(100_000).fill(text));',
} as const;
const hook = (name: keyof typeof hooks): string => join(files, `${name}.mjs`);

const crashes: readonly Crash[] = [
  { how: 'an error that nobody catches', hook: 'throws' },
  { how: 'a promise that nobody waits for', hook: 'rejects' },
  { how: 'SIGABRT', signal: 'SIGABRT' },
  { how: 'SIGQUIT', signal: 'SIGQUIT' },
];
const flagsOf = (crash: Crash): readonly string[] => (crash.hook === undefined ? [] : [`--import=${hook(crash.hook)}`]);

/** Ends the process, and expects exactly this kind of end. */
async function crash(doomed: Doomed, { signal = 'SIGUSR2', hook }: Crash): Promise<void> {
  const ended = await doomed.end(signal);
  expect(ended).toBe(hook === undefined ? signal : 1);
  if (hook !== undefined) expect(doomed.said).toMatch(/\nsotto-\w+: ended by an unexpected |^sotto-\w+: ended by/);
}

const expectNothing = (doomed: Doomed, texts: Readonly<Record<string, string>>): void => {
  const forms = Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, disguises(text)]));
  expect(found(searchable(doomed.remains()), forms)).toEqual([]);
};

describe('a process that does not forbid it', () => {
  it('leaves its content in its core dump, where this test finds it', async (context) => {
    await withDoomed(['sh', '-c', 'echo up; exec sleep 60'], { KEPT: marker }, async (doomed) => {
      await until(() => doomed.said.includes('up'), 'it runs');
      await doomed.end('SIGABRT');
      if (readdirSync(doomed.folder).length === 0) {
        noteSkip('the search of dumps', 'let /proc/sys/kernel/core_pattern be `core`, with no hard limit on dumps.');
        return context.skip('this machine writes no dumps here');
      }
      expect(found(doomed.remains(), { it: [marker] })).toHaveLength(1);
    });
  });

  it('leaves its content in its last output', async () => {
    const script = 'setTimeout(() => { throw new Error(process.env.KEPT) }, 10)';
    await withDoomed([process.execPath, '-e', script], { KEPT: marker }, async (doomed) => {
      await doomed.end(undefined);
      expect(found(doomed.remains(), { it: [marker] })).toHaveLength(1);
    });
  });
});

await describeStage(
  'what a crash leaves behind',
  async (servers) => {
    ({ databaseUrl } = servers);
    files = await mkdtemp(join(tmpdir(), 'sotto-crash-files-'));
    await writeFile(join(files, 'marker'), marker);
    for (const [name, statement] of Object.entries(hooks)) {
      const text = `readFileSync(${JSON.stringify(join(files, 'marker'))}, 'utf8')`;
      const listener = `() => { const text = ${text}; ${statement} }`;
      await writeFile(
        join(files, `${name}.mjs`),
        `import { readFileSync } from 'node:fs'; process.on('SIGUSR2', ${listener});`,
      );
    }
    return {
      // The provider never answers, so that the request stays in the broker's memory.
      providers: { alpha: { answers: answerNothing } },
      models: { 'm/one': { routes: { alpha: [0.001, 0.001] } } },
      limits: { context_length: 100_000_000, max_output_tokens: 10 },
      environment: sealing,
      controlEnvironment: secrets,
      stop: () => rm(files, { recursive: true }),
    };
  },
  (stage) => {
    let account: TestAccount;
    beforeAll(async () => {
      await writeFile(join(files, 'providers.yaml'), stage.files.registry);
      await writeFile(join(files, 'catalog.yaml'), stage.files.catalog);
      account = await stage.service.createAccount({ usd: 100 });
    });

    describe('a broker that ends while it holds content leaves none of it, by', { timeout: 120_000 }, () => {
      const broker = async (
        flags: readonly string[],
        use: (doomed: Doomed, url: string) => Promise<void>,
      ): Promise<void> => {
        const port = await freePort();
        const environment = {
          ...sealing,
          REDIS_URL: stage.service.redisUrl ?? '',
          CONFIDENTIAL_TLS: 'off',
          CONFIDENTIAL_PORT: String(port),
          PROVIDERS_FILE: join(files, 'providers.yaml'),
        };
        const command = [...node, ...flags, join(root, 'apps/confidential/src/main.ts')];
        await withDoomed(command, environment, async (doomed) => {
          const url = `http://127.0.0.1:${port}`;
          await until(
            async () => (await fetch(`${url}/readyz`)).ok,
            () => `it is ready; it said: ${doomed.said}`,
          );
          await use(doomed, url);
        });
      };
      /** Sends a request that stays in flight. */
      const askIt = async (url: string, text: string): Promise<void> => {
        const before = stage.provider('alpha').seen.length;
        const body = { model: 'm/one', messages: [{ role: 'user', content: text }] };
        void post(`${url}/v1/chat/completions`, body, bearer(account.inferenceKey));
        await until(() => stage.provider('alpha').seen.length > before, 'the provider was asked');
      };

      it.for(crashes)('$how', async (how) => {
        await broker(flagsOf(how), async (doomed, url) => {
          await askIt(url, `Say ${marker}`);
          await crash(doomed, how);
          expectNothing(doomed, { content: marker, key: account.inferenceKey, ...sealing });
        });
      });

      it('running out of memory', async () => {
        await broker([`--import=${hook('fills')}`, '--max-old-space-size=64'], async (doomed, url) => {
          await askIt(url, `Say ${marker}`);
          expect(await doomed.end('SIGUSR2')).toBe('SIGABRT');
          expect(doomed.said).toContain('heap out of memory');
          expectNothing(doomed, { content: marker, key: account.inferenceKey, ...sealing });
        });
      });
    });

    describe('a control plane that ends while it holds keys and passwords leaves none of them, by', {
      timeout: 120_000,
    }, () => {
      it.for(crashes.filter(({ hook, signal }) => hook === 'throws' || signal === 'SIGABRT'))('$how', async (how) => {
        const port = await freePort();
        const environment = {
          ...secrets,
          SIGN_UP: 'open',
          REDIS_URL: stage.service.redisUrl ?? '',
          DATABASE_URL: databaseUrl,
          CONTROL_PORT: String(port),
          CATALOG_FILE: join(files, 'catalog.yaml'),
        };
        const command = [...node, ...flagsOf(how), join(root, 'apps/control/src/main.ts'), 'serve'];
        await withDoomed(command, environment, async (doomed) => {
          const url = `http://127.0.0.1:${port}`;
          await until(
            async () => (await fetch(`${url}/readyz`)).ok,
            () => `it is ready; it said: ${doomed.said}`,
          );
          const password = `pw-${randomBytes(12).toString('hex')}`;
          const minted = await post(`${url}/v1/inference/tickets`, { model: 'm/one' }, bearer(account.inferenceKey));
          const { ticket } = JSON.parse(minted.text) as { ticket: string };
          // The service is hashing this password when it ends.
          void post(
            `${url}/v1/auth/sign-up/email`,
            { name: 'x', email: `${randomBytes(6).toString('hex')}@x.example`, password },
            {},
          );
          await new Promise((resolve) => setTimeout(resolve, 10));
          await crash(doomed, how);
          expectNothing(doomed, { marker, key: account.inferenceKey, ticket, password, ...secrets });
        });
      });
    });
  },
  { planes: ['two'] },
);
