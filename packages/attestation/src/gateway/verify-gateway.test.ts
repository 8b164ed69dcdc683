import { sha256 } from '@noble/hashes/sha2.js';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Bytes } from '../bytes/bytes.ts';
import { toHex } from '../bytes/encodings.ts';
import { parseEventLog, replay } from '../dstack/event-log.ts';
import { verifyGateway, verifySnp, verifyTdx } from '../index.ts';
import { encodeSimulatedEvidence } from '../simulated/simulated.ts';
import { verifySnpUnder } from '../snp/verify-snp.ts';
import { type KeySet, keySetDigest } from '../statement/key-set.ts';
import { type Audience, reportDataOf, statementBytes, statementPurposes } from '../statement/statement.ts';
import { verifyTdxUnder } from '../tdx/verify-tdx.ts';
import { failed, notMade, reasonOf } from '../testing/outcomes.ts';
import { SnpMachine } from '../testing/snp-machine.ts';
import { type CollateralSettings, type MachineSettings, TdxMachine } from '../testing/tdx-machine.ts';
import { verdicts } from '../verdict.ts';
import type { HardwareVerifiers } from './check-hardware.ts';
import type { GatewayPins } from './pins.ts';
import { type GatewayChallenge, type GatewayVerification, verifyGatewayUnder } from './verify-gateway.ts';

const now = new Date('2026-01-15T00:00:00Z');
const nonce = '0123456789abcdef'.repeat(4);
const origin = 'https://broker.example:4001';
const tlsSpki = new Uint8Array(91).fill(5);
const seconds = now.getTime() / 1000;

const keySet: KeySet = {
  service: 'sotto',
  not_after: seconds + 30 * 86_400,
  provider_registry_digest: `sha256:${'0f'.repeat(32)}`,
  tls_public_keys: [{ origin, spki_sha256: toHex(sha256(tlsSpki)) }],
  receipt_signing_keys: [{ key_id: 'receipt-1', algorithm: 'ed25519', public_key: 'aa'.repeat(32) }],
  e2ee_public_keys: [],
};

const zeros = '00'.repeat(48);
const pins: GatewayPins = {
  tdx: {
    minimum_evaluation_number: 18,
    measurements: [{ name: 'release 1', mr_td: zeros, rtmr0: zeros, rtmr1: zeros, rtmr2: zeros, rtmr3: zeros }],
  },
  sev_snp: {
    minimum_tcb: { milan: { bootloader: 4, tee: 0, snp: 24, microcode: 219 } },
    measurements: [{ measurement: zeros, host_data: '00'.repeat(32) }],
  },
};

const challenge: GatewayChallenge = { nonce, origin, tlsSpki, pins, now };

const statement = (
  keys: unknown = keySet,
  machine: 'hardware' | 'simulated' = 'hardware',
  audience: Audience = 'client',
) =>
  statementBytes({
    keySetDigest: keySetDigest(keys),
    nonce,
    origin,
    purpose: statementPurposes[audience][machine],
  });
const toBase64 = (bytes: Uint8Array) => btoa(String.fromCharCode(...bytes));

let tdx: TdxMachine;
let snp: SnpMachine;
let hardware: HardwareVerifiers;
beforeAll(async () => {
  tdx = await TdxMachine.make();
  snp = await SnpMachine.make('milan');
  hardware = {
    verifyTdx: (evidence, time, policy) => verifyTdxUnder(tdx.root.anchor, evidence, time, policy),
    verifySnp: (evidence, time, policy) => verifySnpUnder(snp.anchors, evidence, time, policy),
  };
});

interface Made {
  readonly machine?: MachineSettings;
  readonly collateral?: CollateralSettings;
  readonly keys?: unknown;
  readonly evidence?: Record<string, unknown>;
}

