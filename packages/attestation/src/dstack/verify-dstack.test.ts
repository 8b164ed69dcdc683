import { sha256, sha384 } from '@noble/hashes/sha2.js';
import { keccak_256 } from '@noble/hashes/sha3.js';
import { describe, expect, it } from 'vitest';
import { concatBytes, fromHex, toHex } from '../bytes.ts';
import { parseSnpReport } from '../snp/report.ts';
import { canonicalJson } from '../statement/canonical-json.ts';
import { parseTdxQuote, type TdReport } from '../tdx/quote.ts';
import { failed, notMade, reasonOf } from '../testing/outcomes.ts';
import { vectorBytes, vectorDstackQuote, vectorJson } from '../testing/vectors.ts';
import { parseEventLog, replay } from './event-log.ts';
import { verifyDstackSnp, verifyDstackTdx } from './verify-dstack.ts';

interface LoggedEvent {
  imr: number;
  event_type: number;
  digest: string;
  event: string;
  event_payload: string;
  version?: number;
  preimage?: string;
}

const fixture = (name: string) => {
  const path = `dstack/${name}`;
  const log = JSON.parse(vectorJson<{ event_log: string }>(path).event_log) as LoggedEvent[];
  return { log, report: parseTdxQuote(vectorDstackQuote(path)).report };
};

/** A report whose RTMR3 is the result of `log`. */
const reportOf = (log: readonly LoggedEvent[], base: TdReport): TdReport => {
  const [rtmr0, rtmr1, rtmr2] = base.rtmrs;
  const rtmr3 = Uint8Array.from(replay(parseEventLog(log), 3));
  return { ...base, rtmrs: [rtmr0, rtmr1, rtmr2, rtmr3] };
};

const event = (name: string, payload = ''): LoggedEvent => ({
  imr: 3,
  event_type: 0x0800_0001,
  digest: '',
  event: name,
  event_payload: payload,
});

describe('real dstack machines', () => {
  it.each([
    ['quote-report.json', '3763bc34552cf3a27ff71ad5f7a90471562a1a2d', ['dstack.machine_config', 'dstack.app_compose']],
    ['tdx-lite-getquote.json', '86b0e55f2fa8e4fb69d890f14f54d5612707646e', ['dstack.app_compose']],
  ])('%s replays to all four registers', async (name, appId, unmade) => {
    const { log, report } = fixture(name);
    const { checks, identity } = await verifyDstackTdx({ eventLog: log }, report);
    expect(failed(checks)).toEqual([]);
    expect(notMade(checks)).toEqual(unmade);
    expect(identity?.appId).toBe(appId);
    expect(identity?.composeHash.startsWith(appId)).toBe(true);
  });

  it('accepts the log as JSON text, and without boot events', async () => {
    const { log, report } = fixture('tdx-lite-getquote.json');
    const runtimeOnly = log.filter(({ imr }) => imr === 3);
    const { checks, identity } = await verifyDstackTdx({ eventLog: JSON.stringify(runtimeOnly) }, report);
    expect(failed(checks)).toEqual([]);
    expect(notMade(checks)).toEqual(['dstack.boot_replay', 'dstack.app_compose']);
    expect(identity?.osImageHash).toMatch(/^07a2388c/);
    expect(identity?.keyProvider?.name).toBe('kms');
  });

  it('on SEV-SNP, HOST_DATA is the digest of the configuration', async () => {
    const packed = vectorBytes('dstack/sev_snp_attestation.bin');
    const report = parseSnpReport(packed.slice(4, 4 + 1184));
    const text = new TextDecoder('latin1').decode(packed);
    const machineConfig = text.slice(text.indexOf('{"app_id"'), text.indexOf('"version":3}') + 12);
    const { checks, identity } = await verifyDstackSnp({ machineConfig }, report);
    expect(failed(checks)).toEqual([]);
    expect(identity?.composeHash).toMatch(/^86e59625/);
    for (const other of [`${machineConfig} `, machineConfig.replace('86e5', '86e6'), '{}', '']) {
      expect(failed((await verifyDstackSnp({ machineConfig: other }, report)).checks)).toEqual([
        'dstack.machine_config',
      ]);
    }
    expect(notMade((await verifyDstackSnp({}, report)).checks)).toHaveLength(6);
  });
});

