import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { sha256 } from '@noble/hashes/sha2.js';
import { keccak_256 } from '@noble/hashes/sha3.js';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Bytes, concatBytes } from '../bytes/bytes.ts';
import { fromHex, toHex } from '../bytes/encodings.ts';
import { verifyProvider } from '../hardware.ts';
import { nvidiaIntermediates } from '../nvidia/nvidia-intermediates.ts';
import { verifyNvidiaUnder } from '../nvidia/verify-nvidia.ts';
import { verifySnpUnder } from '../snp/verify-snp.ts';
import { canonicalJson } from '../statement/canonical-json.ts';
import { keySetDigest } from '../statement/key-set.ts';
import { verifyTdxUnder } from '../tdx/verify-tdx.ts';
import { Issuer } from '../testing/issuer.ts';
import { failed, notMade, reasonOf } from '../testing/outcomes.ts';
import { SnpMachine } from '../testing/snp-machine.ts';
import { type CollateralSettings, type MachineSettings, TdxMachine } from '../testing/tdx-machine.ts';
import type { ProviderChallenge } from './provider-challenge.ts';
import type { ProviderFamily } from './provider-evidence.ts';
import { providerPinsSchema } from './provider-pins.ts';
import { type ProviderVerification, type ProviderVerifiers, verifyProviderUnder } from './verify-provider.ts';

const now = new Date('2026-01-15T00:00:00Z');
const nonce = '0123456789abcdef'.repeat(4);
const other = 'f'.repeat(64);
const zeros = '00'.repeat(48);
const pinned = `mr_td=${zeros},rtmr0=${zeros},rtmr1=${zeros},rtmr2=${zeros},rtmr3=${zeros}`;
const pins = { measurements: [pinned] };
const chuteId = '6f1e5a52-0c0e-5c57-9a37-08e1c4f3a6b1';
const spki = 'c0'.repeat(32);
const toBase64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');
const text = (value: string): Bytes => new TextEncoder().encode(value);
const nonceBytes = fromHex(nonce, 'the nonce');

const point = (() => {
  const jwk = generateKeyPairSync('ec', { namedCurve: 'secp256k1' }).publicKey.export({ format: 'jwk' });
  return Uint8Array.from(
    Buffer.concat([Buffer.of(4), Buffer.from(`${jwk.x}`, 'base64url'), Buffer.from(`${jwk.y}`, 'base64url')]),
  );
})();
const address = Uint8Array.from(keccak_256(point.subarray(1)).subarray(12));
const edwards = new Uint8Array(32).fill(0xed);
const kem = new Uint8Array(1184).fill(0x3e);
const kemText = toBase64(kem);
const hpke = new Uint8Array(32).fill(0x19);

const keySet = {
  subject: null,
  not_after: now.getTime() / 1000 + 86_400,
  receipt_signing_keys: [{ key_id: 'r', algo: 'ed25519', public_key: 'ab'.repeat(32) }],
  e2ee_public_keys: [{ key_id: 'e', algo: 'x25519-aes-256-gcm-hkdf-sha256', public_key: toHex(hpke) }],
  tls_public_keys: [{ spki_sha256: spki }],
};
const aciReportData = (keys: unknown = keySet, asked = nonce) =>
  concatBytes(
    sha256(text(canonicalJson({ keyset_digest: keySetDigest(keys), nonce: asked, purpose: 'aci.report_data.v1' }))),
    new Uint8Array(32),
  );

let tdx: TdxMachine;
let snp: SnpMachine;
let certificate: Bytes;
let verifiers: ProviderVerifiers;
beforeAll(async () => {
  tdx = await TdxMachine.make();
  snp = await SnpMachine.make('genoa');
  certificate = await (await Issuer.make('an instance')).certifySelf();
  verifiers = {
    verifyTdx: (evidence, time, policy) => verifyTdxUnder(tdx.root.anchor, evidence, time, policy),
    verifySnp: (evidence, time, policy) => verifySnpUnder(snp.anchors, evidence, time, policy),
    verifyNvidia: (evidence, asked, time) => verifyNvidiaUnder(nvidiaIntermediates, evidence, asked, time),
  };
});

const spkiOf = (der: Bytes): Bytes =>
  Uint8Array.from(createPublicKey({ key: certificatePem(der), format: 'pem' }).export({ type: 'spki', format: 'der' }));