async function tdxDocument({ machine, collateral, keys = keySet, evidence }: Made = {}) {
  const quote = await tdx.quote({ reportData: reportDataOf(statement(keys)), ...machine });
  return {
    version: 'sotto.gateway.evidence.v1',
    key_set: keys,
    evidence: { tee_type: 'tdx', quote: toBase64(quote), collateral: await tdx.collateral(collateral), ...evidence },
  };
}

async function snpDocument(evidence: Record<string, unknown> = {}, reportData = reportDataOf(statement())) {
  const made = await snp.evidence({ reportData });
  return {
    version: 'sotto.gateway.evidence.v1',
    key_set: keySet,
    evidence: {
      tee_type: 'sev_snp',
      report: toBase64(made.report),
      endorsement_key: toBase64(made.endorsementKey),
      intermediate: toBase64(made.intermediate),
      revocation_list: toBase64(made.revocationList ?? new Uint8Array()),
      ...evidence,
    },
  };
}

async function simulatedDocument(machine: 'hardware' | 'simulated' = 'simulated', audience: Audience = 'client') {
  const pair = await crypto.subtle.generateKey('Ed25519', true, ['sign', 'verify']);
  if (!('privateKey' in pair)) throw new Error('a key pair was wanted');
  const publicKey = new Uint8Array(await crypto.subtle.exportKey('raw', pair.publicKey));
  const signature = new Uint8Array(
    await crypto.subtle.sign('Ed25519', pair.privateKey, statement(keySet, machine, audience)),
  );
  const bytes = encodeSimulatedEvidence(publicKey, signature);
  const evidence = { tee_type: 'simulated', simulated: true, simulated_evidence: toBase64(bytes) };
  return { bytes, document: { version: 'sotto.gateway.evidence.v1', key_set: keySet, evidence } };
}

const verify = (document: unknown, changes: Partial<GatewayChallenge> = {}): Promise<GatewayVerification> =>
  verifyGatewayUnder(hardware, document, { ...challenge, ...changes });

describe('a gateway with everything in order', () => {
  it('is hardware_verified on TDX, with its keys', async () => {
    const result = await verify(await tdxDocument());
    expect(failed(result.checks)).toEqual([]);
    expect(result).toMatchObject({ verdict: 'hardware_verified', teeType: 'tdx', keySet });
    expect(notMade(result.checks)).toEqual(['gateway.registry', 'gateway.platform', 'gateway.provenance']);
  });

  it('is hardware_verified on SEV-SNP, with its keys', async () => {
    const result = await verify(await snpDocument());
    expect(failed(result.checks)).toEqual([]);
    expect(result).toMatchObject({ verdict: 'hardware_verified', teeType: 'sev_snp', keySet });
  });

  it('is untrusted under the vendors’ own roots: nothing made for a test passes the public door', async () => {
    for (const document of [await tdxDocument(), await snpDocument()]) {
      expect((await verifyGateway(document, challenge)).verdict).toBe('untrusted');
    }
    expect(verifyGateway).toHaveLength(2);
    expect(verifyTdx).toHaveLength(3);
    expect(verifySnp).toHaveLength(3);
  });

  it('keeps members of the key set that this version does not know, under the digest', async () => {
    const keys = { ...keySet, later: { also: ['bound'] } };
    expect((await verify(await tdxDocument({ keys }))).verdict).toBe('hardware_verified');
    const document = await tdxDocument({ keys });
    expect((await verify({ ...document, key_set: { ...keys, later: { also: [] } } })).verdict).toBe('untrusted');
  });
});

