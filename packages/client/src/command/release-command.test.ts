import { chmodSync, cpSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { recordingTerminal, statementOf, useFiles, zeros } from '../releases/testing/made-release.ts';
import { witness } from '../releases/testing/witness.ts';
import { pinsCommand } from './pins-command.ts';
import { sotto } from './sotto.ts';

const files = useFiles();
afterAll(() => rmSync(files.folder, { recursive: true }));

async function run(...args: readonly string[]) {
  const { terminal, said } = recordingTerminal();
  const code = await sotto(terminal, args);
  return { code, ...said };
}

async function newKey(name = 'log.example.com') {
  const file = files.fresh();
  const { code, out } = await run('release', 'key', name, '--out', file);
  expect(code).toBe(0);
  return { file, key: out.trim() };
}

const day = (number: number): string => `2026-11-${String(number).padStart(2, '0')}T00:00:00Z`;
const statement = (number: number): string => files.write(statementOf(day(number), { version: `0.${number}.0` }));

/** Signs a release, and resolves to what was printed. */
async function sign(log: string, key: { file: string }, text: string) {
  const { code, out, note } = await run('release', 'sign', text, '--key', key.file, '--log', log);
  expect({ code, note }).toEqual({ code: 0, note: '' });
  return JSON.parse(out);
}

async function add(release: unknown, pins: string, ...options: readonly string[]) {
  const { terminal, said } = recordingTerminal();
  const now = () => Date.parse('2026-11-29T00:00:00Z');
  const code = await pinsCommand(terminal, ['add', files.write(release), '--pins', pins, ...options], now);
  return { code, note: said.note };
}

describe('a release in an operator’s own log', () => {
  it('is pinned by the log’s key, which pins keep with the last checkpoint', async () => {
    const key = await newKey();
    const [log, pins] = [files.fresh(), files.fresh()];
    const first = await sign(log, key, statement(1));
    expect(await add(first, pins)).toMatchObject({
      code: 1,
      note: expect.stringContaining('release.key: your pins name no key'),
    });
    expect(await add(first, pins, '--log-key', key.key)).toMatchObject({ code: 0 });
    const second = await sign(log, key, statement(2));
    expect(await add(second, pins)).toMatchObject({ code: 0 });
    expect(files.pins(pins)).toMatchObject({
      releases: [
        { version: '0.1.0', log: 'log.example.com, entry 0', signed_by: { key: key.key } },
        { version: '0.2.0', logged_at: day(2) },
      ],
      logs: [{ key: key.key, checkpoint: second.checkpoint }],
    });
    const shown = await run('pins', 'show', '--pins', pins);
    expect(shown.out).toContain(`signed by the key ${key.key}`);
    expect(shown.out).toContain(`Log                 ${key.key}: 2 entries seen, 0 witnesses required`);
  });

  it('has the signatures that witnesses added to its checkpoint, and pins can require them', async () => {
    const key = await newKey();
    const log = files.fresh();
    const text = statement(1);
    const bare = await sign(log, key, text);
    const [one, two] = [witness('one.example'), witness('other.example')];
    const options = ['--log-key', key.key, '--witness', one.key, '--witness', two.key];
    const cosigned = `${bare.checkpoint}${one.line(bare.checkpoint)}`;
    writeFileSync(join(log, 'checkpoint'), cosigned);
    const half = await sign(log, key, text);
    expect(half).toEqual({ ...bare, checkpoint: cosigned });
    for (const release of [bare, half]) {
      const { note } = await add(release, files.fresh(), ...options);
      expect(note).toMatch(/^Refused: release\.witnesses: the witness (?:one|other)\.example has not cosigned/);
    }
    writeFileSync(join(log, 'checkpoint'), `${cosigned}${two.line(bare.checkpoint)}`);
    const pins = files.fresh();
    expect(await add(await sign(log, key, text), pins, ...options)).toMatchObject({ code: 0 });
    // The witnesses stay required.
    const next = await sign(log, key, statement(2));
    expect(await add(next, pins)).toMatchObject({ code: 1, note: expect.stringContaining('release.witnesses') });
    // A further one does not replace them.
    const third = witness('third.example');
    writeFileSync(join(log, 'checkpoint'), `${next.checkpoint}${third.line(next.checkpoint)}`);
    const byThird = await sign(log, key, statement(2));
    const { note } = await add(byThird, pins, '--log-key', key.key, '--witness', third.key);
    expect(note).toMatch(/^Refused: release\.witnesses: the witness (?:one|other)\.example has not cosigned/);
  });

  // Each of these is what a broken or malicious log could show.
  describe('is refused', async () => {
    const key = await newKey();
    const [log, fork, shrunk] = [files.fresh(), files.fresh(), files.fresh()];
    const first = await sign(log, key, statement(1));
    cpSync(log, fork, { recursive: true });
    const second = await sign(log, key, statement(2));
    cpSync(log, shrunk, { recursive: true });
    const third = await sign(log, key, statement(3));
    const forkedTwice = [
      await sign(fork, key, statement(4)),
      await sign(fork, key, statement(5)),
      await sign(fork, key, statement(6)),
    ];
    const other = await newKey();
    const foreign = await sign(files.fresh(), other, statement(3));
    const known = files.fresh();
    await add(first, known, '--log-key', key.key);
    const knowsThree = files.fresh();
    await add(third, knowsThree, '--log-key', key.key);
    const early = witness('early.example');
    const flip = (text: string): string => (text.startsWith('A') ? `B${text.slice(1)}` : `A${text.slice(1)}`);
    const withPins = (of: string): string => files.write(files.read(of));

    it.each<[string, string, object, string, readonly string[], RegExp]>([
      [
        'with a changed signature',
        'release.signature',
        {
          ...third,
          envelope: {
            ...third.envelope,
            signatures: [{ ...third.envelope.signatures[0], sig: flip(third.envelope.signatures[0].sig) }],
          },
        },
        known,
        [],
        /did not sign it/,
      ],
      [
        'with another payload',
        'release.signature',
        { ...third, envelope: { ...third.envelope, payload: second.envelope.payload } },
        known,
        [],
        /did not sign it/,
      ],
      [
        'signed by another key of the same name',
        'release.signature',
        foreign,
        known,
        [],
        /did not sign it; the envelope names the key log\.example\.com\+/,
      ],
      [
        'with the checkpoint of another key',
        'release.checkpoint',
        { ...third, checkpoint: foreign.checkpoint },
        known,
        [],
        /key of the log did not sign/,
      ],
      [
        'with a checkpoint of another size',
        'release.checkpoint',
        { ...third, checkpoint: third.checkpoint.replace('\n3\n', '\n4\n') },
        known,
        [],
        /did not sign/,
      ],
      ['with no checkpoint', 'release.checkpoint', { ...third, checkpoint: 'none' }, known, [], /malformed/],
      [
        'at another place',
        'release.inclusion',
        { ...third, index: 1 },
        known,
        [],
        /does not show it in the log of 3 entries/,
      ],
      ['beyond the log', 'release.inclusion', { ...third, index: 3 }, known, [], /does not show/],
      [
        'with a changed proof',
        'release.inclusion',
        { ...third, inclusion: [flip(third.inclusion[0])] },
        known,
        [],
        /does not show/,
      ],
      ['without its proof', 'release.inclusion', { ...third, inclusion: [] }, known, [], /does not show/],
      [
        'with the proof of another entry',
        'release.inclusion',
        { ...third, inclusion: second.inclusion },
        known,
        [],
        /does not show/,
      ],
      [
        'of a log that shrank',
        'release.consistency',
        second,
        knowsThree,
        ['--allow-older'],
        /the log shrank: your pins know 3 entries, and its checkpoint has 2/,
      ],
      [
        'of a log that forked at the same size',
        'release.consistency',
        forkedTwice[1] ?? {},
        knowsThree,
        [],
        /the log forked: its 3 entries/,
      ],
      [
        'of a log that forked and is longer',
        'release.consistency',
        forkedTwice[2] ?? {},
        knowsThree,
        [],
        /the log forked: its 4 entries do not begin with the 3/,
      ],
      [
        'without the proof that the log grew',
        'release.consistency',
        { ...third, consistency: [] },
        known,
        [],
        /the log forked/,
      ],
      [
        'with another proof that it grew',
        'release.consistency',
        { ...third, consistency: [second.inclusion, second.inclusion] },
        known,
        [],
        /the log forked/,
      ],
      ['with a field more', 'release.format', { ...third, note: 'x' }, known, [], /`note`/],
      [
        'older than the newest',
        'release.age',
        { ...(await sign(log, key, files.write(statementOf(day(1), { version: '0.9.0' })))) },
        knowsThree,
        [],
        /before 0\.3\.0/,
      ],
      [
        'of tomorrow',
        'release.time',
        await sign(log, key, files.write(statementOf('2026-11-30T00:00:00Z', { version: '9.0.0' }))),
        known,
        [],
        /it is of 2026-11-30/,
      ],
    ])('%s', async (_, check, release, pins, options, reason) => {
      const own = withPins(pins);
      const { code, note } = await add(release, own, ...options);
      expect(note).toMatch(new RegExp(`^Refused: ${check}: .*(?:${reason.source})`));
      expect(code).toBe(1);
      expect(files.read(own)).toBe(files.read(pins));
    });

    it('of after its witness saw it', async () => {
      const logOf = files.fresh();
      const bare = await sign(logOf, key, statement(3));
      const cosigned = {
        ...bare,
        checkpoint: `${bare.checkpoint}${early.line(bare.checkpoint, Date.parse(day(2)) / 1000)}`,
      };
      const { note } = await add(cosigned, files.fresh(), '--log-key', key.key, '--witness', early.key);
      expect(note).toMatch(/^Refused: release\.time: it is of 2026-11-03T00:00:00Z, and it was seen at 2026-11-02/);
    });

    it('with a witness’s key in place of the log’s', async () => {
      const { note } = await add(third, files.fresh(), '--log-key', witness('log.example.com').key);
      expect(note).toMatch(/^Refused: release\.key: .* is not the Ed25519 key of a log/);
    });

    it('with another key of a log that the pins have', async () => {
      const { terminal, said } = recordingTerminal();
      const args = ['pins', 'add', files.write(foreign), '--pins', withPins(known), '--log-key', other.key];
      expect(await sotto(terminal, args)).toBe(2);
      expect(said.note).toContain('Your pins have another key of the log log.example.com');
    });

    it('but an old release is accepted with the log’s current checkpoint, if the user allows it', async () => {
      const reprinted = await sign(log, key, files.write(statementOf(day(2), { version: '0.2.0' })));
      const pins = withPins(knowsThree);
      expect(await add(reprinted, pins)).toMatchObject({ code: 1, note: expect.stringContaining('release.age') });
      expect(await add(reprinted, pins, '--allow-older')).toMatchObject({ code: 0 });
    });
  });
});

describe('sotto release', () => {
  it('states what `sotto measure` computed', async () => {
    const machine = { name: 'small', measurement: zeros, host_data: zeros.slice(0, 64) };
    const sev_snp = { measurements: [machine], minimum_tcb: { milan: { snp: 24 } } };
    const options = [
      '--version',
      '0.2.0',
      '--commit',
      'ab'.repeat(20),
      '--image',
      `sotto-broker=sha256:${'1e'.repeat(32)}`,
    ];
    const pins = ['--pins', files.write({ gateway: { sev_snp } })];
    const registry = ['--registry', `sha256:${'0f'.repeat(32)}`];
    const { code, out } = await run('release', 'statement', ...options, ...pins, ...registry, '--time', day(1));
    expect(code).toBe(0);
    expect(JSON.parse(out)).toEqual({
      _type: 'https://in-toto.io/Statement/v1',
      subject: [{ name: 'sotto-broker', digest: { sha256: '1e'.repeat(32) } }],
      predicateType: 'urn:sotto:release:v1',
      predicate: {
        version: '0.2.0',
        commit: 'ab'.repeat(20),
        released_at: day(1),
        provider_registry: `sha256:${'0f'.repeat(32)}`,
        machines: { sev_snp: [machine] },
        minimum_firmware: { sev_snp_tcb: { milan: { snp: 24 } } },
      },
    });
    expect(await run('release', 'statement', ...options, ...pins)).toMatchObject({
      code: 2,
      note: expect.stringMatching(/--registry is missing/),
    });
  });

  it('refuses to sign what would fork a log, and what is no statement', async () => {
    const key = await newKey();
    const log = files.fresh();
    const text = statement(1);
    await sign(log, key, text);
    const another = (of: string, by = key) => run('release', 'sign', of, '--key', by.file, '--log', log);
    expect(await another(statement(2), await newKey())).toMatchObject({
      code: 1,
      note: expect.stringMatching(/is not signed by the key/),
    });
    expect(await another(files.write('{}'))).toMatchObject({
      code: 1,
      note: expect.stringMatching(/^Cannot release: /),
    });
    writeFileSync(join(log, 'lock'), '');
    expect(await another(statement(2))).toMatchObject({
      code: 1,
      note: expect.stringMatching(/lock exists: another process writes the log/),
    });
    rmSync(join(log, 'lock'));
    const entries = join(log, 'tile/entries/000.p/1');
    const good = readFileSync(entries);
    writeFileSync(entries, Buffer.from(good).fill(0x7b, 10, 11));
    expect(await another(statement(2))).toMatchObject({
      code: 1,
      note: expect.stringMatching(/do not lead to its checkpoint/),
    });
    rmSync(entries);
    expect(await another(statement(2))).toMatchObject({
      code: 1,
      note: expect.stringMatching(/is missing or malformed/),
    });
    rmSync(join(log, 'checkpoint'));
    expect(await another(statement(2))).toMatchObject({
      code: 1,
      note: expect.stringMatching(/has entries but no checkpoint\. If its first signature was interrupted, remove /),
    });
    expect(existsSync(join(log, 'lock'))).toBe(false);
    rmSync(join(log, 'tile'), { recursive: true });
    expect(await another(statement(2))).toMatchObject({ code: 0 });
    const file = files.write('');
    const args = ['release', 'sign', statement(2), '--key', key.file, '--log', join(file, 'log')];
    expect(await run(...args)).toMatchObject({ code: 1, note: expect.stringMatching(/cannot be written \(ENOTDIR\)/) });
  });

  it('keeps the private key from other users', async () => {
    const key = await newKey();
    expect(statSync(key.file).mode & 0o777).toBe(0o600);
    expect(await run('release', 'key', 'log', '--out', key.file)).toMatchObject({
      code: 2,
      note: expect.stringMatching(/it exists already/),
    });
    expect(await run('release', 'key', 'a b', '--out', files.fresh())).toMatchObject({
      code: 2,
      note: expect.stringMatching(/without spaces/),
    });
    chmodSync(key.file, 0o644);
    const args = ['release', 'sign', statement(1), '--key', key.file, '--log', files.fresh()];
    expect(await run(...args)).toMatchObject({ code: 2, note: expect.stringMatching(/^--key .*: its mode is 0644/) });
    const empty = files.write('');
    chmodSync(empty, 0o600);
    expect(await run('release', 'sign', statement(1), '--key', empty, '--log', files.fresh())).toMatchObject({
      code: 2,
      note: expect.stringMatching(/it has no private key/),
    });
  });
});
