import { chmodSync, existsSync, lstatSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import type { Server } from 'node:http';
import { afterAll, describe, expect, it } from 'vitest';
import { loggedReleaseFormat } from '../releases/log/logged-release.ts';
import { openSigstoreBundle } from '../releases/sigstore.ts';
import { madeRelease, recordingTerminal, statementOf, useFiles, zeros } from '../releases/testing/made-release.ts';
import { type AnyBundle, PrivateSigstore } from '../releases/testing/private-sigstore.ts';
import { pinsCommand } from './pins-command.ts';
import { sotto } from './sotto.ts';

const files = useFiles();
afterAll(() => rmSync(files.folder, { recursive: true }));

// The authority of the stand-in is valid from today on.
const loggedAt = new Date(Math.floor(Date.now() / 1000) * 1000 + 86_400_000);
const at = (seconds: number): string => `${new Date(loggedAt.getTime() + seconds * 1000).toISOString().slice(0, 19)}Z`;

const repository = 'https://github.com/example/sotto';
const identity = `${repository}/.github/workflows/release.yml@refs/tags/v0.2.0`;
const issuer = 'https://token.actions.githubusercontent.com';
const signer = { identity, issuer };

const listen = (server: Server) => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
const instance = await PrivateSigstore.start(loggedAt, listen);
const bundle: AnyBundle = await instance.sign(statementOf(at(-60)), signer);
const root = files.write(instance.trustedRoot);

async function add(
  document: unknown,
  changes: Readonly<Record<string, string>> = {},
  now = loggedAt,
  ...more: string[]
) {
  const { terminal, said } = recordingTerminal();
  const options = { pins: files.fresh(), identity, issuer, 'trusted-root': root, ...changes };
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]);
  const code = await pinsCommand(terminal, ['add', files.write(document), ...args, ...more], () => now.getTime());
  return { code, ...said, file: options.pins };
}

describe('a release in Sigstore’s log', () => {
  it('is pinned: its machines, registry and minimum firmware, with who signed it and when it was logged', async () => {
    const { code, note, file } = await add(bundle, { 'expires-at': at(1e6) });
    expect({ code, note }).toMatchObject({ code: 0, note: expect.stringContaining('Added release 0.2.0') });
    const about = { release: '0.2.0', expires_at: at(1e6) };
    const { machines } = madeRelease('');
    expect(files.pins(file)).toMatchObject({
      gateway: {
        tdx: { measurements: [{ ...machines.tdx?.[0], ...about }], minimum_evaluation_number: 20 },
        sev_snp: { measurements: [{ ...machines.sev_snp?.[0], ...about }], minimum_tcb: { milan: { snp: 24 } } },
        provider_registries: [`sha256:${'0f'.repeat(32)}`],
      },
      releases: [
        { version: '0.2.0', logged_at: at(0), log: expect.stringContaining('rekor.example'), signed_by: signer },
      ],
    });
  });

  it('leaves pins that were made by hand as they are', async () => {
    const own = { measurement: 'ab'.repeat(48), host_data: 'cd'.repeat(32) };
    const providers = { acme: { family: 'near' } };
    const gateway = {
      sev_snp: { measurements: [own], minimum_tcb: { milan: { snp: 30 }, genoa: { snp: 14 } }, vmpl: 0 },
    };
    const pins = files.write({ gateway, providers });
    expect(await add(bundle, { pins })).toMatchObject({ code: 0 });
    const added = files.pins(pins);
    expect(added.providers).toEqual(providers);
    expect(added.gateway.provider_registries).toBeUndefined();
    expect(added.gateway.sev_snp).toMatchObject({ measurements: [{ measurement: zeros }, own], vmpl: 0 });
    expect(added.gateway.sev_snp?.minimum_tcb).toEqual({ milan: { snp: 30, microcode: 219 }, genoa: { snp: 14 } });
  });

  it('is refused if it is older than the newest pinned one, unless the user allows it', async () => {
    const newer = await PrivateSigstore.start(new Date(loggedAt.getTime() + 60_000), listen);
    const [next, later] = [
      { ...signer, identity: identity.replace('0.2.0', '0.3.0') },
      new Date(loggedAt.getTime() + 3e6),
    ];
    const { file: pins } = await add(
      await newer.sign(statementOf(at(0), { version: '0.3.0' }), next),
      { identity: next.identity, 'trusted-root': files.write(newer.trustedRoot) },
      later,
    );
    const before = readFileSync(pins, 'utf8');
    expect(await add(bundle, { pins }, later)).toMatchObject({
      code: 1,
      note: `Refused: release.age: release 0.2.0 was logged at ${at(0)}, before 0.3.0, which your pins have (${at(60)}).\nTo pin it anyway, pass --allow-older.\n`,
    });
    expect(readFileSync(pins, 'utf8')).toBe(before);
    expect(await add(bundle, { pins }, later, '--allow-older')).toMatchObject({ code: 0 });
    expect(files.pins(pins).releases?.map(({ version }) => version)).toEqual(['0.3.0', '0.2.0']);
  });

  it('is explained by `sotto pins show`', async () => {
    const { file } = await add(bundle, { 'expires-at': at(60) });
    const { terminal, said } = recordingTerminal();
    expect(await pinsCommand(terminal, ['show', '--pins', file], () => loggedAt.getTime() + 3 * 86_400_000)).toBe(0);
    expect(said.out).toContain(`SEV-SNP ${zeros.slice(0, 16)}… "EPYC-Milan, 4 vCPUs"`);
    expect(said.out).toContain(
      `release 0.2.0, commit ${'ab'.repeat(20)}, logged at ${at(0)} in https://rekor.example, entry `,
    );
    expect(said.out).toContain(`signed by ${identity} (${issuer} vouched for it)`);
    expect(said.out).toContain(`EXPIRED at ${at(60)}`);
    expect(said.out).toContain(`Newest release      0.2.0, logged at ${at(0)} (3 days ago)`);
    const byHand = recordingTerminal();
    const pins = files.write({
      gateway: {
        sev_snp: { measurements: [{ measurement: zeros, host_data: zeros.slice(0, 64) }], minimum_tcb: {} },
        vendors: ['intel'],
      },
    });
    expect(await sotto(byHand.terminal, ['pins', 'show', '--pins', pins])).toBe(0);
    expect(byHand.said.out).toContain('  by hand\n  not accepted: `vendors` names only intel\n');
  });
});

