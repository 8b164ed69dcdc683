import { sha256 } from '@noble/hashes/sha2.js';
import { describe, expect, it } from 'vitest';
import { type Bytes, toBase64, toHex } from '../bytes.ts';
import { verifyGateway, verifySnp, verifyTdx } from '../index.ts';
import type { Audience } from '../statement/statement.ts';
import {
  challenge,
  dstackMachine,
  hardware,
  keySet,
  nonce,
  origin,
  pins,
  reportDataFor,
  seconds,
  simulatedDocument,
  snpDocument,
  type TdxSettings,
  tdxDocument,
} from '../testing/gateway-documents.ts';
import { failed, notMade, reasonOf } from '../testing/outcomes.ts';
import { verdicts } from '../verdict.ts';
import { type GatewayPins, gatewayPinsSchema } from './pins.ts';
import { type GatewayChallenge, type GatewayVerification, verifyGatewayUnder } from './verify-gateway.ts';

const verify = (document: unknown, changes: Partial<GatewayChallenge> = {}): Promise<GatewayVerification> =>
  verifyGatewayUnder(hardware, document, { ...challenge, ...changes });

describe('a gateway with valid evidence', () => {
  it('is hardware_verified on TDX, with its keys', async () => {
    const result = await verify(await tdxDocument());
    expect(failed(result.checks)).toEqual([]);
    expect(result).toMatchObject({ verdict: 'hardware_verified', teeType: 'tdx', keySet, isCurrent: true });
    expect(notMade(result.checks)).toEqual([
      'gateway.registry',
      'gateway.vendor',
      'gateway.platform',
      'gateway.provenance',
      'gateway.channel',
    ]);
  });

  it('is hardware_verified on SEV-SNP, with its keys', async () => {
    const result = await verify(await snpDocument());
    expect(failed(result.checks)).toEqual([]);
    expect(result).toMatchObject({ verdict: 'hardware_verified', teeType: 'sev_snp', keySet, isCurrent: true });
  });

  it('is untrusted under the vendors’ own roots, so that test evidence never passes the public functions', async () => {
    for (const document of [await tdxDocument(), await snpDocument()]) {
      expect((await verifyGateway(document, challenge)).verdict).toBe('untrusted');
    }
    expect(verifyGateway).toHaveLength(2);
    expect(verifyTdx).toHaveLength(3);
    expect(verifySnp).toHaveLength(3);
  });

  it('keeps unknown members of the key set, which the digest covers', async () => {
    const keys = { ...keySet, later: { also: ['bound'] } };
    expect((await verify(await tdxDocument({ keys }))).verdict).toBe('hardware_verified');
    const document = await tdxDocument({ keys });
    expect((await verify({ ...document, key_set: { ...keys, later: { also: [] } } })).verdict).toBe('untrusted');
  });
});

