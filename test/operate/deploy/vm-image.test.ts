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
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { madeFirmware } from '@sotto/attestation/testing';
import { hashFile, measureBoot, measureSnp, readPins } from '@sotto/client';
import { freePort, noteSkip, onPath, redisSkipReason, startOwnRedis, type TestRedis, until } from '@sotto/test-servers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundle } from '../../../scripts/bundle.mjs';
import {
  type AcmeAuthority,
  certificateAt,
  hasAcme,
  howToHaveAcme,
  startAcmeAuthority,
} from '../../kit/acme-authority.ts';
import { documentedBlock } from '../../kit/documented.ts';
import { useFolder } from '../../kit/folder.ts';
import { canMakeImages, debianMirror, howToMakeImages, startMachine } from './image-making.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const script = join(root, 'deploy/confidential-vm/make-image.sh');
const programs = ['mmdebstrap', 'qemu-system-x86_64'];
const isAble = canMakeImages(programs);
const firmware = '/usr/share/ovmf/OVMF.fd';
const epoch = '1790000000';
const documentedTls = documentedBlock('docs/operate/confidential-vm.md', 'vm-tls', 'yaml').replace('broker:\n', '');

describe('the script that makes the image of a VM', () => {
  const folder = useFolder('vm-args');
  const run = (args: readonly string[], environment: Readonly<Record<string, string>> = {}) =>
    spawnSync('bash', [script, ...args], { encoding: 'utf8', env: { PATH: process.env.PATH, ...environment } });

  it('explains its arguments', () => {
    expect(run([])).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('usage: make-image.sh BROKER SETTINGS OUT'),
    });
  });

  it.skipIf(process.getuid?.() !== 0 || onPath('mmdebstrap') === undefined)(
    'refuses a folder that is not a broker, and a secret among public settings',
    async () => {
      expect(run([folder, folder, join(folder, 'out')]).stderr).toContain('is not a broker image; create it with');
      const broker = join(folder, 'broker');
      mkdirSync(join(broker, 'bin'), { recursive: true });
      mkdirSync(join(broker, 'apps/confidential'), { recursive: true });
      symlinkSync(process.execPath, join(broker, 'bin/node'));
      const entries = { 'settings-file': 'packages/server/src/settings/settings-file.ts' };
      await bundle({ root, entries, out: join(broker, 'apps/confidential/dist') });
      const refused = (): string => {
        const { status, stderr } = run([broker, folder, join(folder, 'out')]);
        expect(status).toBe(1);
        return stderr;
      };
      const write = (name: string, text: string): void => writeFileSync(join(folder, name), text);
      expect(refused()).toContain('sotto.yaml is missing; `sotto-control config split');
      write('sotto.yaml', 'data: {redis_url: "redis://u:p@r"}\n');
      expect(refused()).toMatch(
        /sotto\.yaml:1: `data\.redis_url` must be a reference to a secret.*correct sotto\.yaml/s,
      );
      write('sotto.yaml', 'secrets: {ticket_sealing_key: file:key, settlement_mac_key: env:KEY}\n');
      expect(refused()).toContain(
        'must not refer to secrets: secrets.ticket_sealing_key secrets.settlement_mac_key; set broker.keeper',
      );
      write('sotto.yaml', 'broker:\n  tls:\n    request_file: /var/lib/sotto-broker/request.pem\n');
      write('providers.yaml', 'providers: []\n');
      write('broker/apps/confidential/providers.yaml', 'providers: [1]\n');
      expect(refused()).toContain('providers.yaml is not the registry of');
      write('broker/apps/confidential/providers.yaml', 'providers: []\n');
      write('acme.env', 'ACME_DIRECTORY=https://authority.example/dir\n');
      expect(refused()).toContain('acme.env has no ACME_EMAIL');
      write('acme.env', 'ACME_DIRECTORY=https://authority.example/dir\nACME_EMAIL=o@example.com\n');
      expect(refused()).toContain(
        'this line below broker.tls in sotto.yaml: cert_file: /var/lib/sotto-broker/chain.pem',
      );
    },
  );
});

