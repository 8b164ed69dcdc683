import { execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '@sotto/test-servers';
import { beforeAll, describe, expect, it } from 'vitest';
import { useFolder } from '../../kit/folder.ts';
import { until } from '../../kit/service.ts';
import { describeStage } from '../../kit/stage/describe-stage.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const secret = randomBytes(32).toString('base64');
const settings = {
  PATH: process.env.PATH ?? '',
  HOST: '127.0.0.1',
  CONFIDENTIAL_PORT: '0',
  CONFIDENTIAL_TLS: 'off',
  REDIS_URL: 'redis://127.0.0.1:1',
  TICKET_SEALING_KEY: secret,
  SETTLEMENT_MAC_KEY: secret,
};

interface Start {
  readonly environment?: Readonly<Record<string, string>>;
  readonly flags?: readonly string[];
}

/** Starts a broker that is expected to refuse. Resolves to its exit code and its output. */
function start({ environment = {}, flags = ['--disable-sigusr1'] }: Start): Promise<{ code: number; said: string }> {
  const args = ['--conditions=@sotto/source', ...flags, 'apps/confidential/src/main.ts'];
  return new Promise((resolve) => {
    const env = { ...settings, ...environment };
    execFile(process.execPath, args, { cwd: root, env, timeout: 20_000 }, (failure, out, error) => {
      resolve({ code: typeof failure?.code === 'number' ? failure.code : 0, said: `${out}${error}` });
    });
  });
}

describe('a broker does not start', () => {
  const folder = useFolder('hardening');
  const file = (name: string) => join(folder, name);
  beforeAll(async () => {
    await writeFile(file('none.json'), '{"repository":"https://git.example/sotto","commit":"abc"}');
  });

  it.each<[string, Start, RegExp]>([
    ['with variables of Node', { environment: { NODE_OPTIONS: '--no-warnings' } }, /^NODE_OPTIONS is set/],
    ['with another authority', { environment: { NODE_EXTRA_CA_CERTS: '/ca.pem' } }, /^NODE_EXTRA_CA_CERTS is set/],
    ['with a proxy', { environment: { https_proxy: 'http://127.0.0.1:1' } }, /^https_proxy is set/],
    ['with a log of TLS keys', { environment: { SSLKEYLOGFILE: '/keys' } }, /^SSLKEYLOGFILE is set/],
    ['with an inspector', { flags: ['--inspect=0'] }, /Node was started with `--inspect`/],
    [
      'in production where a signal could open one',
      { environment: { NODE_ENV: 'production' }, flags: [] },
      /without `--disable-sigusr1`/,
    ],
    [
      'in production with simulated evidence',
      { environment: { NODE_ENV: 'production', ATTESTATION: 'simulated' } },
      /^ATTESTATION is `simulated`: evidence is not simulated with NODE_ENV=production/,
    ],
    [
      'with hardware that is not there',
      { environment: { ATTESTATION: 'configfs' } },
      /^ATTESTATION is `configfs`: this machine has no \/sys\/kernel\/config\/tsm\/report/,
    ],
    [
      'with an unknown kind of evidence',
      { environment: { ATTESTATION: 'sgx' } },
      /^ATTESTATION is `sgx`: it takes auto/,
    ],
    [
      'with a mirror that is none',
      { environment: { ATTESTATION_COLLATERAL_URL: 'https://mirror.example/' } },
      /^ATTESTATION_COLLATERAL_URL has a value that cannot be used: it takes a base address/,
    ],
    [
      'without its provenance',
      { environment: { PROVENANCE_FILE: '/nowhere.json' } },
      /^PROVENANCE_FILE is `.*readable/,
    ],
  ])('%s, and says which in one line', async (_, how, message) => {
    const { code, said } = await start(how);
    const lines = said.split('\n').filter((line) => line.startsWith('sotto-confidential: '));
    expect(lines).toHaveLength(1);
    expect(lines[0]?.replace('sotto-confidential: ', '')).toMatch(message);
    expect(code).toBe(1);
  });

  it('with a provenance that is malformed, and says which field', async () => {
    const { said } = await start({ environment: { PROVENANCE_FILE: file('none.json') } });
    expect(said).toMatch(/PROVENANCE_FILE is `.*none\.json`: its field `commit` must be a full commit id/);
  });
});

describe('a broker starts', () => {
  const main = ['--conditions=@sotto/source', 'apps/confidential/src/main.ts'];
  const production = { NODE_ENV: 'production', ATTESTATION: 'off' };

  /** Starts a broker under a limit on core dumps, waits until it is live, and passes it to `look`. */
  async function running(
    { environment, flags = [], core = '0' }: Start & { readonly core?: string },
    look: (broker: { pid: number; said: () => string }) => Promise<void>,
  ): Promise<void> {
    const port = await freePort();
    const env = { ...settings, CONFIDENTIAL_PORT: String(port), ...environment };
    const command = `ulimit -S -c ${core} && exec "$0" "$@"`;
    const child = spawn('sh', ['-c', command, process.execPath, ...flags, ...main], { cwd: root, env });
    let said = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (piece) => {
        said += piece;
      });
    }
    try {
      await until(
        async () => child.exitCode !== null || (await fetch(`http://127.0.0.1:${port}/healthz`)).ok,
        () => `it lives; it wrote: ${said}`,
      );
      await look({ pid: child.pid ?? 0, said: () => said });
    } finally {
      child.kill('SIGKILL');
    }
  }

  it('in production with its flag and without core dumps', async () => {
    await running({ environment: production, flags: ['--disable-sigusr1'] }, async ({ said }) => {
      expect(said()).not.toContain('sotto-confidential:');
    });
  });

  it('not in production where core dumps are allowed, and says how to forbid them', async (context) => {
    const start = { environment: production, flags: ['--disable-sigusr1'], core: '8' };
    await running(start, async ({ said }) => {
      if (said().startsWith('sh:')) context.skip('this machine allows nobody a core dump');
      expect(said()).toMatch(/^sotto-confidential: the limit on core dumps is \d+\..*LimitCORE=0/);
    });
  });

  it('in development without the flag, and still opens no inspector on SIGUSR1', async () => {
    await running({}, async ({ pid, said }) => {
      process.kill(pid, 'SIGUSR1');
      await new Promise((resolve) => setTimeout(resolve, 500));
      expect(said()).not.toContain('Debugger listening');
      expect(() => process.kill(pid, 0)).not.toThrow();
    });
  });
});

await describeStage(
  'a broker that runs',
  // Control would write tokens to the output that its log opens a moment later.
  { providers: { alpha: {} }, brokerEnvironment: { UNKNOWN_SERVICE_HOST: '10.0.0.1', LOG_TOKENS: '1' } },
  (stage) => {
    it('opens no inspector on SIGUSR1', async () => {
      process.kill(stage.service.broker.pid, 'SIGUSR1');
      await new Promise((resolve) => setTimeout(resolve, 500));
      await until(async () => (await fetch(stage.service.baseUrl.replace('/v1', '/healthz'))).ok, 'it lives');
      expect(stage.service.logs()).not.toContain('Debugger listening');
    });

    it.skipIf(!existsSync('/proc/self/coredump_filter'))('would put none of its memory into a dump', () => {
      const filter = readFileSync(`/proc/${stage.service.broker.pid}/coredump_filter`, 'utf8');
      expect(Number.parseInt(filter, 16)).toBe(0);
    });

    it('passes no unknown environment variable to a library', () => {
      // With such a variable set, the YAML parser would log every token that it reads.
      expect(stage.service.logs()).not.toContain('acme');
    });
  },
  { planes: ['two'] },
);
