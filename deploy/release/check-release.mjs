// Compares the signed statement of a release with what was built, before anything is published. It does not verify the signature.
//
//   node deploy/release/check-release.mjs BUNDLE OUT TAG COMMIT
//
//   BUNDLE   the bundle of Sigstore that the workflow made
//   OUT      the folder of make-release.mjs
//   TAG      `v` and the version
//   COMMIT   the commit that was built
//
// It is plain JavaScript without dependencies.

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';

const [bundle = '', out = '', tag = '', commit = ''] = process.argv.slice(2);
if (commit === '') fail('usage: check-release.mjs BUNDLE OUT TAG COMMIT');
const { payload } = JSON.parse(readFileSync(bundle, 'utf8')).dsseEnvelope;
const { subject, predicate } = JSON.parse(Buffer.from(payload, 'base64').toString());
const stated = new Map(subject.map(({ name, digest: { sha256 } }) => [name, sha256]));

same('the version', predicate.version, tag.replace(/^v/, ''));
same('the commit', predicate.commit, commit);
same('the predicate', sorted(predicate), sorted(JSON.parse(readFileSync(join(out, 'predicate.json'), 'utf8'))));
for (const plane of ['broker', 'control']) {
  same(`the image sotto-${plane}`, stated.get(`sotto-${plane}`), digestOf(join(out, `sotto-${plane}.oci.tar`)));
  stated.delete(`sotto-${plane}`);
}
const disk = join(out, 'vm/disk.raw');
if (existsSync(disk)) {
  same('the disk sotto-broker-vm', stated.get('sotto-broker-vm'), await sha256Of(disk));
  stated.delete('sotto-broker-vm');
}
if (stated.size > 0) fail(`the release names ${[...stated.keys()].join(', ')}, which ${out} does not have`);
for (const line of readFileSync(join(out, 'checksums.sha256'), 'utf8').trim().split('\n')) {
  const [sum, name] = line.split('  ');
  same(`the checksum of ${name}`, sum, await sha256Of(join(out, name)));
}
console.log(`The release ${tag} states what ${out} has.`);

/** The digest that a registry gives to the one image of an OCI archive. */
function digestOf(archive) {
  const { manifests } = JSON.parse(fromArchive(archive, 'index.json'));
  if (manifests.length !== 1) fail(`${archive} has ${manifests.length} manifests, not one`);
  const [{ digest }] = manifests;
  const hex = digest.replace(/^sha256:/, '');
  same(
    `the manifest in ${archive}`,
    createHash('sha256')
      .update(fromArchive(archive, `blobs/sha256/${hex}`))
      .digest('hex'),
    hex,
  );
  return hex;
}

function fromArchive(archive, name) {
  return execFileSync('tar', ['--extract', '--to-stdout', '--file', archive, name], { maxBuffer: 2 ** 26 });
}

/** A disk is larger than a buffer may be. */
async function sha256Of(file) {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return hash.digest('hex');
}

/** Returns JSON text in which the order of fields does not count. */
function sorted(value) {
  return JSON.stringify(value, (_, each) =>
    each !== null && typeof each === 'object' && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)))
      : each,
  );
}

function same(what, found, expected) {
  if (found !== expected) fail(`${what} is ${found}; expected ${expected}`);
}

function fail(message) {
  console.error(`check-release: ${message}`);
  process.exit(1);
}