describe('a check that could not be made holds the verdict down', () => {
  it.each<[string, Made, Partial<GatewayChallenge>, string, string]>([
    ['the TLS key was not seen', {}, { tlsSpki: undefined }, 'cryptographically_checked', 'gateway.tls_key'],
    [
      'there is no collateral',
      { evidence: { collateral: undefined } },
      {},
      'cryptographically_checked',
      'tdx.collateral_format',
    ],
    [
      'the collateral expired',
      { collateral: { pckCrl: { from: '2025-01-01T00:00:00Z', until: '2025-02-01T00:00:00Z' } } },
      {},
      'cryptographically_checked',
      'tdx.collateral_dates',
    ],
    ['no TDX measurements are pinned', {}, { pins: { sev_snp: pins.sev_snp } }, 'untrusted', 'gateway.measurement'],
    ['nothing is pinned', {}, { pins: {} }, 'untrusted', 'gateway.measurement'],
  ])('%s', async (_, made, changes, verdict, name) => {
    const result = await verify(await tdxDocument(made), changes);
    expect(failed(result.checks)).toEqual([]);
    expect(notMade(result.checks)).toContain(name);
    expect(result.verdict).toBe(verdict);
  });

  it('AMD’s revocation list is missing', async () => {
    const result = await verify(await snpDocument({ revocation_list: undefined }));
    expect(failed(result.checks)).toEqual([]);
    expect(result.verdict).toBe('cryptographically_checked');
  });

  it('no document at all is unavailable, which is less than untrusted', async () => {
    const result = await verify(undefined);
    expect(result.verdict).toBe('unavailable');
    expect(result.checks.every(({ outcome }) => outcome === 'not_made')).toBe(true);
    expect(verdicts.indexOf('unavailable')).toBeLessThan(verdicts.indexOf('untrusted'));
  });
});

