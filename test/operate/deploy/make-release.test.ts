import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { madeFirmware, madeInitrd, madeKernel } from '@sotto/attestation/testing';
import { readPins } from '@sotto/client';
import { expect, it } from 'vitest';
import { documentedBlock } from '../../kit/documented.ts';
import { useFolder } from '../../kit/folder.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const script = join(root, 'deploy/release/make-release.mjs');
const folder = useFolder('make-release');
const at = (name: string): string => join(folder, name);
const tag = `v${(JSON.parse(readFileSync(join(root, 'packages/client/package.json'), 'utf8')) as { version: string }).version}`;
const manifest = '{"schemaVersion":2}';
const imageDigest = createHash('sha256').update(manifest).digest('hex');

/** A stand-in of Docker, which writes an archive and what BuildKit says about it. */
function installDocker(): string {
  mkdirSync(at('bin'));
  mkdirSync(at('image.oci/blobs/sha256'), { recursive: true });
  writeFileSync(at(`image.oci/blobs/sha256/${imageDigest}`), manifest);
  writeFileSync(at('image.oci/index.json'), JSON.stringify({ manifests: [{ digest: `sha256:${imageDigest}` }] }));
  writeFileSync(
    at('bin/docker'),
    `#!/bin/bash
    set -eu
    # With its own attestations, BuildKit's digest changes with the time.
    [[ " $* " = *" --provenance=false --sbom=false "* ]]
    while [ $# -gt 0 ]; do
      case $1 in
        --metadata-file) echo '{"containerimage.digest":"sha256:${imageDigest}"}' > "$2"; shift ;;
        --output) tar --create --directory '${at('image.oci')}' --file "\${2##*dest=}" blobs index.json; shift ;;
        --file) test -f "$2"; shift ;;
      esac
      shift
    done`,
    { mode: 0o755 },
  );
  return at('bin');
}

it('explains what is wrong before it builds anything', () => {
  const run = (...args: string[]) => spawnSync(process.execPath, [script, ...args], { cwd: root, encoding: 'utf8' });
  expect(run()).toMatchObject({ status: 1, stderr: expect.stringContaining('usage: make-release.mjs TAG OUT') });
  expect(run('v99.0.0', at('none'))).toMatchObject({
    status: 1,
    stderr: expect.stringContaining(`tag ${tag}, or run`),
  });
  expect(run(tag, root)).toMatchObject({ status: 1, stderr: expect.stringContaining('is not empty') });
});

