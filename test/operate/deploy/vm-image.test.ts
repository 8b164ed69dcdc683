import { type ChildProcess, execFileSync, spawnSync } from 'node:child_process';
import {
  appendFileSync,
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AcmeAuthority, hasAcme, howToHaveAcme, startAcmeAuthority } from '../../kit/acme-authority.ts';
import { certificateAt } from '../../kit/certificate-at.ts';
import { documentedBlock } from '../../kit/documented.ts';
import { freePort } from '../../kit/free-port.ts';
import { redisSkipReason, startOwnRedis, type TestRedis } from '../../kit/redis.ts';
import { noteSkip } from '../../kit/skips.ts';
import { until } from '../../kit/until.ts';
import { canMakeImages, debianMirror, howToMakeImages } from './image-making.ts';
import { startMachine } from './qemu.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const script = join(root, 'deploy/confidential-vm/make-image.sh');
const programs = ['mmdebstrap', 'qemu-system-x86_64'];
const isAble = canMakeImages(programs);
const firmware = '/usr/share/ovmf/OVMF.fd';
const epoch = '1790000000';

describe('the script that makes the image of a VM', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sotto-test-vm-args-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  const run = (args: readonly string[], environment: Readonly<Record<string, string>> = {}) =>
    spawnSync('bash', [script, ...args], { encoding: 'utf8', env: { PATH: process.env.PATH, ...environment } });

  it('says what it takes', () => {
    expect(run([])).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('usage: make-image.sh BROKER SETTINGS OUT'),
    });
  });

  it.skipIf(process.getuid?.() !== 0 || spawnSync('sh', ['-c', 'command -v mmdebstrap']).status !== 0)(
    'takes no folder that is no broker, and no secret into what is public',
    () => {
      expect(run([folder, folder, join(folder, 'out')]).stderr).toContain('is no broker: make it with');
      mkdirSync(join(folder, 'broker/bin'), { recursive: true });
      writeFileSync(join(folder, 'broker/bin/node'), '', { mode: 0o755 });
      const broker = join(folder, 'broker');
      expect(run([broker, folder, join(folder, 'out')]).stderr).toContain('broker.env is missing');
      for (const line of ['REDIS_URL=redis://u:p@r', 'OPENAI_API_KEY=sk-1', 'TICKET_SEALING_KEY=AA']) {
        writeFileSync(join(folder, 'broker.env'), `${line}\n`);
        expect(run([broker, folder, join(folder, 'out')])).toMatchObject({
          status: 1,
          stderr: expect.stringContaining('an image is public: secrets do not belong into broker.env'),
        });
      }
      writeFileSync(join(folder, 'broker.env'), 'TLS_REQUEST_FILE=/var/lib/sotto-broker/request.pem\n');
      writeFileSync(join(folder, 'acme.env'), 'ACME_DIRECTORY=https://authority.example/dir\n');
      expect(run([broker, folder, join(folder, 'out')]).stderr).toContain('acme.env has no ACME_EMAIL');
      writeFileSync(
        join(folder, 'acme.env'),
        'ACME_DIRECTORY=https://authority.example/dir\nACME_EMAIL=o@example.com\n',
      );
      expect(run([broker, folder, join(folder, 'out')]).stderr).toContain(
        'broker.env has the line TLS_CERT_FILE=/var/lib/sotto-broker/chain.pem',
      );
    },
  );
});