describe('a gateway that is untrusted', () => {
  const other = 'f'.repeat(64);
  it.each<[string, Made, Partial<GatewayChallenge>, string]>([
    ['a nonce that is not ours', {}, { nonce: other }, 'gateway.report_data'],
    ['another origin', {}, { origin: 'https://broker.example' }, 'gateway.report_data'],
    ['another TLS key', {}, { tlsSpki: new Uint8Array(91) }, 'gateway.tls_key'],
    ['a TLS key that is no bytes', {}, { tlsSpki: 'key' as unknown as Bytes }, 'gateway.tls_key'],
    ['other measurements', { machine: { mrTd: new Uint8Array(48).fill(7) } }, {}, 'gateway.measurement'],
    [
      'another RTMR3',
      { machine: { rtmrs: [0, 0, 0, 7].map((fill) => new Uint8Array(48).fill(fill)) } },
      {},
      'gateway.measurement',
    ],
    ['a debuggable machine', { machine: { tdAttributes: 1n } }, {}, 'tdx.td_attributes'],
    ['a revoked platform', { collateral: { pckCrl: { revoked: [7] } } }, {}, 'tdx.pck_crl'],
    ['an old evaluation', { collateral: { tcbInfo: { tcbEvaluationDataNumber: 17 } } }, {}, 'tdx.evaluation_number'],
    [
      'a processor that is not pinned',
      {},
      { pins: { tdx: { ...pins.tdx, platforms: ['bb'.repeat(16)] } } as GatewayPins },
      'gateway.platform',
    ],
    [
      'a provider registry that is not pinned',
      {},
      { pins: { ...pins, provider_registries: [`sha256:${'0e'.repeat(32)}`] } },
      'gateway.registry',
    ],
    ['a key set that expired', { keys: { ...keySet, not_after: seconds - 400 } }, {}, 'gateway.key_set_validity'],
    [
      'a key set that lives for years',
      { keys: { ...keySet, not_after: seconds + 91 * 86_400 } },
      {},
      'gateway.key_set_validity',
    ],
    [
      'a key set without its registry',
      { keys: { ...keySet, provider_registry_digest: undefined } as never },
      {},
      'gateway.key_set',
    ],
    ['a nonce of ours in capitals', {}, { nonce: nonce.toUpperCase() }, 'gateway.challenge'],
    ['a nonce of ours that is too short', {}, { nonce: nonce.slice(1) }, 'gateway.challenge'],
    ['an origin of ours with a path', {}, { origin: `${origin}/v1` }, 'gateway.challenge'],
    ['a time of ours that is none', {}, { now: new Date('no time') }, 'gateway.challenge'],
    [
      'pins of ours that say nothing',
      {},
      { pins: { tdx: { measurements: [] } } as unknown as GatewayPins },
      'gateway.pins',
    ],
    ['a quote that is not base64', { evidence: { quote: 'quote' } }, {}, 'tdx.format'],
    ['an SGX collateral', { collateral: { tcbInfo: { id: 'SGX' } } }, {}, 'tdx.tcb_info'],
  ])('%s', async (_, made, changes, name) => {
    const keys = made.keys === undefined ? undefined : JSON.parse(JSON.stringify(made.keys));
    const result = await verify(await tdxDocument({ ...made, ...(keys && { keys }) }), changes);
    expect(failed(result.checks)).toContain(name);
    expect(result.verdict).toBe('untrusted');
  });

  it('a genuine quote with another key set beside it', async () => {
    const document = await tdxDocument();
    const ours = {
      ...keySet,
      receipt_signing_keys: [{ key_id: 'receipt-1', algorithm: 'ed25519', public_key: 'bb'.repeat(32) }],
    };
    const result = await verify({ ...document, key_set: ours });
    expect(failed(result.checks)).toEqual(['gateway.report_data']);
    expect(result.keySet).toBeUndefined();
  });

  it('a genuine report whose data is for another purpose, or that has something after the digest', async () => {
    const simulated = reportDataOf(statement(keySet, 'simulated'));
    expect(failed((await verify(await snpDocument({}, simulated))).checks)).toEqual(['gateway.report_data']);
    const longer = reportDataOf(statement()).fill(1, 63);
    expect(failed((await verify(await snpDocument({}, longer))).checks)).toEqual(['gateway.report_data']);
  });

  it('evidence of one kind said to be of the other', async () => {
    const [tdxEvidence, snpEvidence] = [await tdxDocument(), await snpDocument()];
    const swapped = { ...tdxEvidence, evidence: { ...tdxEvidence.evidence, quote: snpEvidence.evidence.report } };
    expect(failed((await verify(swapped)).checks)).toContain('tdx.format');
    const back = {
      ...snpEvidence,
      evidence: { ...snpEvidence.evidence, report: (await tdxDocument()).evidence.quote.slice(0, 1580) },
    };
    expect(failed((await verify(back)).checks)).toContain('snp.format');
  });

  it('a key set that has no canonical form, whatever the evidence', async () => {
    for (const document of [await tdxDocument(), await snpDocument(), (await simulatedDocument()).document]) {
      const result = await verify({ ...document, key_set: { ...keySet, later: 0.5 } });
      expect(failed(result.checks)).toEqual(['gateway.key_set']);
    }
  });

  it('says what it measured when that is not pinned', async () => {
    const result = await verify(await tdxDocument({ machine: { mrTd: new Uint8Array(48).fill(0xab) } }));
    expect(reasonOf(result.checks, 'gateway.measurement')).toContain(`mr_td ${'ab'.repeat(48)}`);
  });

  it.each([
    null,
    7,
    'evidence',
    [],
    {},
    { version: 'aci/1' },
    { version: 'sotto.gateway.evidence.v1', key_set: [], evidence: {} },
  ])('a document that is none: %j', async (document) => {
    const result = await verify(document);
    expect(failed(result.checks)).toEqual(['gateway.format']);
    expect(result.verdict).toBe('untrusted');
  });
});

it('a provider registry that is pinned is told from others, and one that is not is shown', async () => {
  const { provider_registry_digest: digest } = keySet;
  const pinned = await verify(await tdxDocument(), { pins: { ...pins, provider_registries: [digest] } });
  expect(notMade(pinned.checks)).toEqual(['gateway.platform', 'gateway.provenance']);
  expect(pinned.verdict).toBe('hardware_verified');
  expect(reasonOf((await verify(await tdxDocument())).checks, 'gateway.registry')).toContain(digest);
});