const certificatePem = (der: Bytes): string =>
  `-----BEGIN CERTIFICATE-----\n${toBase64(der)}\n-----END CERTIFICATE-----\n`;

interface Kind {
  readonly family: ProviderFamily;
  readonly upstreamModel?: string;
  readonly reportData: () => Bytes;
  readonly evidence: () => Record<string, unknown>;
  readonly key?: Record<string, unknown>;
  readonly tls: () => readonly string[];
  /** What the family itself leaves open. */
  readonly open?: readonly string[];
}

const padded = (bytes: Uint8Array): Bytes => concatBytes(bytes, new Uint8Array(32 - bytes.length));
const signing = {
  ecdsa: { signing_algo: 'ecdsa', signing_address: toHex(address), signing_public_key: toHex(point.subarray(1)) },
  ed25519: { signing_algo: 'ed25519', signing_address: toHex(edwards) },
};

const kinds = {
  'near, by address': {
    family: 'near',
    reportData: () => concatBytes(padded(address), nonceBytes),
    evidence: () => ({ ...signing.ecdsa, model_name: 'up/model' }),
    key: { family: 'near', algorithm: 'secp256k1', publicKey: point, model: 'up/model' },
    tls: () => [],
  },
  'near, with its TLS key': {
    family: 'near',
    reportData: () => concatBytes(sha256(concatBytes(edwards, fromHex(spki, 'it'))), nonceBytes),
    evidence: () => ({ ...signing.ed25519, tls_spki_sha256: spki }),
    key: { family: 'near', algorithm: 'ed25519', publicKey: edwards, model: 'up/model' },
    tls: () => [spki],
  },
  'phala, by dstack-vllm-proxy': {
    family: 'phala',
    reportData: () => concatBytes(edwards, nonceBytes),
    evidence: () => ({ protocol: 'vllm-proxy', ...signing.ed25519 }),
    key: { family: 'phala', protocol: 'vllm-proxy', algorithm: 'ed25519', publicKey: edwards, model: 'up/model' },
    tls: () => [],
  },
  'phala, by private-ai-gateway': {
    family: 'phala',
    reportData: () => aciReportData(),
    evidence: () => ({ protocol: 'aci', key_set: keySet }),
    key: { family: 'phala', protocol: 'aci', algorithm: 'x25519', publicKey: hpke, model: 'up/model' },
    tls: () => [spki],
  },
  venice: {
    family: 'venice',
    reportData: () => concatBytes(padded(address), sha256(nonceBytes)),
    evidence: () => ({ signing_public_key: toHex(point) }),
    key: { family: 'venice', algorithm: 'secp256k1', publicKey: point, model: 'up/model' },
    tls: () => [],
  },
  tinfoil: {
    family: 'tinfoil',
    reportData: () => concatBytes(fromHex(spki, 'it'), hpke),
    evidence: () => ({}),
    key: { family: 'tinfoil', algorithm: 'x25519', publicKey: hpke, model: 'up/model' },
    tls: () => [spki],
    open: ['provider.freshness'],
  },
  chutes: {
    family: 'chutes',
    upstreamModel: `up/model@${chuteId}`,
    reportData: () => concatBytes(sha256(text(nonce + kemText)), sha256(spkiOf(certificate))),
    evidence: () => ({
      chute_id: chuteId,
      instance_id: 'one',
      e2e_pubkey: kemText,
      certificate: toBase64(certificate),
      e2e_nonce: 'single-use',
      e2e_nonce_expires_at: now.getTime() + 55_000,
    }),
    key: {
      family: 'chutes',
      algorithm: 'ml-kem-768',
      publicKey: kem,
      model: 'up/model',
      chuteId,
      instanceId: 'one',
      nonce: 'single-use',
      expiresAt: now.getTime() + 55_000,
    },
    tls: () => [toHex(sha256(spkiOf(certificate)))],
  },
} satisfies Record<string, Kind>;
type KindName = keyof typeof kinds;
const kindNames = Object.keys(kinds) as KindName[];
const kindOf = (name: KindName): Kind => kinds[name];

interface Made {
  readonly privacyClass?: 'tee' | 'e2ee';
  readonly machine?: MachineSettings;
  readonly collateral?: CollateralSettings;
  readonly shown?: Record<string, unknown>;
  readonly evidence?: Record<string, unknown>;
  readonly document?: Record<string, unknown>;
}