describe.skipIf(!isAble)('a virtual machine of the image', () => {
  let folder: string;
  let redis: TestRedis | undefined;
  let authority: AcmeAuthority | undefined;
  /** Where the authority asks whether the machine holds its name: of the first machine. */
  const asked: number[] = [];
  const machines: ChildProcess[] = [];
  const of = (name: string): string => join(folder, name);

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'sotto-test-vm-'));
    redis = await startOwnRedis({ appendOnly: true });
    if (redis === undefined) return noteSkip('a virtual machine of the image', redisSkipReason);
    byTheGuide();
    const secret = Buffer.alloc(32, 7).toString('base64');
    mkdirSync(of('settings'), { recursive: true });
    writeFileSync(
      of('settings/broker.env'),
      [
        ...['CONFIDENTIAL_ORIGIN=https://api.example.com', 'HOST=0.0.0.0', 'CONFIDENTIAL_PORT=443', 'ATTESTATION=off'],
        // No hardware is here to release these to; on the host's side of the machine's network is the test's Redis.
        `REDIS_URL=redis://10.0.2.2:${new URL(redis.url).port}`,
        ...[`TICKET_SEALING_KEY=${secret}`, `SETTLEMENT_MAC_KEY=${secret}`, ''],
      ].join('\n'),
    );
    if (hasAcme()) {
      asked.push(await freePort());
      authority = await startAcmeAuthority(asked[0] ?? 0);
      guided('vm-certificate', {
        ...{ WORK: folder, EMAIL: 'operator@example.com', AUTHORITY: `https://10.0.2.2:${authority.port}/dir` },
      });
      writeFileSync(of('settings/directory-ca.pem'), authority.caPem);
      appendFileSync(
        of('settings/acme.env'),
        'LEGO_CA_CERTIFICATES=/etc/sotto/directory-ca.pem\nLEGO_CA_SERVER_NAME=localhost\n',
      );
    } else noteSkip('an ACME client within a virtual machine', howToHaveAcme);
    make('image');
  }, 1_200_000);
  afterAll(async () => {
    for (const machine of machines) machine.kill('SIGKILL');
    authority?.stop();
    await redis?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Runs a block of the guide. */
  function guided(name: string, environment: Readonly<Record<string, string>>): void {
    execFileSync('bash', ['-euo', 'pipefail', '-c', documentedBlock('docs/guides/confidential-vm.md', name)], {
      ...{ cwd: root, env: { ...process.env, ...environment }, maxBuffer: 1 << 26 },
    });
  }

  /** What the guide says makes the image: of the broker that all the tests take, with settings for hardware. */
  function byTheGuide(): void {
    guided('vm-image', {
      ...{ WORK: of('guide'), KEEPER_CA: '/etc/ssl/certs/ca-certificates.crt', DEBIAN_SNAPSHOT: debianMirror() },
    });
    expect(readdirSync(of('guide/image')).sort()).toEqual([
      'boot.efi',
      'cmdline',
      'disk.raw',
      'initrd',
      'kernel',
      'measured.json',
    ]);
  }

  function make(out: string): Record<string, unknown> {
    const environment = {
      ...process.env,
      ...{
        SOURCE_DATE_EPOCH: epoch,
        DEBIAN_SNAPSHOT: debianMirror(),
        ALLOW_SECRETS: 'yes',
        EXTRA_CMDLINE: 'console=ttyS0',
      },
    };
    execFileSync('bash', [script, of('guide/broker'), of('settings'), of(out)], {
      env: environment,
      maxBuffer: 1 << 26,
    });
    return JSON.parse(readFileSync(join(of(out), 'measured.json'), 'utf8')) as Record<string, unknown>;
  }

  /** Starts a machine without hardware for attestation: booted directly by its host, or by firmware from the disk alone. */
  async function boot(disk: string, how: 'directly' | 'by UEFI' = 'directly') {
    const first = asked.shift();
    const [port, lego] = [await freePort(), first ?? (await freePort())];
    const log = of(`console-${port}`);
    const direct = {
      ...{ kernel: of('image/kernel'), initrd: of('image/initrd') },
      cmdline: readFileSync(of('image/cmdline'), 'utf8'),
    };
    const machine = startMachine({
      ...{ disk, isReadOnly: true, memoryMiB: 2048, console: log },
      boot: how === 'directly' ? direct : { firmware },
      forwards: [
        [port, 443],
        [lego, 8443],
      ],
    });
    machines.push(machine);
    const ended = new Promise<number | null>((resolve) => void machine.once('exit', resolve));
    return {
      port,
      /** Whether it is the one that the authority meets. */
      isAsked: first !== undefined,
      ended,
      end: () => machine.kill('SIGKILL'),
      console: () => (existsSync(log) ? readFileSync(log, 'latin1') : ''),
    };
  }

  const health = (port: number): Promise<number | undefined> =>
    new Promise((resolve) => {
      const options = { host: '127.0.0.1', port, path: '/healthz', rejectUnauthorized: false, timeout: 5000 };
      const asked = request(options, (answer) => {
        answer.resume();
        resolve(answer.statusCode);
      });
      asked.on('timeout', () => asked.destroy());
      asked.on('error', () => resolve(undefined));
      asked.end();
    });

  it.each(['directly', 'by UEFI'] as const)(
    'boots %s, and is the broker over TLS',
    async (how) => {
      if (redis === undefined) return;
      if (how === 'by UEFI' && !existsSync(firmware)) return noteSkip('a boot by UEFI', '`apt install ovmf`.');
      const machine = await boot(of('image/disk.raw'), how);
      await until(
        async () => (await health(machine.port)) === 200,
        () => `the broker answers; ${machine.console().slice(-6000)}`,
        480_000,
      );
      expect(machine.console()).not.toContain('login:');
      if (machine.isAsked) {
        const issuer = async () => (await certificateAt(machine.port)).issuer;
        await until(
          async () => (await issuer()).includes('Pebble'),
          () => `the authority’s certificate is served; ${machine.console().slice(-6000)}`,
          480_000,
        );
        expect((await certificateAt(machine.port)).subjectAltName).toBe('DNS:api.example.com');
      }
      machine.end();
    },
    1_000_000,
  );

  it.each([
    // The first block says where everything is.
    ['a root in which one byte is another', 1, 200, /verity: .* data block 0 is corrupted/],
    ['a hash tree that is none', 2, 0, /reboot: Power down/],
  ])(
    'does not boot from %s: it ends, without a shell',
    async (_, partition, at, said) => {
      if (redis === undefined) return;
      copyFileSync(of('image/disk.raw'), of('tampered.raw'));
      const disk = openSync(of('tampered.raw'), 'r+');
      // The table of partitions begins in the third block; an entry has where its partition begins at byte 32.
      const first = Buffer.alloc(8);
      readSync(disk, first, 0, 8, 2 * 512 + 128 * partition + 32);
      writeSync(disk, Buffer.from([1]), 0, 1, Number(first.readBigUInt64LE()) * 512 + at);
      closeSync(disk);
      const machine = await boot(of('tampered.raw'));
      expect(await machine.ended).toBe(0);
      expect(machine.console()).toMatch(said);
      expect(machine.console()).not.toMatch(/login:|sh-\d|:\/#/);
      expect(await health(machine.port)).toBeUndefined();
    },
    500_000,
  );

  it('is the same to the byte when it is made again', () => {
    const [first, again] = [JSON.parse(readFileSync(of('image/measured.json'), 'utf8')) as unknown, make('again')];
    expect(again).toEqual(first);
    expect(spawnSync('cmp', [of('image/disk.raw'), of('again/disk.raw')], { encoding: 'utf8' }).stdout).toBe('');
  }, 1_200_000);
});

if (!isAble) noteSkip('a virtual machine of the broker’s image', howToMakeImages(programs));
