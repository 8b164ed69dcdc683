import { type ChildProcess, execFileSync } from 'node:child_process';
import {
  appendFileSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort, noteSkip, until } from '@sotto/test-servers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { documentedBlock } from '../../kit/documented.ts';
import { canMakeImages, debianMirror, howToMakeImages, startMachine } from './image-making.ts';
import { askPrivately, editSettings, openSurroundings, type Surroundings, writeFiles } from './installed-planes.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const programs = ['mmdebstrap', 'qemu-system-x86_64', 'mke2fs'];
const isAble = canMakeImages(programs);
const guide = 'docs/operate/systemd.md';

/** A Postgres with an account for control. It starts before control. */
const database = `[Unit]
After=postgresql.service postgresql@17-main.service
Requires=postgresql@17-main.service
Before=sotto-control.service
[Service]
Type=oneshot
User=postgres
ExecStart=/usr/bin/psql -c "create role sotto login password 'secret'" -c "create database sotto owner sotto"
RemainAfterExit=yes
[Install]
WantedBy=multi-user.target
`;
/** The commands that an operator types on the machine's console. */
const operator = `[Service]
ExecStart=/bin/bash /root/operator.sh
StandardOutput=file:/dev/ttyS0
StandardError=file:/dev/ttyS0
[Install]
WantedBy=multi-user.target
`;
const typed = `export DESTDIR=
until psql "$(cat /etc/sotto/secrets/database_url)" -c 'select 1'; do sleep 1; done
${documentedBlock(guide, 'systemd-start')}
until curl -sf http://127.0.0.1:4000/readyz; do sleep 2; done
${documentedBlock(guide, 'systemd-account')}
systemctl reload sotto-control && echo RELOADED
`;