async function documentOf(name: KindName, made: Made = {}) {
  const kind = kindOf(name);
  const quote = await tdx.quote({ reportData: kind.reportData(), ...made.machine });
  const collateral = await tdx.collateral(made.collateral);
  return {
    version: 'sotto.provider.evidence.v1',
    provider: 'vault',
    model: 'acme/wide',
    upstream_model: kind.upstreamModel ?? 'up/model',
    privacy_class: made.privacyClass ?? 'e2ee',
    family: kind.family,
    nonce,
    obtained_at: now.toISOString(),
    evidence: {
      machine: { tee_type: 'tdx', quote: toBase64(quote), collateral, ...made.shown },
      ...kind.evidence(),
      ...made.evidence,
    },
    ...made.document,
  };
}

/** The challenge of a client that pins a provider of this kind. */
const challengeOf = (name: KindName): ProviderChallenge => ({
  nonce,
  provider: 'vault',
  model: 'acme/wide',
  privacyClass: 'e2ee',
  family: kindOf(name).family,
  upstreamModel: kindOf(name).upstreamModel ?? 'up/model',
  pins,
  now,
});
const verify = (
  name: KindName,
  document: unknown,
  changes: Partial<ProviderChallenge> = {},
): Promise<ProviderVerification> => verifyProviderUnder(verifiers, document, { ...challengeOf(name), ...changes });
/** The same for a document that is of this kind. */
const verifyOf = async (name: KindName, made: Made = {}, changes: Partial<ProviderChallenge> = {}) =>
  verify(name, await documentOf(name, made), changes);

describe('a provider with everything in order', () => {
  it.each(kindNames)('%s: its key, under the ceiling of end-to-end encryption', async (name) => {
    const kind = kindOf(name);
    const result = await verifyOf(name);
    expect(failed(result.checks)).toEqual([]);
    expect(result).toMatchObject({
      verdict: kind.open === undefined ? 'cryptographically_checked' : 'policy_matched',
      key: kind.key,
      tlsSpkiSha256: kind.tls(),
      contentVisible: false,
      isCurrent: true,
    });
    expect(notMade(result.checks)).toEqual(expect.arrayContaining([...(kind.open ?? [])]));
  });

  it.each(kindNames)('%s: its TLS key, under the ceiling of a relay that sees content', async (name) => {
    const result = await verifyOf(name, { privacyClass: 'tee' }, { privacyClass: 'tee' });
    expect(failed(result.checks)).toEqual([]);
    const isBound = kindOf(name).tls().length > 0;
    expect(result).toMatchObject({
      verdict: isBound ? 'policy_matched' : 'untrusted',
      contentVisible: true,
      isCurrent: isBound,
    });
    expect(notMade(result.checks).includes('provider.tls_binding')).toBe(!isBound);
  });

  it('on SEV-SNP, too', async () => {
    const made = await snp.evidence({ reportData: kinds.tinfoil.reportData() });
    const machine = {
      tee_type: 'sev_snp',
      report: toBase64(made.report),
      endorsement_key: toBase64(made.endorsementKey),
      intermediate: toBase64(made.intermediate),
      revocation_list: toBase64(made.revocationList ?? new Uint8Array()),
    };
    const document = { ...(await documentOf('tinfoil', { privacyClass: 'tee' })), evidence: { machine } };
    const asked: Partial<ProviderChallenge> = {
      privacyClass: 'tee',
      pins: { measurements: [`measurement=${zeros}`] },
    };
    expect(await verify('tinfoil', document, asked)).toMatchObject({ verdict: 'policy_matched', isCurrent: true });
    const without = { ...document, evidence: { machine: { ...machine, revocation_list: undefined } } };
    expect(await verify('tinfoil', without, asked)).toMatchObject({ verdict: 'policy_matched', isCurrent: false });
  });

  it('has a session that its document alone tells, and that ends with the first of its evidence', async () => {
    const document = await documentOf('chutes');
    const { sessionId, expiresAtMs } = await verify('chutes', document);
    expect(sessionId).toMatch(/^[0-9a-f]{64}$/);
    expect((await verify('chutes', JSON.parse(JSON.stringify(document)))).sessionId).toBe(sessionId);
    expect((await verify('chutes', { ...document, obtained_at: '2026-01-15T00:00:01Z' })).sessionId).not.toBe(
      sessionId,
    );
    expect(expiresAtMs).toBe(now.getTime() + 55_000);
    expect((await verifyOf('venice')).expiresAtMs).toBe(now.getTime() + 600_000);
    const soon = { collateral: { tcbInfo: { nextUpdate: '2026-01-15T00:02:00Z' } } };
    expect((await verifyOf('venice', soon)).expiresAtMs).toBe(Date.parse('2026-01-15T00:02:00Z'));
  });

  it('is untrusted under the vendors’ own roots: nothing made for a test passes the public door', async () => {
    const { verdict, checks } = await verifyProvider(await documentOf('venice'), challengeOf('venice'));
    expect(verdict).toBe('untrusted');
    expect(failed(checks)).toContain('tdx.pck_chain');
    expect(verifyProvider).toHaveLength(2);
  });

  it('is unavailable without a document', async () => {
    expect(await verify('venice', undefined)).toMatchObject({
      verdict: 'unavailable',
      contentVisible: true,
      isCurrent: false,
    });
  });
});