it('builds a release of an operator, which users pin by their log', () => {
  for (const name of ['image', 'release']) mkdirSync(at(name));
  writeFileSync(at('release/OVMF.fd'), madeFirmware());
  writeFileSync(at('image/kernel'), madeKernel());
  writeFileSync(at('image/initrd'), madeInitrd());
  writeFileSync(at('image/cmdline'), 'root=/dev/mapper/root');
  writeFileSync(at('image/disk.raw'), 'disk');
  const firmware = { sev_snp_tcb: { milan: { snp: 24 } } };
  writeFileSync(at('release/minimum-firmware.json'), JSON.stringify(firmware));
  const machine = (vcpus: string) => [
    ...[
      'sev-snp',
      '--firmware',
      at('release/OVMF.fd'),
      '--vcpus',
      vcpus,
      '--cpu',
      'EPYC-Milan',
      '--name',
      `${vcpus} vCPUs`,
    ],
  ];
  writeFileSync(at('release/machines.json'), JSON.stringify([machine('2'), machine('4')]));
  const env = {
    ...process.env,
    PATH: `${installDocker()}:${process.env.PATH}`,
    RELEASE: at('release'),
    VM_IMAGE: at('image'),
  };
  execFileSync(process.execPath, [script, tag, at('out')], { cwd: root, env, stdio: ['ignore', 'pipe', 'inherit'] });

  const statement = JSON.parse(readFileSync(at('out/statement.json'), 'utf8'));
  const disk = createHash('sha256').update('disk').digest('hex');
  expect(statement).toMatchObject({
    subject: [
      { name: 'sotto-broker', digest: { sha256: imageDigest } },
      { name: 'sotto-control' },
      { name: 'sotto-broker-vm', digest: { sha256: disk } },
    ],
    predicateType: 'urn:sotto:release:v1',
    predicate: {
      version: tag.slice(1),
      commit: execFileSync('git', ['rev-parse', 'HEAD'], { cwd: root, encoding: 'utf8' }).trim(),
      machines: { sev_snp: [{ name: '2 vCPUs' }, { name: '4 vCPUs' }] },
      minimum_firmware: firmware,
    },
  });
  // What the workflow hands to the signer is the same statement.
  expect(JSON.parse(readFileSync(at('out/predicate.json'), 'utf8'))).toEqual(statement.predicate);
  expect(readFileSync(at('out/subjects.sha256'), 'utf8')).toContain(`${disk}  sotto-broker-vm\n`);
  const checked = execFileSync('sha256sum', ['--check', 'checksums.sha256'], { cwd: at('out'), encoding: 'utf8' });
  for (const name of ['sotto-broker.cdx.json', 'sotto-broker.oci.tar', 'sotto-control.oci.tar', 'statement.json']) {
    expect(checked).toContain(`${name}: OK\n`);
  }
  expect(checked).toMatch(/^sotto-client-.*\.tgz: OK$/m);

  // Before it publishes, the workflow compares what is signed with the tag, the commit and the files.
  const { commit } = statement.predicate as { commit: string };
  const check = (signed: object, ...args: string[]) => {
    const payload = Buffer.from(JSON.stringify(signed)).toString('base64');
    writeFileSync(at('release.sigstore.json'), JSON.stringify({ dsseEnvelope: { payload } }));
    const checker = join(root, 'deploy/release/check-release.mjs');
    return spawnSync(process.execPath, [checker, at('release.sigstore.json'), at('out'), ...args], {
      encoding: 'utf8',
    });
  };
  mkdirSync(at('out/vm'));
  writeFileSync(at('out/vm/disk.raw'), 'disk');
  expect(check(statement, tag, commit)).toMatchObject({ status: 0, stderr: '' });
  const [broker, ...others] = statement.subject as object[];
  const otherImage = { ...statement, subject: [{ ...broker, digest: { sha256: '00'.repeat(32) } }, ...others] };
  const more = { ...statement, subject: [...statement.subject, { name: 'more', digest: { sha256: '00' } }] };
  const otherPredicate = { ...statement, predicate: { ...statement.predicate, machines: {} } };
  for (const [signed, args, reason] of [
    [statement, ['v99.0.0', commit], 'the version is'],
    [statement, [tag, '00'.repeat(20)], 'the commit is'],
    [otherImage, [tag, commit], 'the image sotto-broker is'],
    [otherPredicate, [tag, commit], 'the predicate is'],
    [more, [tag, commit], 'the release names more'],
  ] as const) {
    expect(check(signed, ...args)).toMatchObject({ status: 1, stderr: expect.stringContaining(reason) });
  }
  writeFileSync(at('out/vm/disk.raw'), 'another disk');
  expect(check(statement, tag, commit)).toMatchObject({ status: 1, stderr: expect.stringContaining('the disk') });

  // An operator without a public instance signs it with a key and a log of their own.
  const sotto = join(folder, 'sotto');
  writeFileSync(sotto, `#!/bin/sh\nexec npm --prefix '${root}' run --silent sotto -- "$@"\n`, { mode: 0o755 });
  const block = documentedBlock('docs/contribute/releasing.md', 'own-log').replaceAll('npm run sotto --', sotto);
  execFileSync('bash', ['-euc', block], { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] });
  const pins = readPins(readFileSync(at('pins.json'), 'utf8'));
  expect(pins).toMatchObject({
    gateway: { sev_snp: { measurements: [{}, {}] } },
    releases: [{ version: tag.slice(1) }],
  });
}, 240_000);