describe.skipIf(!isAble)('a machine run by systemd, installed by the guide', () => {
  let folder: string;
  let files: string | undefined;
  let around: Surroundings | undefined;
  let machine: ChildProcess | undefined;
  const ports = { control: 0, broker: 0 };
  const of = (name: string): string => join(folder, name);
  const inTree = (name: string): string => join(folder, 'tree', name);
  const console_ = (): string => (existsSync(of('console')) ? readFileSync(of('console'), 'latin1') : '');

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'sotto-test-machine-'));
    around = await openSurroundings('a machine that systemd runs');
    if (around === undefined) return;
    ports.control = await freePort();
    ports.broker = await freePort();
    const packages = ['systemd', 'systemd-sysv', 'udev', 'kmod', 'dbus', 'initramfs-tools', 'linux-image-cloud-amd64'];
    const servers = ['postgresql', 'redis-server', 'libatomic1', 'openssl', 'curl', 'ca-certificates'];
    execFileSync('mmdebstrap', [
      ...['--quiet', '--mode=root', '--variant=apt', `--include=${[...packages, ...servers].join(',')}`],
      ...['trixie', of('tree'), `deb ${debianMirror()} trixie main`],
    ]);
    execFileSync('bash', ['-euo', 'pipefail', '-c', documentedBlock(guide, 'systemd')], {
      cwd: root,
      env: {
        ...process.env,
        DESTDIR: of('tree'),
        DATABASE_URL: 'postgresql://sotto:secret@127.0.0.1:5432/sotto',
        REDIS_URL: 'redis://127.0.0.1:6379',
        BROKER_REDIS_URL: 'redis://127.0.0.1:6379',
      },
      stdio: 'pipe',
    });
    execFileSync('chown', ['-R', '0:0', inTree('etc/sotto'), inTree('opt')]);
    editSettings(inTree('etc/sotto/sotto.yaml'), [
      ['https://control.example.com', `http://127.0.0.1:${ports.control}`],
      ['https://api.example.com', `https://127.0.0.1:${ports.broker}`],
      ['host: 127.0.0.1', 'host: 0.0.0.0'],
      ['attestation: auto', 'attestation: off'],
      ['# providers_file', 'providers_file'],
      ['# models_file', 'models_file'],
    ]);
    files = writeFiles(around);
    copyFileSync(join(files, 'catalog.yaml'), inTree('etc/sotto/catalog.yaml'));
    copyFileSync(join(files, 'providers.yaml'), inTree('etc/sotto/providers.yaml'));
    // The provider is on the host. Without TLS a broker talks only to its own machine, so this forwards a local port.
    const { port } = new URL(around.provider.baseUrl);
    const units = inTree('etc/systemd/system');
    writeFileSync(
      join(units, 'provider.socket'),
      `[Socket]\nListenStream=127.0.0.1:${port}\n[Install]\nWantedBy=sockets.target\n`,
    );
    writeFileSync(
      join(units, 'provider.service'),
      `[Service]\nExecStart=/usr/lib/systemd/systemd-socket-proxyd 10.0.2.2:${port}\n`,
    );
    appendFileSync(
      inTree('etc/redis/redis.conf'),
      '\nappendonly yes\nappendfsync always\nmaxmemory-policy noeviction\n',
    );
    mkdirSync(inTree('etc/systemd/network'), { recursive: true });
    writeFileSync(inTree('etc/systemd/network/10.network'), '[Match]\nType=ether\n[Network]\nDHCP=yes\n');
    writeFileSync(inTree('etc/systemd/system/database.service'), database);
    writeFileSync(inTree('etc/systemd/system/operator.service'), operator);
    writeFileSync(inTree('root/operator.sh'), typed);
    execFileSync('systemctl', [
      '--quiet',
      `--root=${of('tree')}`,
      'enable',
      'database',
      'operator',
      'systemd-networkd',
      'provider.socket',
    ]);
    // A login prompt would take the console from the operator's commands.
    execFileSync('systemctl', ['--quiet', `--root=${of('tree')}`, 'mask', 'serial-getty@ttyS0']);
    rmSync(inTree('etc/fstab'), { force: true });
    const boot = readdirSync(inTree('boot'));
    copyFileSync(inTree(`boot/${boot.find((name) => name.startsWith('vmlinuz'))}`), of('kernel'));
    copyFileSync(inTree(`boot/${boot.find((name) => name.startsWith('initrd'))}`), of('initrd'));
    execFileSync('truncate', ['-s', '4G', of('disk')]);
    execFileSync('mke2fs', ['-q', '-t', 'ext4', '-d', of('tree'), of('disk')]);
    machine = startMachine({
      ...{ disk: of('disk'), isReadOnly: false, memoryMiB: 3072, console: of('console') },
      boot: { kernel: of('kernel'), initrd: of('initrd'), cmdline: 'root=/dev/vda rw console=ttyS0' },
      forwards: [
        [ports.control, 4000],
        [ports.broker, 4001],
      ],
    });
  }, 1_200_000);
  afterAll(async () => {
    machine?.kill('SIGKILL');
    await around?.stop();
    for (const path of [folder, files]) if (path !== undefined) rmSync(path, { recursive: true, force: true });
  });

  it('has the first account by the guide’s commands, and serves a private request', async (context) => {
    if (around === undefined) return context.skip('no Redis');
    await until(
      () => console_().includes('RELOADED'),
      () => `the operator is done; ${console_().slice(-6000)}`,
      900_000,
    );
    const inferenceKey = /sotto_inf_[\w-]+/.exec(console_())?.[0] ?? '';
    const controlUrl = `http://127.0.0.1:${ports.control}`;
    await until(async () => (await fetch(`${controlUrl}/readyz`)).ok, 'control is ready', 120_000);
    const answered = await askPrivately({ controlUrl, brokerPort: ports.broker, inferenceKey });
    expect(answered.status, `${answered.text} ${console_().slice(-6000)}`).toBe(200);
    expect(around.provider.seen).toHaveLength(1);
  }, 1_100_000);
});

if (!isAble) noteSkip('a machine that systemd runs, installed by the guide', howToMakeImages(programs));