describe('our own nonce is in the report data, whatever is echoed', () => {
  it.each(kindNames.filter((name) => name !== 'tinfoil'))('%s', async (name) => {
    const stale = await documentOf(name);
    const { verdict, checks } = await verify(name, { ...stale, nonce: other }, { nonce: other });
    expect(verdict).toBe('untrusted');
    expect(failed(checks).some((check) => /freshness|key_binding/.test(check))).toBe(true);
  });
});

describe('every disagreement between the route asked for and the one attested is untrusted', () => {
  it.each<[string, Record<string, unknown>]>([
    ['another provider', { provider: 'acme' }],
    ['another model', { model: 'acme/narrow' }],
    ['another class', { privacy_class: 'tee' }],
    ['another nonce', { nonce: other }],
    ['another model upstream', { upstream_model: 'up/other' }],
  ])('%s', async (_, document) => {
    const { verdict, checks, key } = await verifyOf('near, with its TLS key', { document });
    expect(key).toBeUndefined();
    expect(verdict).toBe('untrusted');
    expect(failed(checks)).toEqual(['provider.route']);
  });

  it('another family', async () => {
    const { verdict, checks, key } = await verifyOf('venice', {}, { family: 'near' });
    expect({ verdict, key }).toEqual({ verdict: 'untrusted', key: undefined });
    expect(failed(checks)).toEqual(['provider.route']);
    expect(reasonOf(checks, 'provider.route')).toBe('the evidence is of the family venice, and near is pinned');
  });

  it.each<[string, Partial<ProviderChallenge>, RegExp]>([
    ['family', { family: undefined }, /pins of vault name no family: add "family", one of near, phala, venice,/],
    [
      'upstream model',
      { upstreamModel: undefined },
      /add "models": \{"acme\/wide": "<the provider's own name for it>"\}/,
    ],
  ])('a document cannot choose the %s where we pinned none', async (_, unpinned, reason) => {
    for (const name of ['venice', 'tinfoil'] as const) {
      const { verdict, checks, key, tlsSpkiSha256 } = await verifyOf(name, {}, unpinned);
      expect({ verdict, key, tlsSpkiSha256 }).toEqual({ verdict: 'untrusted', key: undefined, tlsSpkiSha256: [] });
      expect(failed(checks)).toEqual([]);
      expect(notMade(checks)).toContain('provider.route');
      expect(reasonOf(checks, 'provider.route')).toMatch(reason);
      // The rest of the report helps to make pins.
      expect(reasonOf(checks, 'provider.measurement')).toBe('');
    }
  });

  it('tells that the chute belongs to the upstream model', async () => {
    const { checks } = await verifyOf('chutes', {}, { upstreamModel: undefined });
    expect(reasonOf(checks, 'provider.route')).toContain('own name for it>@<chute id>"');
  });

  it('Chutes: another chute than is pinned, though the document agrees with itself', async () => {
    const other = '00000000-0c0e-5c57-9a37-08e1c4f3a6b1';
    const made = { document: { upstream_model: `up/model@${other}` }, evidence: { chute_id: other } };
    const { verdict, checks, key } = await verifyOf('chutes', made);
    expect({ verdict, key }).toEqual({ verdict: 'untrusted', key: undefined });
    expect(failed(checks)).toEqual(['provider.route']);
  });

  it.each<[KindName, Record<string, unknown>]>([
    ['near, by address', { model_name: 'up/other' }],
    ['venice', { model_name: 'up/other' }],
    ['chutes', { chute_id: '00000000-0c0e-5c57-9a37-08e1c4f3a6b1' }],
  ])('%s: evidence of another model', async (name, evidence) => {
    const { verdict, checks } = await verifyOf(name, { evidence });
    expect(verdict).toBe('untrusted');
    expect(failed(checks)).toEqual(['provider.key_binding']);
  });
});