describe('event logs that are refused', () => {
  const { log, report } = fixture('tdx-lite-getquote.json');
  const readyAt = log.findIndex((entry) => entry.event === 'system-ready');
  const outcome = async (changed: unknown, of: TdReport = report) =>
    failed((await verifyDstackTdx({ eventLog: changed }, of)).checks);
  /** Changes the log and uses a machine that measured the changed log. */
  const measured = (changed: LoggedEvent[]) => outcome(changed, reportOf(changed, report));

  it('one event missing, added, exchanged or changed', async () => {
    const swapped = [...log];
    [swapped[readyAt - 1], swapped[readyAt - 2]] = [log[readyAt - 2] as LoggedEvent, log[readyAt - 1] as LoggedEvent];
    expect(await outcome(log.slice(0, -1))).toEqual(['dstack.runtime_replay']);
    expect(await outcome([...log, event('more')])).toEqual(['dstack.runtime_replay']);
    expect(await outcome(swapped)).toEqual(['dstack.runtime_replay']);
    expect(await outcome(log.slice(1))).toEqual(['dstack.boot_replay']);
    const renamed = log.map((entry) =>
      entry.event === 'compose-hash' ? { ...entry, event_payload: '00'.repeat(32) } : entry,
    );
    expect(await outcome(renamed)).toEqual(['dstack.runtime_replay']);
  });

  it('a digest that does not match the content', async () => {
    const { log: withDigests, report: of } = fixture('quote-report.json');
    const changed = withDigests.map((entry) =>
      entry.event === 'compose-hash' ? { ...entry, event_payload: '00'.repeat(32) } : entry,
    );
    expect(await outcome(changed, of)).toEqual(['dstack.event_log']);
  });

  it('compose-hash counts only before system-ready, and only once', async () => {
    const late = [...log, event('compose-hash', '11'.repeat(32))];
    const { checks, identity } = await verifyDstackTdx({ eventLog: late }, reportOf(late, report));
    expect(failed(checks)).toEqual([]);
    expect(identity?.composeHash).toMatch(/^86b0e55f/);
    expect(
      await measured([...log.slice(0, readyAt), event('compose-hash', '11'.repeat(32)), ...log.slice(readyAt)]),
    ).toEqual(['dstack.identity']);
    const onlyLate = [...log.filter((entry) => entry.event !== 'compose-hash'), event('compose-hash', '11'.repeat(32))];
    expect(await measured(onlyLate)).toEqual(['dstack.identity']);
  });

  it('no system-ready, a colon in a name, a hash of the wrong length, a malformed key provider', async () => {
    expect(await measured(log.filter((entry) => entry.event !== 'system-ready'))).toEqual(['dstack.identity']);
    expect(await measured([...log.slice(0, readyAt), event('a:b'), ...log.slice(readyAt)])).toEqual([
      'dstack.identity',
    ]);
    const short = log.map((entry) => (entry.event === 'compose-hash' ? event('compose-hash', '11') : entry));
    expect(await measured(short)).toEqual(['dstack.identity']);
    const odd = log.map((entry) => (entry.event === 'key-provider' ? event('key-provider', '5b5d') : entry));
    expect(await measured(odd)).toEqual(['dstack.identity']);
  });

  it.each([
    ['no list', 7],
    ['no JSON', '['],
    ['null', null],
    ['a list of numbers', [1]],
    ['a register that does not exist', [{ ...event('x'), imr: 4 }]],
    ['a runtime event in a register of booting', [{ ...event('x'), imr: 0 }]],
    ['another event in the register of runtime', [{ ...event('x'), event_type: 4 }]],
    ['a payload that is not hex', [event('x', 'zz')]],
    ['a boot digest that is too short', [{ ...event(''), imr: 0, event_type: 4, digest: '00' }]],
    ['five thousand events', Array.from({ length: 5000 }, () => event('x'))],
  ])('%s', async (_, changed) => {
    expect(await outcome(changed)).toEqual(['dstack.event_log']);
  });
});

