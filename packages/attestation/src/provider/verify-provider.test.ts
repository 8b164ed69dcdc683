import { describe, expect, it } from 'vitest';
import { toBase64, toHex } from '../bytes.ts';
import { verifyProvider } from '../hardware.ts';
import { Issuer } from '../testing/issuer.ts';
import { failed, notMade, reasonOf } from '../testing/outcomes.ts';
import {
  challengeOf,
  documentOf,
  keys,
  other,
  snp,
  snpPinned,
  told,
  untrustedBy,
  verify,
  verifyOf,
} from '../testing/provider-document.ts';
import {
  chuteId,
  chutesDigest,
  type EnclaveName,
  enclaveNames,
  enclaveOf,
  nonce,
  nonceBytes,
  now,
  upstreamModel,
} from '../testing/provider-enclaves.ts';
import { SnpMachine } from '../testing/snp-machine.ts';
import type { ProviderChallenge } from './provider-challenge.ts';

const expiresAt = now.getTime() + 55_000;

const secp256k1 = { algorithm: 'secp256k1', publicKey: keys.point, model: upstreamModel };
const ed25519 = { algorithm: 'ed25519', publicKey: keys.edwards, model: upstreamModel };
const x25519 = { algorithm: 'x25519', publicKey: keys.montgomery, model: upstreamModel };
const chute = { chuteId, instanceId: 'one', nonce: 'single-use', expiresAt };
const mlKem = { algorithm: 'ml-kem-768', publicKey: keys.kem, model: 'up/model', ...chute };

/** The keys that evidence binds. */
interface Bound {
  readonly key: object;
  readonly hasTls?: true;
  /** The checks that the family cannot make. */
  readonly open?: readonly string[];
}
const bound: Readonly<Record<EnclaveName, Bound>> = {
  'near, by address': { key: secp256k1 },
  'near, by Ed25519 key': { key: ed25519 },
  'near, with its TLS key': { key: ed25519, hasTls: true },
  'phala, dstack-vllm-proxy': { key: { protocol: 'vllm-proxy', ...ed25519 } },
  'phala, private-ai-gateway': { key: { protocol: 'aci', ...x25519 }, hasTls: true },
  'venice, raw nonce': { key: secp256k1 },
  'venice, hashed nonce': { key: secp256k1 },
  tinfoil: { key: x25519, hasTls: true, open: ['provider.freshness'] },
  chutes: { key: mlKem, hasTls: true },
};