describe('platform pins', () => {
  const of = (platform: string): GatewayPins =>
    ({ ...pins, tdx: { ...pins.tdx, platforms: [platform] } }) as GatewayPins;

  it('are needed for hardware_verified once they are given', async () => {
    const result = await verify(await tdxDocument(), { pins: of('aa'.repeat(16)) });
    expect(notMade(result.checks)).toEqual(['gateway.registry', 'gateway.provenance']);
    expect(result.verdict).toBe('hardware_verified');
    expect((await verify(await tdxDocument(), { pins: of('ab'.repeat(16)) })).verdict).toBe('untrusted');
  });
});

describe('a dstack machine', () => {
  const composeHash = 'ab'.repeat(32);
  const log = [
    'system-preparing:',
    `app-id:${composeHash.slice(0, 40)}`,
    `compose-hash:${composeHash}`,
    'system-ready:',
  ].map((line) => {
    const [event = '', event_payload = ''] = line.split(':');
    return { imr: 3, event_type: 0x0800_0001, digest: '', event, event_payload };
  });
  const byCompose: GatewayPins = {
    tdx: {
      minimum_evaluation_number: 18,
      measurements: [{ mr_td: zeros, rtmr0: zeros, rtmr1: zeros, rtmr2: zeros, compose_hash: composeHash }],
    },
  };
  const rtmr3 = Uint8Array.from(replay(parseEventLog(log), 3));
  const machine = { rtmrs: [0, 0, 0].map(() => new Uint8Array(48)).concat(rtmr3) };

  it('is known by its compose hash, through the replayed log', async () => {
    const result = await verify(await tdxDocument({ machine, evidence: { event_log: log } }), { pins: byCompose });
    expect(failed(result.checks)).toEqual([]);
    expect(result.verdict).toBe('hardware_verified');
  });

  it('is not known without the log, nor by one that does not replay', async () => {
    expect((await verify(await tdxDocument({ machine }), { pins: byCompose })).verdict).toBe('untrusted');
    const forged = await tdxDocument({ evidence: { event_log: log } });
    expect(failed((await verify(forged, { pins: byCompose })).checks)).toEqual([
      'gateway.measurement',
      'dstack.runtime_replay',
    ]);
  });
});