describe.skipIf(!isAble)('a virtual machine of the image', () => {
  let folder: string;
  let redis: TestRedis | undefined;
  let authority: AcmeAuthority | undefined;
  /** The ports, on the first machine, on which the authority checks the machine's name. */
  const asked: number[] = [];
  const machines: ChildProcess[] = [];
  const of = (name: string): string => join(folder, name);

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'sotto-test-vm-'));
    redis = await startOwnRedis({ appendOnly: true });
    if (redis === undefined) return noteSkip('a virtual machine of the image', redisSkipReason);
    byTheGuide();
    mkdirSync(of('settings'), { recursive: true });
    writeFileSync(of('OVMF.fd'), madeFirmware());
    writeFileSync(of('settings/key'), Buffer.alloc(32, 7).toString('base64'));
    // Without hardware these secrets cannot be released. The test's Redis is on the host's side of the machine's network.
    writeFileSync(
      of('settings/sotto.yaml'),
      `data: {redis_url: "redis://10.0.2.2:${new URL(redis.url).port}"}
secrets: {ticket_sealing_key: file:key, settlement_mac_key: file:key}
broker:
  origin: https://api.example.com
  port: 443
  attestation: off
${hasAcme() ? documentedTls : ''}`,
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
    execFileSync('bash', ['-euo', 'pipefail', '-c', documentedBlock('docs/operate/confidential-vm.md', name)], {
      ...{ cwd: root, env: { ...process.env, ...environment }, maxBuffer: 1 << 26 },
    });
  }

  /** Builds the image as the guide does, from the broker that all the tests use, with settings for hardware. */
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
        MEASURE: `sev-snp --firmware ${of('OVMF.fd')} --vcpus 2 --cpu EPYC-Milan`,
      },
    };
    execFileSync('bash', [script, of('guide/broker'), of('settings'), of(out)], {
      env: environment,
      maxBuffer: 1 << 26,
    });
    return JSON.parse(readFileSync(join(of(out), 'measured.json'), 'utf8')) as Record<string, unknown>;
  }

  /**
   * Starts a machine without hardware for attestation. It is booted directly by the host, or by firmware from the disk
   * alone.
   */
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
      /** Whether this is the machine that the authority contacts. */
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

  it.for(['directly', 'by UEFI'] as const)(
    'boots %s, and serves as the broker over TLS',
    { timeout: 1_000_000 },
    async (how, context) => {
      if (redis === undefined) return context.skip('no Redis');
      if (how === 'by UEFI' && !existsSync(firmware)) {
        noteSkip('a boot by UEFI', '`apt install ovmf`.');
        return context.skip('no firmware');
      }
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
  );

  it.for<[string, number, number, RegExp]>([
    // The first block holds the layout.
    ['a root in which one byte is another', 1, 200, /verity: .* data block 0 is corrupted/],
    ['a hash tree that is none', 2, 0, /reboot: Power down/],
  ])(
    'does not boot from %s: it stops, without a shell',
    { timeout: 500_000 },
    async ([, partition, at, said], context) => {
      if (redis === undefined) return context.skip('no Redis');
      copyFileSync(of('image/disk.raw'), of('tampered.raw'));
      const disk = openSync(of('tampered.raw'), 'r+');
      // The partition table begins in the third block. An entry stores the start of its partition at byte 32.
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
  );

  it('is identical to the byte when it is built again', { timeout: 1_200_000 }, (context) => {
    if (redis === undefined) return context.skip('no Redis');
    const [first, again] = [JSON.parse(readFileSync(of('image/measured.json'), 'utf8')) as unknown, make('again')];
    expect(again).toEqual(first);
    // Those who build the image again compute the same pins, and `sotto measure` computes them from the files alone.
    const pins = readFileSync(of('image/pins.json'), 'utf8');
    expect(readFileSync(of('again/pins.json'), 'utf8')).toBe(pins);
    const boot = {
      kernel: readFileSync(of('again/kernel')),
      initrd: hashFile([readFileSync(of('again/initrd'))]),
      commandLine: readFileSync(of('again/cmdline'), 'utf8'),
    };
    expect(again.tdx).toEqual(measureBoot({ ...boot, memory: 2 ** 32 }));
    const pin = measureSnp({ ...boot, firmware: madeFirmware(), vcpus: 2, cpuType: 'EPYC-Milan' });
    expect(readPins(pins)).toMatchObject({ gateway: { sev_snp: { measurements: [pin] } } });
    expect(spawnSync('cmp', [of('image/disk.raw'), of('again/disk.raw')], { encoding: 'utf8' }).stdout).toBe('');
  });
});

if (!isAble) noteSkip('a virtual machine of the broker’s image', howToMakeImages(programs));