describe('a provider with valid evidence', () => {
  it.each(enclaveNames)('%s: its key, under the ceiling of end-to-end encryption', async (name) => {
    const { key, hasTls, open = [] } = bound[name];
    const result = await verifyOf(name);
    expect(failed(result.checks)).toEqual([]);
    expect(result).toMatchObject({
      verdict: open.length === 0 ? 'cryptographically_checked' : 'policy_matched',
      key: { family: enclaveOf(name).family, ...key },
      tlsSpkiSha256: hasTls ? [toHex(keys.spki)] : [],
      isCurrent: true,
    });
    expect(notMade(result.checks)).toEqual(expect.arrayContaining([...open]));
  });

  it.each(enclaveNames)('%s: its TLS key, under the ceiling of a relay that sees content', async (name) => {
    const result = await verifyOf(name, { privacyClass: 'tee' }, { privacyClass: 'tee' });
    expect(failed(result.checks)).toEqual([]);
    const isBound = bound[name].hasTls === true;
    expect(result).toMatchObject({
      verdict: isBound ? 'policy_matched' : 'untrusted',
      isCurrent: isBound,
    });
    expect(notMade(result.checks).includes('provider.tls_binding')).toBe(!isBound);
  });

  it('on SEV-SNP, too', async () => {
    const machine = await snp.shown({ reportData: enclaveOf('tinfoil').sign(keys, nonceBytes) });
    const document = { ...(await documentOf('tinfoil', { privacyClass: 'tee' })), evidence: { machine } };
    const asked: Partial<ProviderChallenge> = {
      privacyClass: 'tee',
      pins: { measurements: [snpPinned] },
    };
    expect(await verify('tinfoil', document, asked)).toMatchObject({ verdict: 'policy_matched', isCurrent: true });
    const without = { ...document, evidence: { machine: { ...machine, revocation_list: undefined } } };
    expect(await verify('tinfoil', without, asked)).toMatchObject({ verdict: 'policy_matched', isCurrent: false });
  });

  it('on SEV-SNP, too, ends with the first of the revocation list and the certificates', async () => {
    const soon = '2026-01-15T00:02:00Z';
    const asked: Partial<ProviderChallenge> = { privacyClass: 'tee', pins: { measurements: [snpPinned] } };
    const document = await documentOf('tinfoil', { privacyClass: 'tee' });
    const reportData = enclaveOf('tinfoil').sign(keys, nonceBytes);
    const endOf = async (machine: object) =>
      (await verify('tinfoil', { ...document, evidence: { machine } }, asked)).expiresAtMs;
    const shown = await snp.shown({ reportData });
    expect(await endOf(shown)).toBe(now.getTime() + 600_000);
    const revocation_list = toBase64(await snp.revocationList({ until: soon }));
    expect(await endOf({ ...shown, revocation_list })).toBe(Date.parse(soon));
    for (const until of [{ chip: soon }, { authority: soon }]) {
      const ending = await SnpMachine.make('genoa', 'genoa', until);
      // A certificate's last second is part of its validity.
      expect(await endOf(await ending.shown({ reportData }))).toBe(Date.parse(soon) + 1000);
    }
  });

  it('has a session id that follows from its document, and ends with the first part of its evidence', async () => {
    const document = await documentOf('chutes');
    const { sessionId, expiresAtMs } = await verify('chutes', document);
    expect(sessionId).toMatch(/^[0-9a-f]{64}$/);
    expect((await verify('chutes', JSON.parse(JSON.stringify(document)))).sessionId).toBe(sessionId);
    const later = { ...document, obtained_at: '2026-01-15T00:00:01Z' };
    expect((await verify('chutes', later)).sessionId).not.toBe(sessionId);
    expect(expiresAtMs).toBe(expiresAt);
    expect((await verifyOf('venice, hashed nonce')).expiresAtMs).toBe(now.getTime() + 600_000);
    const soon = { collateral: { tcbInfo: { nextUpdate: '2026-01-15T00:02:00Z' } } };
    expect((await verifyOf('venice, hashed nonce', soon)).expiresAtMs).toBe(Date.parse('2026-01-15T00:02:00Z'));
  });

  it('is untrusted under the vendors’ own roots, so that test evidence never passes the public functions', async () => {
    const { verdict, checks } = await verifyProvider(
      await documentOf('venice, hashed nonce'),
      challengeOf('venice, hashed nonce'),
    );
    expect(verdict).toBe('untrusted');
    expect(failed(checks)).toContain('tdx.pck_chain');
    expect(verifyProvider).toHaveLength(2);
  });

  it('is unavailable without a document', async () => {
    expect(await verify('venice, hashed nonce', undefined)).toMatchObject({
      verdict: 'unavailable',
      isCurrent: false,
    });
  });
});

describe('our own nonce must be in the report data, whatever the document echoes', () => {
  it.each(enclaveNames.filter((name) => name !== 'tinfoil'))('%s', async (name) => {
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
    expect(told(await verifyOf('near, with its TLS key', { document }))).toEqual(untrustedBy('provider.route'));
  });

  it('another family', async () => {
    const result = await verifyOf('venice, hashed nonce', {}, { family: 'near' });
    expect(told(result)).toEqual(untrustedBy('provider.route'));
    expect(reasonOf(result.checks, 'provider.route')).toBe('the evidence is of the family venice, and near is pinned');
  });

  it.each<[string, Partial<ProviderChallenge>, RegExp]>([
    ['family', { family: undefined }, /pins of vault name no family: add "family", one of near, phala, venice,/],
    [
      'upstream model',
      { upstreamModel: undefined },
      /add "models": \{"acme\/wide": "<the provider's own name for it>"\}/,
    ],
  ])('a document cannot choose the %s where we pinned none', async (_, unpinned, reason) => {
    for (const name of ['venice, hashed nonce', 'tinfoil'] as const) {
      const { verdict, checks, key, tlsSpkiSha256 } = await verifyOf(name, {}, unpinned);
      expect({ verdict, key, tlsSpkiSha256 }).toEqual({ verdict: 'untrusted', key: undefined, tlsSpkiSha256: [] });
      expect(failed(checks)).toEqual([]);
      expect(notMade(checks)).toContain('provider.route');
      expect(reasonOf(checks, 'provider.route')).toMatch(reason);
      // The rest of the report helps operators to write pins.
      expect(reasonOf(checks, 'provider.measurement')).toBe('');
    }
  });

  it('says that the chute belongs to the upstream model', async () => {
    const { checks } = await verifyOf('chutes', {}, { upstreamModel: undefined });
    expect(reasonOf(checks, 'provider.route')).toContain('own name for it>@<chute id>"');
  });

  it('Chutes: another chute than the pinned one, although the document is consistent', async () => {
    const other = '00000000-0c0e-5c57-9a37-08e1c4f3a6b1';
    const made = { document: { upstream_model: `up/model@${other}` }, evidence: { chute_id: other } };
    expect(told(await verifyOf('chutes', made))).toEqual(untrustedBy('provider.route'));
  });

  it.each<[EnclaveName, Record<string, unknown>]>([
    ['near, by address', { model_name: 'up/other' }],
    ['venice, hashed nonce', { model_name: 'up/other' }],
    ['chutes', { chute_id: '00000000-0c0e-5c57-9a37-08e1c4f3a6b1' }],
  ])('%s: evidence of another model', async (name, evidence) => {
    expect(told(await verifyOf(name, { evidence }))).toMatchObject(untrustedBy('provider.key_binding'));
  });
});

