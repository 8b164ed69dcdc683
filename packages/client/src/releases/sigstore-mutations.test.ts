import { existsSync, rmSync } from 'node:fs';
import type { Server } from 'node:http';
import { afterAll, describe, expect, it } from 'vitest';
import { pinsCommand } from '../command/pins-command.ts';
import { Leaves, leafHash } from './log/merkle.ts';
import { recordingTerminal, statementOf, useFiles } from './testing/made-release.ts';
import { type AnyBundle, PrivateSigstore } from './testing/private-sigstore.ts';

const files = useFiles();
afterAll(() => rmSync(files.folder, { recursive: true }));

// The authority of the stand-in is valid from today on.
const loggedAt = new Date(Math.floor(Date.now() / 1000) * 1000 + 86_400_000);
const seconds = loggedAt.getTime() / 1000;
const at = (more: number): string => `${new Date((seconds + more) * 1000).toISOString().slice(0, 19)}Z`;

const identity = 'https://github.com/example/sotto/.github/workflows/release.yml@refs/tags/v0.2.0';
const issuer = 'https://token.actions.githubusercontent.com';
const signer = { identity, issuer };

const listen = (server: Server) => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
const instance = await PrivateSigstore.start(loggedAt, listen);
const other = await PrivateSigstore.start(loggedAt, listen);
const withoutCtLog = await PrivateSigstore.start(loggedAt, listen, { hasCtLog: false });
const statement = statementOf(at(-60));
const bundle: AnyBundle = await instance.sign(statement, signer);
const index = Number(bundle.verificationMaterial.tlogEntries[0].inclusionProof.logIndex);
const leaves = instance.leaves.slice(0, index + 2);
const again: AnyBundle = await instance.sign(statement, signer);
const uncertified: AnyBundle = await withoutCtLog.sign(statement, signer);
const root = files.write(instance.trustedRoot);
const mixedRoot = files.write({
  ...instance.trustedRoot,
  certificateAuthorities: Reflect.get(withoutCtLog.trustedRoot, 'certificateAuthorities'),
});

/** Makes the document to add. */
type Mutation = () => unknown;

const paths = {
  entries: 'verificationMaterial.tlogEntries',
  entry: 'verificationMaterial.tlogEntries.0',
  proof: 'verificationMaterial.tlogEntries.0.inclusionProof',
  checkpoint: 'verificationMaterial.tlogEntries.0.inclusionProof.checkpoint.envelope',
  certificate: 'verificationMaterial.certificate',
} as const;

/** Puts a value at a place in a copy of the bundle. `undefined` removes what is there. */
const put =
  (path: string, value: unknown | ((old: AnyBundle) => unknown)): Mutation =>
  () => {
    const copy = structuredClone(bundle);
    const names = path.split('.');
    const last = names.pop() ?? '';
    const place = names.reduce((part: AnyBundle, name) => part[name], copy);
    place[last] = typeof value === 'function' ? value(place[last]) : value;
    return copy;
  };

/** Signs another statement as the right signer. */
const signed =
  (payload: string, as?: 'message'): Mutation =>
  () =>
    instance.sign(payload, as === undefined ? signer : { ...signer, as });

/** The statement, with a value at a place. */
function statementWith(path: string, value: unknown): string {
  const copy = JSON.parse(statement);
  const names = path.split('.');
  const last = names.pop() ?? '';
  names.reduce((part: AnyBundle, name) => part[name], copy)[last] = value;
  return JSON.stringify(copy);
}

const flipped =
  (place: number) =>
  (base64: string): string => {
    const bytes = Buffer.from(base64, 'base64');
    bytes.writeUInt8(bytes.readUInt8(bytes.length + place) ^ 1, bytes.length + place);
    return bytes.toString('base64');
  };
const base64 = (hash: Uint8Array): string => Buffer.from(hash).toString('base64');
const forked = leaves.map((hash, place) => (place === index ? leafHash(hash) : hash));

interface Options {
  readonly identity?: string;
  readonly issuer?: string;
  readonly 'trusted-root'?: string;
}