it.each<[string, Readonly<Record<string, string>>, RegExp]>([
  ['twice', {}, /have release 0\.2\.0 already/],
  [
    'with another statement',
    { commit: 'cd'.repeat(20) },
    /have another release 0\.2\.0, whose statement has the SHA-256/,
  ],
])('a version that is pinned is refused, %s', async (_, changes, reason) => {
  const { file: pins } = await add(bundle);
  const signed = await instance.sign(statementOf(at(-60), changes), signer);
  const { note } = await add(signed, { pins }, loggedAt, '--allow-older');
  expect(note).toMatch(new RegExp(`^Refused: release.age: .*${reason.source}`));
});

describe('the file of pins', () => {
  it('is changed by one process at a time, and keeps its mode and its link', async () => {
    const target = files.write({ gateway: {} });
    chmodSync(target, 0o640);
    const pins = files.fresh();
    symlinkSync(target, pins);
    // Another process has read the pins, and has not written them yet: it would drop what this one adds.
    writeFileSync(`${target}.new`, '');
    const refused = await add(bundle, { pins }).catch((error: Error) => error.message);
    expect(refused).toContain(`${target}.new exists: another process changes ${pins}`);
    expect(readFileSync(target, 'utf8')).toBe('{"gateway":{}}');
    expect(existsSync(`${target}.new`)).toBe(true);
    rmSync(`${target}.new`);
    const [one, two] = await Promise.allSettled([add(bundle, { pins }), add(bundle, { pins })]);
    expect([one.status, two.status]).toEqual(['fulfilled', 'rejected']);
    expect(files.pins(target).releases).toHaveLength(1);
    expect(lstatSync(pins).isSymbolicLink()).toBe(true);
    expect(statSync(target).mode & 0o777).toBe(0o640);
    expect(existsSync(`${target}.new`)).toBe(false);
  });

  it('stays as it was, without a lock, after a refusal', async () => {
    const { code, file } = await add(bundle, { identity: 'another' });
    expect({ code, left: [file, `${file}.new`].filter(existsSync) }).toEqual({ code: 1, left: [] });
  });

  it('has releases of several signers, whose ages are not compared', async () => {
    const { file: pins } = await add(bundle);
    const old = await PrivateSigstore.start(new Date(loggedAt.getTime() - 60_000), listen);
    const other = { identity: 'release@example.com', issuer: 'https://accounts.example.com' };
    const trust = { pins, ...other, 'trusted-root': files.write(old.trustedRoot) };
    const signed = (version: string) => old.sign(statementOf(at(-120), { version }), other);
    expect(await add(await signed('9.0.0'), trust)).toMatchObject({ code: 0 });
    expect((await add(await signed('0.2.0'), trust)).note).toMatch(/of another signer \(.*in a file of its own/);
    const { terminal, said } = recordingTerminal();
    await pinsCommand(terminal, ['show', '--pins', pins], () => loggedAt.getTime());
    expect(said.out.match(/^Newest release +\S+,/gm)).toHaveLength(2);
  });

  it('is explained without machines, and cannot steer the terminal', async () => {
    const { file } = await add(bundle);
    const { gateway, releases, ...pins } = files.pins(file);
    const [release] = releases ?? [];
    const strange = { ...release, version: '\u001b[2J9.0.0' };
    const { terminal, said } = recordingTerminal();
    const text = { ...pins, gateway: { vendors: ['amd'] }, releases: [strange] };
    await pinsCommand(terminal, ['show', '--pins', files.write(text)], () => loggedAt.getTime());
    expect(said.out).toMatch(/^No machines are pinned/);
    expect(said.out).toContain('Newest release      [2J9.0.0, logged at');
    expect(said.out).toContain('Vendors of brokers  amd\n');
    const key = `log\u001b[2J+1a2b3c4d+AQ${'A'.repeat(42)}`;
    const logs = files.write({ gateway, logs: [{ key }] });
    await expect(pinsCommand(terminal, ['show', '--pins', logs])).rejects.toThrow('must be a public key');
  });
});

describe('real bundles', () => {
  const vector = (name: string): string =>
    readFileSync(new URL(`../../vectors/sigstore/${name}.json`, import.meta.url), 'utf8');
  const isGenuine = /^Refused: release.statement: .* its type is https:\/\/slsa.dev\/provenance\/v1/;

  it('of Sigstore’s public instance verify with the trusted root that ships, and only for their signer', async () => {
    const { terminal, said } = recordingTerminal();
    const signed = 'https://github.com/cli/cli/.github/workflows/deployment.yml@refs/heads/trunk';
    const run = (of: string, text = vector('cli-2.54.0')) =>
      sotto(terminal, [
        'pins',
        'add',
        files.write(text),
        '--pins',
        files.fresh(),
        '--identity',
        of,
        '--issuer',
        issuer,
      ]);
    expect(await run(signed)).toBe(1);
    // It is genuine, and not about us.
    expect(said.note).toMatch(isGenuine);
    said.note = '';
    await run(signed.replace('trunk', 'main'));
    expect(said.note).toContain(`release.identity: it is signed by ${signed}, not`);
    said.note = '';
    await run(signed, vector('cli-2.54.0').replace('\\nGvQZ', '\\nGvQa'));
    expect(said.note).toContain('release.checkpoint');
  });

  it('of a log without a clock name the entry of the proof, not a number that nothing signed', () => {
    const changed = JSON.parse(vector('rekor2-bundle'));
    const [entry] = changed.verificationMaterial.tlogEntries;
    const number = entry.inclusionProof.logIndex;
    entry.logIndex = '7';
    const beacon = 'https://github.com/sigstore-conformance/extremely-dangerous-public-oidc-beacon';
    const ofBeacon = `${beacon}/.github/workflows/extremely-dangerous-oidc-beacon.yml@refs/heads/main`;
    const found = openSigstoreBundle(changed, JSON.parse(vector('rekor2-trusted-root')), {
      identity: ofBeacon,
      issuer,
    });
    expect(found.log).toMatch(new RegExp(`, entry ${number}$`));
  });

  it('of a log without a clock verify by a time stamp, with a trusted root of the user', async () => {
    const beacon = 'https://github.com/sigstore-conformance/extremely-dangerous-public-oidc-beacon';
    const options = { identity: `${beacon}/.github/workflows/extremely-dangerous-oidc-beacon.yml@refs/heads/main` };
    const ownRoot = { 'trusted-root': files.write(vector('rekor2-trusted-root')) };
    expect((await add(vector('rekor2-bundle'), { ...options, ...ownRoot })).note).toMatch(isGenuine);
    expect((await add(vector('rekor2-bundle'), options)).note).toMatch(
      /release\.time: timestamp could not be verified/,
    );
  });
});

const logged = files.write({ format: loggedReleaseFormat });
const danglingLink = files.fresh();
symlinkSync(files.fresh(), danglingLink);

it.each<[string, string[], RegExp]>([
  ['an address', ['add', 'https://api.example.com/release.json', '--pins', 'x'], /^BUNDLE is a file\. Download it/],
  ['no file of pins', ['add', root], /^--pins is missing\./],
  ['an identity without an issuer', ['add', root, '--pins', 'x', '--identity', 'i'], /^--issuer is missing\./],
  [
    'a malformed key of a log',
    ['add', logged, '--pins', files.fresh(), '--log-key', 'log+1+A'],
    /^--log-key must be an Ed25519 key/,
  ],
  ['a witness of no log', ['add', logged, '--pins', files.fresh(), '--witness', 'w'], /^--witness needs --log-key/],
  ['a log for a bundle', ['add', root, '--pins', 'x', '--log-key', 'k'], /^--log-key is for a release in an operator/],
  [
    'a signer for a logged release',
    ['add', logged, '--pins', 'x', '--issuer', 'i'],
    /^--issuer is for a Sigstore bundle/,
  ],
  ['a malformed end', ['add', root, '--pins', 'x', '--expires-at', '2027'], /^--expires-at must be a time.*got "2027"/],
  [
    'an end that is past',
    ['add', root, '--pins', 'x', '--expires-at', '2020-01-01T00:00:00Z'],
    /must be in the future/,
  ],
  ['a folder that is not there', ['add', root, '--pins', `${files.fresh()}/x`], /cannot be created \(ENOENT\)/],
  ['a link to nothing', ['add', root, '--pins', danglingLink], /is a link to a file that does not exist/],
  ['another word', ['remove'], /^Write one of add, show after `sotto pins`\./],
  ['an option that show does not take', ['show', '--identity', 'i'], /does not take --identity/],
])('is refused with %s', async (_, args, message) => {
  const { terminal, said } = recordingTerminal();
  expect(await sotto(terminal, ['pins', ...args])).toBe(2);
  expect(said.note).toMatch(message);
});