describe('a key that the report data does not name', () => {
  const strange = toHex(new Uint8Array(32).fill(7));
  it.each<[string, EnclaveName, Record<string, unknown>, string]>([
    ['another signing key', 'near, with its TLS key', { signing_address: strange }, 'provider.key_binding'],
    ['another TLS key', 'near, with its TLS key', { tls_spki_sha256: strange }, 'provider.key_binding'],
    ['a TLS key that was not bound', 'near, by address', { tls_spki_sha256: strange }, 'provider.key_binding'],
    ['a TLS key left out', 'near, with its TLS key', { tls_spki_sha256: undefined }, 'provider.key_binding'],
    ['an address without its key', 'near, by address', { signing_public_key: undefined }, 'provider.key_binding'],
    ['a key of another address', 'near, by address', { signing_public_key: 'ab'.repeat(64) }, 'provider.key_binding'],
    ['another signing key', 'phala, dstack-vllm-proxy', { signing_address: strange }, 'provider.key_binding'],
    [
      'another key in the key set',
      'phala, private-ai-gateway',
      {
        key_set: {
          ...keys.keySet,
          e2ee_public_keys: [{ algo: 'x25519-aes-256-gcm-hkdf-sha256', public_key: strange }],
        },
      },
      'provider.key_binding',
    ],
    [
      'another signing key',
      'venice, hashed nonce',
      { signing_public_key: '04'.padEnd(130, 'a') },
      'provider.key_binding',
    ],
    ['another encryption key', 'chutes', { e2e_pubkey: toBase64(new Uint8Array(1184)) }, 'provider.key_binding'],
    ['no single-use nonce', 'chutes', { e2e_nonce: undefined }, 'provider.key_binding'],
    ['a nonce that has expired', 'chutes', { e2e_nonce_expires_at: 1 }, 'provider.validity'],
  ])('%s (%s)', async (_, name, evidence, check) => {
    const { verdict, checks, isCurrent } = await verifyOf(name, { evidence });
    expect(failed(checks)).toContain(check);
    expect({ verdict, isCurrent }).toEqual({ verdict: 'untrusted', isCurrent: false });
  });

  it('of a key set that has ended, or never ends', async () => {
    const name = 'phala, private-ai-gateway';
    for (const not_after of [1, now.getTime() / 1000 + 91 * 86_400]) {
      const keySet = { ...keys.keySet, not_after };
      const reportData = enclaveOf(name).sign({ ...keys, keySet }, nonceBytes);
      const made = { evidence: { key_set: keySet }, machine: { reportData } };
      expect(told(await verifyOf(name, made))).toMatchObject(untrustedBy('provider.validity'));
    }
  });

  it('Chutes: another certificate than the report data names', async () => {
    const strangeCertificate = await (await Issuer.make('another')).certifySelf();
    const evidence = { certificate: toBase64(strangeCertificate) };
    expect(told(await verifyOf('chutes', { evidence }))).toMatchObject(untrustedBy('provider.tls_binding'));
  });
});

describe('GPUs do not affect the verdict', () => {
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
    for (const [named, standing] of [
      [toHex(chutesDigest(nonce, keys.kemText)), 'none'],
      [nonce, 'refuted'],
    ] as const) {
      const evidence = { gpu: { payload: [{ ...item, nonce: named }] } };
      expect((await verifyOf('chutes', { evidence })).gpu.standing).toBe(standing);
    }
  });

  it('with malformed tokens are refuted', async () => {
    const evidence = { gpu: { tokens: [['JWT', 'x'], { 'GPU-0': 'y' }], key_set: { keys: [] } } };
    expect((await verifyOf(name, { evidence })).gpu.standing).toBe('refuted');
  });
});