describe('events of version 2', () => {
  const { report } = fixture('tdx-lite-getquote.json');
  const canonical = canonicalJson({ name: 'compose-hash', payload: 'ab'.repeat(32), type: 134217729 });
  const second = (entry: LoggedEvent): LoggedEvent => ({ ...entry, version: 2 });

  it('have the digest of their canonical JSON', () => {
    expect(canonical).toBe(`{"name":"compose-hash","payload":"${'ab'.repeat(32)}","type":134217729}`);
    const [entry] = parseEventLog([{ ...second(event('compose-hash', 'AB'.repeat(32))), preimage: canonical }]);
    expect(toHex(entry?.digest ?? new Uint8Array())).toBe(toHex(sha384(new TextEncoder().encode(canonical))));
  });

  it('may appear beside those of version 1', async () => {
    const log = [
      event('app-id', '22'.repeat(20)),
      second(event('compose-hash', 'ab'.repeat(32))),
      event('system-ready'),
    ];
    const { checks, identity } = await verifyDstackTdx(
      { eventLog: log },
      { ...reportOf(log, report), mrConfigId: new Uint8Array(48) },
    );
    expect(failed(checks)).toEqual([]);
    expect(identity?.composeHash).toBe('ab'.repeat(32));
  });

  it('are refused with a preimage in any other form', async () => {
    for (const preimage of [`${canonical} `, canonical.replace('134217729', '1.34217729e8'), '{}', '']) {
      const log = [{ ...event('compose-hash', 'ab'.repeat(32)), preimage }];
      expect(failed((await verifyDstackTdx({ eventLog: log }, report)).checks), preimage).toEqual(['dstack.event_log']);
    }
  });
});

describe('configuration that was bound before booting', () => {
  const { log, report } = fixture('quote-report.json');
  const composeHash = '3763bc34552cf3a27ff71ad5f7a90471562a1a2df552dfc1998cba2d60da27e7';
  const appId = composeHash.slice(0, 40);
  const configId = (version: number, digest: Uint8Array) =>
    concatBytes(Uint8Array.of(version), digest, new Uint8Array(15));
  const check = async (mrConfigId: Uint8Array<ArrayBuffer>, machineConfig?: string) =>
    (await verifyDstackTdx({ eventLog: log, machineConfig }, { ...report, mrConfigId })).checks;

  it('version 1: the compose hash itself', async () => {
    expect(failed(await check(configId(1, fromHex(composeHash, 'hash'))))).toEqual([]);
    expect(failed(await check(configId(1, new Uint8Array(32).fill(9))))).toEqual(['dstack.machine_config']);
    expect(failed(await check(configId(1, fromHex(composeHash, 'hash')).fill(1, 47)))).toEqual([
      'dstack.machine_config',
    ]);
  });

  it('version 2: Keccak-256 of hash, app and key provider', async () => {
    const { identity } = await verifyDstackTdx({ eventLog: log }, report);
    expect(identity?.keyProvider?.name).toBe('local-sgx');
    const preimage = concatBytes(
      fromHex(composeHash, 'hash'),
      fromHex(appId, 'app'),
      Uint8Array.of(1),
      fromHex(identity?.keyProvider?.id ?? '', 'id'),
    );
    expect(failed(await check(configId(2, keccak_256(preimage))))).toEqual([]);
    expect(failed(await check(configId(2, sha256(preimage))))).toEqual(['dstack.machine_config']);
  });

  it('version 3: a document, which must name the same hash', async () => {
    const document = (hash: string) => canonicalJson({ compose_hash: hash, key_provider: 'none', version: 3 });
    const digest = (text: string) => sha256(new TextEncoder().encode(`dstack-mr-config-v3:\0${text}`));
    const good = document(composeHash);
    expect(failed(await check(configId(3, digest(good)), good))).toEqual([]);
    expect(failed(await check(configId(3, digest(good)), document('00'.repeat(32))))).toEqual([
      'dstack.machine_config',
    ]);
    const other = document('00'.repeat(32));
    expect(failed(await check(configId(3, digest(other)), other))).toEqual(['dstack.machine_config']);
    expect(notMade(await check(configId(3, digest(good))))).toContain('dstack.machine_config');
  });

  it('is skipped when unset, and refused in an unknown version', async () => {
    expect(reasonOf(await check(new Uint8Array(48)), 'dstack.machine_config')).toBe('MRCONFIGID is not set');
    expect(failed(await check(configId(4, new Uint8Array(32))))).toEqual(['dstack.machine_config']);
  });

  it('an app-compose document must match the measured hash', async () => {
    const appCompose = '{"manifest_version":2}';
    const hash = toHex(sha256(new TextEncoder().encode(appCompose)));
    const measuredLog = log.map((entry) => (entry.event === 'compose-hash' ? event('compose-hash', hash) : entry));
    const of = reportOf(measuredLog, report);
    expect(notMade((await verifyDstackTdx({ eventLog: measuredLog, appCompose }, of)).checks)).toEqual([
      'dstack.machine_config',
    ]);
    const { checks } = await verifyDstackTdx({ eventLog: measuredLog, appCompose: `${appCompose}\n` }, of);
    expect(failed(checks)).toEqual(['dstack.app_compose']);
  });
});