describe('a check that could not be made limits the verdict', () => {
  const checked = 'cryptographically_checked';
  const expired = { pckCrl: { from: '2025-01-01T00:00:00Z', until: '2025-02-01T00:00:00Z' } };
  it.each<[string, TdxSettings, Partial<GatewayChallenge>, string, string]>([
    ['the TLS key was not seen', {}, { tlsSpki: undefined }, checked, 'gateway.tls_key'],
    ['there is no collateral', { evidence: { collateral: undefined } }, {}, checked, 'tdx.collateral_format'],
    ['the collateral expired', { collateral: expired }, {}, checked, 'tdx.collateral_dates'],
    ['no TDX measurements are pinned', {}, { pins: { sev_snp: pins.sev_snp } }, 'untrusted', 'gateway.measurement'],
    ['nothing is pinned', {}, { pins: {} }, 'untrusted', 'gateway.measurement'],
  ])('%s', async (_, made, changes, verdict, name) => {
    const result = await verify(await tdxDocument(made), changes);
    expect(failed(result.checks)).toEqual([]);
    expect(notMade(result.checks)).toContain(name);
    expect(result.verdict).toBe(verdict);
    expect(result.isCurrent).toBe(name === 'gateway.tls_key');
    if (name.startsWith('tdx.')) expect(result.notCurrent.map((check) => check.name)).toContain(name);
  });

  it('AMD’s revocation list is missing', async () => {
    const result = await verify(await snpDocument({ revocation_list: undefined }));
    expect(failed(result.checks)).toEqual([]);
    expect(result).toMatchObject({ verdict: 'cryptographically_checked', isCurrent: false });
    expect(result.notCurrent.map(({ name }) => name)).toEqual(['snp.revocation', 'snp.revocation_date']);
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
  const withRegister = (at: number) => [0, 1, 2, 3].map((each) => new Uint8Array(48).fill(each === at ? 7 : 0));
  const platforms = { tdx: { ...pins.tdx, platforms: ['bb'.repeat(16)] } } as GatewayPins;
  const registries = { ...pins, provider_registries: [`sha256:${'0e'.repeat(32)}`] };
  const keys = (changes: object) => ({ keys: JSON.parse(JSON.stringify({ ...keySet, ...changes })) });
  it.each<[string, TdxSettings, Partial<GatewayChallenge>, string]>([
    ['a nonce that is not ours', {}, { nonce: other }, 'gateway.report_data'],
    ['another origin', {}, { origin: 'https://broker.example' }, 'gateway.report_data'],
    ['another TLS key', {}, { tlsSpki: new Uint8Array(91) }, 'gateway.tls_key'],
    ['a TLS key that is no bytes', {}, { tlsSpki: 'key' as unknown as Bytes }, 'gateway.tls_key'],
    ['other measurements', { machine: { mrTd: new Uint8Array(48).fill(7) } }, {}, 'gateway.measurement'],
    // RTMR0 covers what the host gives the firmware, such as ACPI tables, which the kernel executes.
    ...[0, 1, 2, 3].map((at): [string, TdxSettings, Partial<GatewayChallenge>, string] => [
      `another RTMR${at}`,
      { machine: { rtmrs: withRegister(at) } },
      {},
      'gateway.measurement',
    ]),
    ['a debuggable machine', { machine: { tdAttributes: 1n } }, {}, 'tdx.td_attributes'],
    ['a revoked platform', { collateral: { pckCrl: { revoked: [7] } } }, {}, 'tdx.pck_crl'],
    ['an old evaluation', { collateral: { tcbInfo: { tcbEvaluationDataNumber: 17 } } }, {}, 'tdx.evaluation_number'],
    ['a processor that is not pinned', {}, { pins: platforms }, 'gateway.platform'],
    ['a provider registry that is not pinned', {}, { pins: registries }, 'gateway.registry'],
    ['a key set that expired', keys({ not_after: seconds - 400 }), {}, 'gateway.key_set_validity'],
    ['a key set that lives for years', keys({ not_after: seconds + 91 * 86_400 }), {}, 'gateway.key_set_validity'],
    ['a key set that ends later than any date', keys({ not_after: 8_640_000_000_001 }), {}, 'gateway.key_set'],
    ['a key set without its registry', keys({ provider_registry_digest: undefined }), {}, 'gateway.key_set'],
    ['a nonce of ours in capitals', {}, { nonce: nonce.toUpperCase() }, 'gateway.challenge'],
    ['a nonce of ours that is too short', {}, { nonce: nonce.slice(1) }, 'gateway.challenge'],
    ['an origin of ours with a path', {}, { origin: `${origin}/v1` }, 'gateway.challenge'],
    ['a time of ours that is none', {}, { now: new Date('no time') }, 'gateway.challenge'],
    ['pins of ours that say nothing', {}, { pins: { tdx: { measurements: [] } } as never }, 'gateway.pins'],
    ['a quote that is not base64', { evidence: { quote: 'quote' } }, {}, 'tdx.format'],
    ['an SGX collateral', { collateral: { tcbInfo: { id: 'SGX' } } }, {}, 'tdx.tcb_info'],
  ])('%s', async (_, made, changes, name) => {
    const result = await verify(await tdxDocument(made), changes);
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

  it('a genuine report for another purpose, or with bytes after the digest', async () => {
    const simulated = reportDataFor({ machine: 'simulated' });
    expect(failed((await verify(await snpDocument({}, simulated))).checks)).toEqual(['gateway.report_data']);
    const longer = reportDataFor().fill(1, 63);
    expect(failed((await verify(await snpDocument({}, longer))).checks)).toEqual(['gateway.report_data']);
  });

  it('evidence of one kind that is labelled as the other', async () => {
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

  it('shows the measurements of a machine that is not pinned', async () => {
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
  ])('a malformed document: %j', async (document) => {
    const result = await verify(document);
    expect(failed(result.checks)).toEqual(['gateway.format']);
    expect(result.verdict).toBe('untrusted');
  });
});

it('accepts only pinned provider registries, and shows the digest of another', async () => {
  const { provider_registry_digest: digest } = keySet;
  const pinned = await verify(await tdxDocument(), { pins: { ...pins, provider_registries: [digest] } });
  expect(notMade(pinned.checks)).toEqual([
    'gateway.vendor',
    'gateway.platform',
    'gateway.provenance',
    'gateway.channel',
  ]);
  expect(pinned.verdict).toBe('hardware_verified');
  expect(reasonOf((await verify(await tdxDocument())).checks, 'gateway.registry')).toContain(digest);
});

it('requires a pinned platform for hardware_verified if platforms are given', async () => {
  const verifyOn = async (platform: string) =>
    verify(await tdxDocument(), { pins: { ...pins, tdx: { ...pins.tdx, platforms: [platform] } } as GatewayPins });
  const result = await verifyOn('aa'.repeat(16));
  expect(notMade(result.checks)).toEqual([
    'gateway.registry',
    'gateway.vendor',
    'gateway.provenance',
    'gateway.channel',
  ]);
  expect(result.verdict).toBe('hardware_verified');
  expect((await verifyOn('ab'.repeat(16))).verdict).toBe('untrusted');
});

describe('a dstack machine', () => {
  const { log, machine, pins: byCompose } = dstackMachine('ab'.repeat(32));

  it('is known by its compose hash, through the replayed log', async () => {
    const result = await verify(await tdxDocument({ machine, evidence: { event_log: log } }), { pins: byCompose });
    expect(failed(result.checks)).toEqual([]);
    expect(result.verdict).toBe('hardware_verified');
  });

  it.each<[string, Parameters<typeof dstackMachine>[1]]>([
    ['another KMS', { keyProvider: { name: 'kms', id: '04cd' } }],
    ['no key provider', { keyProvider: undefined }],
    ['another app id', { appId: 'ee'.repeat(20) }],
  ])('is untrusted with %s: its host may know the key of its disk', async (_, changed) => {
    const other = dstackMachine('ab'.repeat(32), changed);
    const document = await tdxDocument({ machine: other.machine, evidence: { event_log: other.log } });
    const { verdict, checks } = await verify(document, { pins: byCompose });
    expect([verdict, failed(checks)]).toEqual(['untrusted', ['gateway.measurement']]);
  });

  it('is pinned with all values that decide which keys it holds', () => {
    const [pin] = byCompose.tdx.measurements;
    const problemWithout = (name: string) => {
      const { [name]: _, ...rest } = pin as Record<string, string>;
      const read = gatewayPinsSchema.safeParse({ tdx: { ...byCompose.tdx, measurements: [rest] } });
      return read.error?.issues[0]?.message;
    };
    expect(problemWithout('app_id')).toMatch(/`app_id` is missing: without it a host that knows the machine's keys/);
    expect(problemWithout('key_provider')).toMatch(/`key_provider` is missing/);
    const snp = { measurement: 'aa'.repeat(48), compose_hash: 'ab'.repeat(32) };
    expect(gatewayPinsSchema.safeParse({ sev_snp: { measurements: [snp], minimum_tcb: {} } }).success).toBe(false);
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

describe('the source that a gateway claims', () => {
  const digest = `sha256:${'5a'.repeat(32)}`;
  const provenance = { repository: 'https://git.example/sotto', commit: '0'.repeat(40), image_digest: digest };
  const required = (pins: GatewayPins): GatewayPins => ({ ...pins, require_provenance: true });

  /** A machine that measured this compose file, and pins for its measurements. */
  async function measured(composeFile: string, claim: object | undefined) {
    const appCompose = JSON.stringify({ manifest_version: 2, docker_compose_file: composeFile });
    const { log, machine, pins } = dstackMachine(toHex(sha256(new TextEncoder().encode(appCompose))));
    const made = await tdxDocument({ machine, evidence: { event_log: log, app_compose: appCompose } });
    return { document: { ...made, ...(claim && { provenance: claim }) }, pins };
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

  it('remains a claim without a measured document, and limits only clients that require provenance', async () => {
    const tagged = await measured('    image: reg.example/sotto:latest', provenance);
    const silent = await measured(`    image: reg.example/sotto@${digest}`, undefined);
    const plain = { document: { ...(await tdxDocument()), provenance }, pins };
    for (const { document, pins: ours } of [tagged, silent, plain]) {
      const result = await verify(document, { pins: ours });
      expect([outcomeOf(result), result.verdict]).toEqual(['not_made', 'hardware_verified']);
      expect((await verify(document, { pins: required(ours) })).verdict).toBe('untrusted');
    }
  });

  it.each([
    ['a repository that is no https address', { ...provenance, repository: 'javascript:alert(1)' }],
    ['a short commit id', { ...provenance, commit: 'abc1234' }],
    ['a digest without its kind', { ...provenance, image_digest: '5a'.repeat(32) }],
  ])('is not accepted with %s', async (_, claim) => {
    const { document, pins: ours } = await measured('', claim);
    expect(failed((await verify(document, { pins: ours })).checks)).toEqual(['gateway.format']);
  });
});

describe('simulated evidence', () => {
  it('is untrusted even if it is valid', async () => {
    const { document } = await simulatedDocument();
    const result = await verify(document);
    expect(failed(result.checks)).toEqual(['simulated.hardware']);
    expect(result).toMatchObject({ verdict: 'untrusted', teeType: 'simulated', keySet });
    expect((await verifyGateway(document, challenge)).verdict).toBe('untrusted');
  });

  it('binds nothing when signed for another purpose or nonce', async () => {
    const { document } = await simulatedDocument({ machine: 'hardware' });
    expect((await verify(document)).keySet).toBeUndefined();
    const fresh = await simulatedDocument();
    expect((await verify(fresh.document, { nonce: 'e'.repeat(64) })).keySet).toBeUndefined();
  });

  it('cannot be read as hardware under any label', async () => {
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

const documents: Readonly<Record<'hardware' | 'simulated', (audience: Audience) => Promise<object>>> = {
  hardware: (audience) => tdxDocument({ audience }),
  simulated: async (audience) => (await simulatedDocument({ audience })).document,
};

/** The checks that fail when evidence for one audience is shown to others. */
async function shown(kind: 'hardware' | 'simulated', audience: Audience, audiences?: readonly Audience[]) {
  const document = await documents[kind](audience);
  const { checks, keySet: bound } = await verifyGatewayUnder(hardware, document, { ...challenge, audiences });
  return { failed: failed(checks).filter((name) => name !== 'simulated.hardware'), isBound: bound !== undefined };
}

it.each([
  ['hardware', 'gateway.report_data'],
  ['simulated', 'simulated.signature'],
] as const)('evidence of %s for a keeper is refused by a client, and the reverse', async (kind, check) => {
  const refused = { failed: [check], isBound: false };
  const taken = { failed: [], isBound: true };
  expect(await shown(kind, 'client')).toEqual(taken);
  expect(await shown(kind, 'keeper')).toEqual(refused);
  expect(await shown(kind, 'keeper', ['keeper'])).toEqual(taken);
  expect(await shown(kind, 'client', ['keeper'])).toEqual(refused);
  // A keeper accepts both while brokers of the previous release still run.
  expect(await shown(kind, 'client', ['keeper', 'client'])).toEqual(taken);
  expect(await shown(kind, 'client', [])).toEqual(refused);
});