async function add(document: unknown, changes: Options = {}, now = loggedAt) {
  const { terminal, said } = recordingTerminal();
  const file = files.fresh();
  const options = Object.entries({ pins: file, identity, issuer, 'trusted-root': root, ...changes });
  const args = ['add', files.write(document), ...options.flatMap(([name, value]) => [`--${name}`, value])];
  const code = await pinsCommand(terminal, args, () => now.getTime());
  return { code, note: said.note, isPinned: existsSync(file) };
}

it('the bundle itself is accepted', async () => {
  expect(await add(bundle)).toMatchObject({ code: 0, isPinned: true });
});

describe('a mutation of the bundle is refused by the check that it breaks', () => {
  const { entries, entry, proof, checkpoint, certificate } = paths;
  it.each<[string, string, Mutation | Options, RegExp]>([
    // Identity and issuer, which are compared as a whole.
    ['another branch', 'release.identity', { identity: identity.replace('tags/v0.2.0', 'heads/main') }, /not http/],
    ['an identity without its ref', 'release.identity', { identity: identity.replace(/@.*/, '') }, /not http/],
    ['an identity that is a pattern', 'release.identity', { identity: '.*' }, /, not \.\*/],
    ['another repository', 'release.identity', { identity: identity.replace('example/', 'example2/') }, /not http/],
    ['another workflow', 'release.identity', { identity: identity.replace('release.yml', 'ci.yml') }, /not http/],
    ['another issuer', 'release.issuer', { issuer: 'https://accounts.example.com' }, /vouched for the signer, not/],
    ['an issuer with a slash more', 'release.issuer', { issuer: `${issuer}/` }, /vouched for the signer, not/],
    // Authorities.
    ['another instance', 'release.certificate', { 'trusted-root': files.write(other.trustedRoot) }, /chain/],
    ['no authorities', 'release.trusted_root', { 'trusted-root': files.write({}) }, /no `trusted_root.json`/],
    [
      'a trusted root that is no JSON',
      'release.trusted_root',
      { 'trusted-root': files.write('x') },
      /no `trusted_root/,
    ],
    // Certificate and signature.
    ['a changed certificate', 'release.certificate', put(`${certificate}.rawBytes`, flipped(-1)), /chain/],
    [
      'a certificate of the same signer for another key',
      'release.signature',
      put(certificate, again.verificationMaterial.certificate),
      /signature verification failed/,
    ],
    [
      'a key in place of a certificate',
      'release.certificate',
      put('verificationMaterial', ({ certificate: _, ...rest }: AnyBundle) => ({ ...rest, publicKey: { hint: 'k' } })),
      /names no identity/,
    ],
    [
      'a changed signature',
      'release.log_entry',
      put('dsseEnvelope.signatures.0.sig', flipped(-1)),
      /signature mismatch/,
    ],
    ['no signature', 'release.format', put('dsseEnvelope.signatures', []), /signatures/],
    // Payload.
    [
      'another measurement in the payload',
      'release.log_entry',
      put(
        'dsseEnvelope.payload',
        base64(Buffer.from(statementWith('predicate.machines.sev_snp.0.measurement', 'ff'.repeat(48)))),
      ),
      /payload hash mismatch/,
    ],
    ['another type of payload', 'release.format', put('dsseEnvelope.payloadType', 'text/plain'), /no in-toto/],
    ['a signed file', 'release.format', signed(statement, 'message'), /no in-toto/],
    ['another statement', 'release.statement', signed(statementWith('predicateType', 'https://slsa.dev/x')), /slsa/],
    ['a statement with a field more', 'release.statement', signed(statementWith('predicate.note', 'x')), /`note`/],
    [
      'a statement that decides when pins expire',
      'release.statement',
      signed(statementWith('predicate.machines.tdx.0.expires_at', '9999-01-01T00:00:00Z')),
      /`expires_at`/,
    ],
    [
      'a statement without machines',
      'release.statement',
      signed(statementOf(at(-60), { machines: {} })),
      /no machines/,
    ],
    ['a commit that is none', 'release.statement', signed(statementWith('predicate.commit', 'main')), /commit id/],
    // Time.
    ['a release of after its log entry', 'release.time', signed(statementOf(at(301))), /and the log had it at/],
    [
      'a time that the log did not sign',
      'release.log_entry',
      put(`${entry}.integratedTime`, `${seconds + 1}`),
      /promise/,
    ],
    [
      'a time at which the certificate was not valid',
      'release.certificate',
      put(`${entry}.integratedTime`, `${seconds + 3600}`),
      /chain/,
    ],
    ['no signed time', 'release.time', put(`${entry}.inclusionPromise`, undefined), /expected 1 timestamps, got 0/],
    // Log entry.
    ['no log entry', 'release.log_entry', put(entries, []), /0 log entries/],
    ['two log entries', 'release.log_entry', put(entries, ([one]: AnyBundle) => [one, one]), /2 log entries/],
    [
      'the entry of another bundle',
      'release.log_entry',
      put(`${entry}.canonicalizedBody`, again.verificationMaterial.tlogEntries[0].canonicalizedBody),
      /promise/,
    ],
    [
      'the entry of another bundle, with all that proves it',
      'release.log_entry',
      put(entries, again.verificationMaterial.tlogEntries),
      /mismatch/,
    ],
    ['another number of the entry', 'release.log_entry', put(`${entry}.logIndex`, '7'), /promise/],
    ['another log', 'release.log_entry', put(`${entry}.logId.keyId`, flipped(-1)), /promise/],
    // Proof.
    ['no inclusion proof', 'release.inclusion', put(proof, undefined), /inclusionProof/],
    ['a changed hash of the proof', 'release.inclusion', put(`${proof}.hashes.0`, flipped(-1)), /does not match/],
    ['a shorter proof', 'release.inclusion', put(`${proof}.hashes`, (all: string[]) => all.slice(1)), /hash count/],
    ['a longer proof', 'release.inclusion', put(`${proof}.hashes`, (all: string[]) => [...all, ...all]), /hash count/],
    [
      'a proof in another order',
      'release.inclusion',
      put(`${proof}.hashes`, (all: string[]) => all.toReversed()),
      /match/,
    ],
    [
      'the proof of the next entry',
      'release.inclusion',
      put(`${proof}.hashes`, new Leaves(leaves).inclusionProof(index + 1).map(base64)),
      /does not match|hash count/,
    ],
    ['another place in the tree', 'release.inclusion', put(`${proof}.logIndex`, `${index - 1}`), /match|hash count/],
    ['a negative place', 'release.inclusion', put(`${proof}.logIndex`, '-1'), /invalid index/],
    // Checkpoint.
    ['no checkpoint', 'release.checkpoint', put(`${proof}.checkpoint`, undefined), /checkpoint/],
    ['a checkpoint that is none', 'release.checkpoint', put(checkpoint, 'none'), /checkpoint/],
    [
      'a checkpoint of another root',
      'release.checkpoint',
      put(checkpoint, (text: string) => text.replace(/\n[\w+/=]{44}\n/, `\n${'A'.repeat(43)}=\n`)),
      /checkpoint signature/,
    ],
    [
      'a checkpoint that another log signed',
      'release.checkpoint',
      put(checkpoint, other.checkpoint(leaves)),
      /signature/,
    ],
    [
      'a log that shrank to before the entry',
      'release.inclusion',
      put(checkpoint, instance.checkpoint(leaves.slice(0, index))),
      /invalid index/,
    ],
    ['a log that forked', 'release.inclusion', put(checkpoint, instance.checkpoint(forked)), /does not match/],
    // The file.
    ['another file', 'release.format', () => ({ mediaType: 'text/plain' }), /no usable `/],
    ['no JSON', 'release.format', () => 'bundle', /no Sigstore bundle/],
  ])('%s: %s', async (_, check, change, reason) => {
    const result = typeof change === 'function' ? await add(await change()) : await add(bundle, change);
    expect(result.note.split('\n')[0]).toMatch(new RegExp(`^Refused: ${check}: .*(?:${reason.source})`));
    expect(result).toMatchObject({ code: 1, isPinned: false });
  });

  it('a certificate that the log of certificates does not have: release.certificate', async () => {
    const { note } = await add(uncertified, { 'trusted-root': mixedRoot });
    expect(note).toMatch(/^Refused: release.certificate: expected 1 SCTs, got 0/);
  });

  it('a clock of the user’s that is before the log’s: release.time', async () => {
    const { code, note } = await add(bundle, {}, new Date((seconds - 3600) * 1000));
    expect({ code, note }).toMatchObject({
      code: 1,
      note: expect.stringMatching(/^Refused: release.time: .*clock says/),
    });
  });
});