describe('what a gateway says it was built from', () => {
  const digest = `sha256:${'5a'.repeat(32)}`;
  const provenance = { repository: 'https://git.example/sotto', commit: '0'.repeat(40), image_digest: digest };
  const required = (pins: GatewayPins): GatewayPins => ({ ...pins, require_provenance: true });

  /** A machine that measured this compose file, and pins of what it measured. */
  async function measured(composeFile: string, claim: object | undefined) {
    const appCompose = JSON.stringify({ manifest_version: 2, docker_compose_file: composeFile });
    const hash = toHex(sha256(new TextEncoder().encode(appCompose)));
    const log = ['system-preparing:', `app-id:${hash.slice(0, 40)}`, `compose-hash:${hash}`, 'system-ready:'].map(
      (line) => {
        const [event = '', event_payload = ''] = line.split(':');
        return { imr: 3, event_type: 0x0800_0001, digest: '', event, event_payload };
      },
    );
    const rtmrs = [0, 0, 0].map(() => new Uint8Array(48)).concat(Uint8Array.from(replay(parseEventLog(log), 3)));
    const made = await tdxDocument({ machine: { rtmrs }, evidence: { event_log: log, app_compose: appCompose } });
    const measurements = [{ mr_td: zeros, rtmr0: zeros, rtmr1: zeros, rtmr2: zeros, compose_hash: hash }];
    return {
      document: { ...made, ...(claim && { provenance: claim }) },
      pins: { tdx: { minimum_evaluation_number: 18, measurements } } satisfies GatewayPins,
    };
  }
  const outcomeOf = (result: GatewayVerification) =>
    result.checks.find(({ name }) => name === 'gateway.provenance')?.outcome;

  it('is corroborated where the measured compose file runs that image', async () => {
    const lines = [
      'services:',
      '  redis:',
      '    image: redis:8',
      '  broker:',
      `    image: "reg.example/sotto@${digest}"`,
    ];
    const { document, pins: ours } = await measured(lines.join('\n'), provenance);
    const result = await verify(document, { pins: required(ours) });
    expect(outcomeOf(result)).toBe('passed');
    expect(result.verdict).toBe('hardware_verified');
  });

  it.each([
    ['runs another', `    image: reg.example/sotto@sha256:${'5b'.repeat(32)}`],
    ['names it in a remark only', `    # image: reg.example/sotto@${digest}\n    image: x@sha256:${'5b'.repeat(32)}`],
    ['names it after another', `    image: x@sha256:${'5b'.repeat(32)} # image: y@${digest}`],
  ])('is contradicted where the measured compose file %s', async (_, composeFile) => {
    const { document, pins: ours } = await measured(composeFile, provenance);
    const result = await verify(document, { pins: ours });
    expect(failed(result.checks)).toEqual(['gateway.provenance']);
    expect(result.verdict).toBe('untrusted');
  });

  it('stays a claim where nothing was measured to compare with, and then holds back only whoever asks for it', async () => {
    const tagged = await measured('    image: reg.example/sotto:latest', provenance);
    const silent = await measured(`    image: reg.example/sotto@${digest}`, undefined);
    const plain = { document: { ...(await tdxDocument()), provenance }, pins };
    for (const { document, pins: ours } of [tagged, silent, plain]) {
      const result = await verify(document, { pins: ours });
      expect([outcomeOf(result), result.verdict]).toEqual(['not_made', 'hardware_verified']);
      expect((await verify(document, { pins: required(ours) })).verdict).toBe('cryptographically_checked');
    }
  });

  it.each([
    ['a repository that is no https address', { ...provenance, repository: 'javascript:alert(1)' }],
    ['a short commit id', { ...provenance, commit: 'abc1234' }],
    ['a digest without its kind', { ...provenance, image_digest: '5a'.repeat(32) }],
  ])('is no evidence with %s', async (_, claim) => {
    const { document, pins: ours } = await measured('', claim);
    expect(failed((await verify(document, { pins: ours })).checks)).toEqual(['gateway.format']);
  });
});

describe('simulated evidence', () => {
  it('is untrusted when everything about it is right', async () => {
    const { document } = await simulatedDocument();
    const result = await verify(document);
    expect(failed(result.checks)).toEqual(['simulated.hardware']);
    expect(result).toMatchObject({ verdict: 'untrusted', teeType: 'simulated', keySet });
    expect((await verifyGateway(document, challenge)).verdict).toBe('untrusted');
  });

  it('binds nothing when signed for another purpose or nonce', async () => {
    const { document } = await simulatedDocument('hardware');
    expect((await verify(document)).keySet).toBeUndefined();
    const fresh = await simulatedDocument();
    expect((await verify(fresh.document, { nonce: 'e'.repeat(64) })).keySet).toBeUndefined();
  });

  it('cannot be read as hardware, whatever it is called', async () => {
    const { bytes, document } = await simulatedDocument();
    const base64 = toBase64(bytes);
    const asTdx = {
      ...document,
      evidence: { tee_type: 'tdx', quote: base64, simulated: true, simulated_evidence: base64 },
    };
    expect(failed((await verify(asTdx)).checks)).toEqual(['tdx.format']);
    const asSnp = {
      ...document,
      evidence: { tee_type: 'sev_snp', report: base64, endorsement_key: base64, intermediate: base64 },
    };
    expect(failed((await verify(asSnp)).checks)).toContain('snp.format');
    const padded = new Uint8Array(1184);
    padded.set(bytes);
    const padding = { ...document, evidence: { ...asSnp.evidence, report: toBase64(padded) } };
    expect(failed((await verify(padding)).checks)).toContain('snp.format');
  });
});
