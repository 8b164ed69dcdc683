// Builds everything that a release consists of, and states it. It signs and publishes nothing: .github/workflows/release.yml does.
//
//   node deploy/release/make-release.mjs TAG OUT
//
//   TAG   `v` and the version of packages/client
//   OUT   a new folder for the package of the client, and for the images with their bills of materials. It also has
//         statement.json      what the release says of itself, for `sotto release sign`
//         predicate.json      the same without its subjects, and
//         subjects.sha256     the subjects, both for GitHub's attestations
//         checksums.sha256    all files to publish
//
// An operator's repository has a folder `release` besides, or where RELEASE says. Then the image of the confidential VM is built, too
// (as root), and the release names its machines:
//
//   settings/               what make-image.sh puts into the image
//   machines.json           for each machine, the words of `sotto measure` besides --image, such as
//                           [["sev-snp", "--firmware", "release/OVMF.fd", "--vcpus", "4", "--cpu", "EPYC-Milan", "--name", "small"]]
//   minimum-firmware.json   for --minimum-firmware of `sotto release statement`
//
// VM_IMAGE names the output of make-image.sh if it is built already. It needs Docker with BuildKit. It is plain JavaScript without
// dependencies.

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const [tag = '', to = ''] = process.argv.slice(2);
if (tag === '' || to === '') fail('usage: make-release.mjs TAG OUT');
const out = resolve(to);
if (existsSync(out) && readdirSync(out).length > 0) fail(`${out} is not empty; choose a new folder`);
const { version } = JSON.parse(readFileSync('packages/client/package.json', 'utf8'));
if (tag !== `v${version}`)
  fail(
    `the tag is ${tag}, and packages/client has the version ${version}; tag v${version}, or run \`npm run changeset -- version\``,
  );
mkdirSync(out, { recursive: true });

const commit = run('git', 'rev-parse', 'HEAD');
process.env.SOURCE_DATE_EPOCH = run('git', 'log', '-1', '--format=%ct');

run('npm', 'run', '--silent', 'package', '--', join(out, 'client'));
run('npm', 'pack', '--silent', join(out, 'client'), '--pack-destination', out);

const images = ['broker', 'control'].map((plane) => {
  run('npm', 'run', '--silent', 'image', '--', plane, join(out, plane));
  copyFileSync(join(out, plane, 'sbom.cdx.json'), join(out, `sotto-${plane}.cdx.json`));
  const metadata = join(out, `${plane}.json`);
  run(
    ...['docker', 'buildx', 'build', '--file', `deploy/images/${plane}.Dockerfile`],
    ...['--build-arg', `SOURCE_DATE_EPOCH=${process.env.SOURCE_DATE_EPOCH}`, '--metadata-file', metadata],
    // An attestation of BuildKit's has the time of the build, and would change the digest. The workflow states both itself.
    ...['--provenance=false', '--sbom=false'],
    ...['--output', `type=oci,rewrite-timestamp=true,dest=${join(out, `sotto-${plane}.oci.tar`)}`, '.'],
  );
  const digest = JSON.parse(readFileSync(metadata, 'utf8'))['containerimage.digest'];
  return `sotto-${plane}=${digest}`;
});

const release = resolve(process.env.RELEASE ?? 'release');
const machines = existsSync(release) ? measuredMachines() : [];
const measured = JSON.parse(readFileSync(join(out, 'broker/measured.json'), 'utf8'));
const statement = sotto(
  ...['release', 'statement', '--version', version, '--commit', commit],
  ...['--registry', `sha256:${measured.registry_sha256}`, ...images.flatMap((image) => ['--image', image])],
  ...machines,
);
const { subject, predicate } = JSON.parse(statement);
write('statement.json', statement);
write('predicate.json', JSON.stringify(predicate));
write('subjects.sha256', subject.map(({ name, digest: { sha256 } }) => `${sha256}  ${name}`).join('\n'));
const published = readdirSync(out).filter(
  (name) => /\.(?:tgz|oci\.tar|cdx\.json)$/.test(name) || name === 'statement.json',
);
write('checksums.sha256', published.map((name) => `${sha256Of(join(out, name))}  ${name}`).join('\n'));
console.log(`${out}\n${statement}`);

/** Builds and measures the image of the VM. Returns the options of the statement. */
function measuredMachines() {
  const image = process.env.VM_IMAGE ?? join(out, 'vm');
  if (process.env.VM_IMAGE === undefined)
    run('deploy/confidential-vm/make-image.sh', join(out, 'broker'), join(release, 'settings'), image);
  const pins = join(out, 'pins.json');
  const all = JSON.parse(readFileSync(join(release, 'machines.json'), 'utf8'));
  for (const machine of all) {
    const more = existsSync(pins) ? ['--pins', pins] : [];
    writeFileSync(pins, sotto('measure', ...machine, '--image', image, ...more));
  }
  const disk = existsSync(join(image, 'disk.raw'))
    ? ['--image', `sotto-broker-vm=sha256:${sha256Of(join(image, 'disk.raw'))}`]
    : [];
  return [...disk, '--pins', pins, '--minimum-firmware', join(release, 'minimum-firmware.json')];
}

function sotto(...args) {
  return run('npm', 'run', '--silent', 'sotto', '--', ...args);
}

/** Runs a program, and returns its output without the last line break. */
function run(program, ...args) {
  const stdio = ['ignore', 'pipe', 'inherit'];
  return execFileSync(program, args, { encoding: 'utf8', stdio, maxBuffer: 2 ** 26 }).trimEnd();
}

function write(name, text) {
  writeFileSync(join(out, name), `${text}\n`);
}

function sha256Of(file) {
  return createHash('sha256').update(readFileSync(file)).digest('hex');
}

function fail(message) {
  console.error(`make-release: ${message}`);
  process.exit(1);
}