describe('a key that the report data does not name', () => {
  const strange = toHex(new Uint8Array(32).fill(7));
  it.each<[string, KindName, Record<string, unknown>, string]>([
    ['another signing key', 'near, with its TLS key', { signing_address: strange }, 'provider.key_binding'],
    ['another TLS key', 'near, with its TLS key', { tls_spki_sha256: strange }, 'provider.key_binding'],
    ['a TLS key that was not bound', 'near, by address', { tls_spki_sha256: strange }, 'provider.key_binding'],
    ['a TLS key left out', 'near, with its TLS key', { tls_spki_sha256: undefined }, 'provider.key_binding'],
    ['an address without its key', 'near, by address', { signing_public_key: undefined }, 'provider.key_binding'],
    ['a key of another address', 'near, by address', { signing_public_key: 'ab'.repeat(64) }, 'provider.key_binding'],
    ['another signing key', 'phala, by dstack-vllm-proxy', { signing_address: strange }, 'provider.key_binding'],
    [
      'another key in the key set',
      'phala, by private-ai-gateway',
      { key_set: { ...keySet, e2ee_public_keys: [{ algo: 'x25519-aes-256-gcm-hkdf-sha256', public_key: strange }] } },
      'provider.key_binding',
    ],
    ['another signing key', 'venice', { signing_public_key: '04'.padEnd(130, 'a') }, 'provider.key_binding'],
    ['another encryption key', 'chutes', { e2e_pubkey: toBase64(new Uint8Array(1184)) }, 'provider.key_binding'],
    ['no single-use nonce', 'chutes', { e2e_nonce: undefined }, 'provider.key_binding'],
    ['a nonce that has expired', 'chutes', { e2e_nonce_expires_at: 1 }, 'provider.validity'],
  ])('%s (%s)', async (_, name, evidence, check) => {
    const { verdict, checks, isCurrent } = await verifyOf(name, { evidence });
    expect(failed(checks)).toContain(check);
    expect({ verdict, isCurrent }).toEqual({ verdict: 'untrusted', isCurrent: false });
  });

  it('of a key set that has ended, or never ends', async () => {
    for (const not_after of [1, now.getTime() / 1000 + 91 * 86_400]) {
      const keys = { ...keySet, not_after };
      const made = { evidence: { key_set: keys }, machine: { reportData: aciReportData(keys) } };
      const { verdict, checks } = await verifyOf('phala, by private-ai-gateway', made);
      expect(failed(checks)).toEqual(['provider.validity']);
      expect(verdict).toBe('untrusted');
    }
  });

  it('Chutes: another certificate than the report data names', async () => {
    const strangeCertificate = await (await Issuer.make('another')).certifySelf();
    const evidence = { certificate: toBase64(strangeCertificate) };
    const { verdict, checks } = await verifyOf('chutes', { evidence });
    expect(failed(checks)).toEqual(['provider.tls_binding']);
    expect(verdict).toBe('untrusted');
  });
});

describe('the machine', () => {
  const name = 'near, with its TLS key';
  it('is untrusted without pins, and the reason shows what could be pinned', async () => {
    const { verdict, checks } = await verifyOf(name, {}, { pins: undefined });
    expect(verdict).toBe('untrusted');
    expect(failed(checks)).toEqual([]);
    const [, shown = ''] = /the machine's are (.*)$/.exec(reasonOf(checks, 'provider.measurement')) ?? [];
    const pin = shown.split(',').filter((pair) => /^(mr_td|rtmr\d)=/.test(pair));
    expect((await verifyOf(name, {}, { pins: { measurements: [pin.join(',')] } })).verdict).toBe(
      'cryptographically_checked',
    );
  });

  it.each<[string, Made, string]>([
    ['is none that is pinned', { machine: { mrTd: new Uint8Array(48).fill(1) } }, 'provider.measurement'],
    ['can be debugged', { machine: { tdAttributes: 1n } }, 'tdx.td_attributes'],
    ['was revoked', { collateral: { pckCrl: { revoked: [7] } } }, 'tdx.pck_crl'],
    ['has an event log of another machine', { shown: { event_log: [] } }, 'dstack.identity'],
    ['has a quote that is none', { shown: { quote: '!' } }, 'tdx.format'],
    ['has old collateral', { collateral: { tcbInfo: { tcbEvaluationDataNumber: 17 } } }, 'tdx.evaluation_number'],
  ])('%s: untrusted', async (_, made, check) => {
    const { verdict, checks, isCurrent } = await verifyOf(name, made);
    expect(failed(checks)).toContain(check);
    expect({ verdict, isCurrent }).toEqual({ verdict: 'untrusted', isCurrent: false });
  });

  it.each<[string, Made]>([
    ['no collateral', { shown: { collateral: undefined } }],
    [
      'collateral that has expired',
      { collateral: { pckCrl: { from: '2025-01-01T00:00:00Z', until: '2025-02-01T00:00:00Z' } } },
    ],
  ])('with %s is none to send content to', async (_, made) => {
    const result = await verifyOf(name, { ...made, privacyClass: 'tee' }, { privacyClass: 'tee' });
    expect(failed(result.checks)).toEqual([]);
    expect(result).toMatchObject({ verdict: 'policy_matched', isCurrent: false });
  });
});

describe('GPUs are an axis of their own', () => {
  const name = 'near, with its TLS key';
  const item = { certificate: 'c', evidence: 'e' };
  it.each<[string, unknown, string]>([
    ['none', undefined, 'none'],
    ['evidence for our nonce, which nobody asked NVIDIA about', { nonce, evidence_list: [item] }, 'none'],
    ['the same as text', JSON.stringify({ nonce, evidence_list: [item] }), 'none'],
    ['evidence for another nonce', { nonce: other, evidence_list: [item] }, 'refuted'],
    ['a text that is no JSON', '{', 'refuted'],
    ['a number', 7, 'refuted'],
    ['a list of texts', ['a'], 'refuted'],
    ['an empty list', { nonce, evidence_list: [] }, 'refuted'],
    ['null', null, 'refuted'],
  ])('%s', async (_, payload, standing) => {
    const evidence = payload === undefined ? {} : { gpu: { payload } };
    const { gpu, verdict } = await verifyOf(name, { evidence });
    expect(gpu.standing).toBe(standing);
    expect(verdict).toBe('cryptographically_checked');
  });

  it('of Chutes are for the digest of nonce and key, not for a nonce that they name themselves', async () => {
    const bound = toHex(sha256(text(nonce + kemText)));
    for (const [named, standing] of [
      [bound, 'none'],
      [nonce, 'refuted'],
    ] as const) {
      const evidence = { gpu: { payload: [{ ...item, nonce: named }] } };
      expect((await verifyOf('chutes', { evidence })).gpu.standing).toBe(standing);
    }
  });

  it('with tokens that are none are refuted', async () => {
    const evidence = { gpu: { tokens: [['JWT', 'x'], { 'GPU-0': 'y' }], key_set: { keys: [] } } };
    expect((await verifyOf(name, { evidence })).gpu.standing).toBe('refuted');
  });
});

describe('a pin', () => {
  it.each<[string, string]>([
    ['mr_td=00', '`mr_td` must be 96 lower-case hex digits'],
    [`mr_td=${zeros}`, '`rtmr1` is missing'],
    [`mr_td=${zeros},rtmr1=${zeros},rtmr2=${zeros}`, 'it must say what runs'],
    [`mrtd=${zeros}`, '`mrtd` is none of'],
    [`${pinned},rtmr3=${zeros}`, '`rtmr3` comes twice'],
    [`measurement=${zeros},mr_td=${zeros}`, '`mr_td` is of TDX'],
    ['', '`` is none of'],
  ])('%s is refused, and told why', (measurement, why) => {
    const parsed = providerPinsSchema.safeParse({ measurements: [measurement] });
    expect(parsed.error?.issues[0]?.message).toContain(why);
  });

  it('is one of a set', async () => {
    const others = [1, 2].map((digit) => pinned.replaceAll('00', `0${digit}`));
    const verdictUnder = async (measurements: string[]) =>
      (await verifyOf('venice', {}, { pins: { measurements } })).verdict;
    expect(await verdictUnder([...others, pinned])).toBe('cryptographically_checked');
    expect(await verdictUnder(others)).toBe('untrusted');
  });
});
