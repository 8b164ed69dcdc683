import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { sha256 } from '@noble/hashes/sha2.js';
import { keccak_256 } from '@noble/hashes/sha3.js';
import fc from 'fast-check';
import { beforeAll, expect, it } from 'vitest';
import { type Bytes, concatBytes } from '../bytes/bytes.ts';
import { fromHex, toBase64, toHex } from '../bytes/encodings.ts';
import { canonicalJson } from '../statement/canonical-json.ts';
import { keySetDigest } from '../statement/key-set.ts';
import { verifyTdxUnder } from '../tdx/verify-tdx.ts';
import { Issuer } from '../testing/issuer.ts';
import { TdxMachine } from '../testing/tdx-machine.ts';
import { meetsVerdict } from '../verdict.ts';
import { type ProviderFamily, providerFamilies } from './provider-evidence.ts';
import { type ProviderVerifiers, verifyProviderUnder } from './verify-provider.ts';

// A relay may have any genuine enclave sign any nonce, and show the quote as whatever it likes. Machines under a root of the
// test stand in for the enclaves; the relay knows every public value, and the private halves of its own keys alone.

const now = new Date('2026-01-15T00:00:00Z');
const nonce = '0123456789abcdef'.repeat(4);
const chuteId = '6f1e5a52-0c0e-5c57-9a37-08e1c4f3a6b1';
const upstreamModel = `up/model@${chuteId}`;
const utf8 = (text: string): Bytes => new TextEncoder().encode(text);
const padded = (bytes: Uint8Array): Bytes => concatBytes(bytes, new Uint8Array(32 - bytes.length));
const spkiOf = (certificate: Bytes): Bytes =>
  Uint8Array.from(
    createPublicKey({
      key: `-----BEGIN CERTIFICATE-----\n${toBase64(certificate)}\n-----END CERTIFICATE-----\n`,
      format: 'pem',
    }).export({ type: 'spki', format: 'der' }),
  );

/** One key of every kind, and all that follows from them. */
async function makeKeys(fill: number) {
  const jwk = generateKeyPairSync('ec', { namedCurve: 'secp256k1' }).publicKey.export({ format: 'jwk' });
  const point = Uint8Array.from([4, ...Buffer.from(`${jwk.x}`, 'base64url'), ...Buffer.from(`${jwk.y}`, 'base64url')]);
  const of = (bytes: number): Bytes => new Uint8Array(bytes).fill(fill);
  const certificate = await (await Issuer.make(`instance ${fill}`)).certifySelf();
  const [edwards, montgomery, kem, spki] = [of(32), of(32).reverse(), of(1184), sha256(spkiOf(certificate))];
  const keySet = {
    not_after: now.getTime() / 1000 + 86_400,
    e2ee_public_keys: [{ algo: 'x25519-aes-256-gcm-hkdf-sha256', public_key: toHex(montgomery) }],
    tls_public_keys: [{ spki_sha256: toHex(spki) }],
  };
  return {
    ...{ point, edwards, montgomery, kemText: toBase64(kem), certificate, spki, keySet },
    address: Uint8Array.from(keccak_256(point.subarray(1)).subarray(12)),
    /** The keys that content could be encrypted to, or TLS end at. */
    own: new Set([point, edwards, montgomery, kem, spki].map(toHex)),
  };
}
type Keys = Awaited<ReturnType<typeof makeKeys>>;

const aciDigest = (keySet: unknown, asked: string): Bytes =>
  sha256(
    utf8(canonicalJson({ keyset_digest: keySetDigest(keySet), nonce: asked, purpose: 'aci.report_data.v1' })),
  ) as Bytes;
const chutesDigest = (asked: string, kemText: string): Bytes => sha256(utf8(asked + kemText)) as Bytes;

/** The report data of every kind of enclave for a nonce that its caller chooses. */
const enclaves: Readonly<
  Record<string, { readonly family: ProviderFamily; readonly sign: (keys: Keys, nonce: Bytes) => Bytes }>
> = {
  'near, by address': { family: 'near', sign: ({ address }, asked) => concatBytes(padded(address), asked) },
  'near, by Ed25519 key': { family: 'near', sign: ({ edwards }, asked) => concatBytes(edwards, asked) },
  'near, with its TLS key': {
    family: 'near',
    sign: ({ edwards, spki }, asked) => concatBytes(sha256(concatBytes(edwards, spki)), asked),
  },
  'phala, dstack-vllm-proxy': { family: 'phala', sign: ({ edwards }, asked) => concatBytes(edwards, asked) },
  'phala, private-ai-gateway': {
    family: 'phala',
    sign: ({ keySet }, asked) => concatBytes(aciDigest(keySet, toHex(asked)), new Uint8Array(32)),
  },
  'venice, raw nonce': { family: 'venice', sign: ({ address }, asked) => concatBytes(padded(address), asked) },
  'venice, hashed nonce': {
    family: 'venice',
    sign: ({ address }, asked) => concatBytes(padded(address), sha256(asked)),
  },
  tinfoil: { family: 'tinfoil', sign: ({ spki, montgomery }) => concatBytes(spki, montgomery) },
  chutes: {
    family: 'chutes',
    sign: ({ kemText, spki }, asked) => concatBytes(chutesDigest(toHex(asked), kemText), spki),
  },
};

/** Values that a relay might have an enclave sign in place of our nonce. */
const nonces: Readonly<Record<string, (relay: Keys) => Bytes>> = {
  'our own': () => fromHex(nonce, 'the nonce'),
  'its X25519 key': ({ montgomery }) => montgomery,
  'its Ed25519 key': ({ edwards }) => edwards,
  'its TLS key': ({ spki }) => Uint8Array.from(spki),
  'its address': ({ address }) => padded(address),
  'its signing key and TLS key': ({ edwards, spki }) => Uint8Array.from(sha256(concatBytes(edwards, spki))),
  'its key set': ({ keySet }) => aciDigest(keySet, nonce),
  'its ML-KEM key': ({ kemText }) => chutesDigest(nonce, kemText),
  zeros: () => new Uint8Array(32),
};

/** The keys of a document as each family shows them. */
const shownAs: Readonly<
  Record<string, (keys: Keys, reportData: Bytes) => { family: ProviderFamily; evidence: object }>
> = {
  'near, by address': ({ address, point }) => ({
    family: 'near',
    evidence: {
      signing_algo: 'ecdsa',
      signing_address: toHex(address),
      signing_public_key: toHex(point.subarray(1)),
    },
  }),
  'near, by Ed25519 key': ({ edwards }) => ({ family: 'near', evidence: edwardsOf(edwards) }),
  'near, with a TLS key': ({ edwards, spki }) => ({
    family: 'near',
    evidence: { ...edwardsOf(edwards), tls_spki_sha256: toHex(spki) },
  }),
  'near, by what the quote begins with': (_, reportData) => ({
    family: 'near',
    evidence: edwardsOf(reportData.subarray(0, 32)),
  }),
  'phala, dstack-vllm-proxy': ({ edwards }) => ({
    family: 'phala',
    evidence: { protocol: 'vllm-proxy', ...edwardsOf(edwards) },
  }),
  'phala, private-ai-gateway': ({ keySet }) => ({
    family: 'phala',
    evidence: { protocol: 'aci', key_set: keySet },
  }),
  venice: ({ point }) => ({ family: 'venice', evidence: { signing_public_key: toHex(point) } }),
  tinfoil: () => ({ family: 'tinfoil', evidence: {} }),
  chutes: ({ kemText, certificate }) => ({
    family: 'chutes',
    evidence: {
      ...{ chute_id: chuteId, instance_id: 'one', e2e_pubkey: kemText, certificate: toBase64(certificate) },
      ...{ e2e_nonce: 'single-use', e2e_nonce_expires_at: now.getTime() + 55_000 },
    },
  }),
};
const edwardsOf = (key: Uint8Array) => ({ signing_algo: 'ed25519', signing_address: toHex(key) });

const names = (of: object): readonly string[] => Object.keys(of);
/** Each family's enclaves run software of their own. */
const mrTdOf = (family: ProviderFamily): Bytes => new Uint8Array(48).fill(1 + providerFamilies.indexOf(family));
const pinOf = (family: ProviderFamily): string => {
  const zeros = '00'.repeat(48);
  return `mr_td=${toHex(mrTdOf(family))},rtmr1=${zeros},rtmr2=${zeros},rtmr3=${zeros}`;
};

let machine: TdxMachine;
let collateral: unknown;
let genuine: Keys;
let relay: Keys;
let verifiers: ProviderVerifiers;
beforeAll(async () => {
  machine = await TdxMachine.make();
  collateral = await machine.collateral();
  [genuine, relay] = [await makeKeys(0x11), await makeKeys(0x66)];
  const unused = () => Promise.reject(new Error('no such evidence is shown here'));
  verifiers = {
    verifyTdx: (evidence, time, policy) => verifyTdxUnder(machine.root.anchor, evidence, time, policy),
    verifySnp: unused,
    verifyNvidia: unused,
  };
});

interface Attempt {
  readonly enclave: string;
  readonly asked: string;
  readonly shown: string;
  readonly whose: 'genuine' | 'relay';
  readonly pinned: ProviderFamily | undefined;
  readonly privacyClass: 'e2ee' | 'tee';
  /** Whether the pins accept the machines of every family, as those of a provider who resells others might. */
  readonly everyMachine: boolean;
}

async function attempt({ enclave, asked, shown, whose, pinned, privacyClass, everyMachine }: Attempt) {
  const { family, sign } = enclaves[enclave] ?? expect.unreachable(enclave);
  const reportData = sign(genuine, nonces[asked]?.(relay) ?? expect.unreachable(asked));
  const quote = await machine.quote({ reportData, mrTd: mrTdOf(family) });
  const document = shownAs[shown]?.(whose === 'relay' ? relay : genuine, reportData) ?? expect.unreachable(shown);
  const accepted = everyMachine || pinned === undefined ? providerFamilies : [pinned];
  const verified = await verifyProviderUnder(
    verifiers,
    {
      version: 'sotto.provider.evidence.v1',
      ...{ provider: 'vault', model: 'acme/wide', upstream_model: upstreamModel, privacy_class: privacyClass, nonce },
      ...{ obtained_at: now.toISOString(), family: document.family },
      evidence: { ...document.evidence, machine: { tee_type: 'tdx', quote: toBase64(quote), collateral } },
    },
    {
      ...{ nonce, provider: 'vault', model: 'acme/wide', privacyClass, family: pinned, upstreamModel, now },
      pins: { measurements: accepted.map(pinOf) },
    },
  );
  return { verified, machineFamily: family, shownFamily: document.family };
}

const pinnedFamily = fc.constantFrom<ProviderFamily | undefined>(undefined, ...providerFamilies);
const attempts: fc.Arbitrary<Attempt> = fc
  .record({
    enclave: fc.constantFrom(...names(enclaves)),
    asked: fc.constantFrom(...names(nonces)),
    shown: fc.constantFrom(...names(shownAs)),
    whose: fc.constantFrom('genuine', 'relay'),
    pinned: pinnedFamily,
    privacyClass: fc.constantFrom('e2ee', 'tee'),
    everyMachine: fc.boolean(),
  })
  // Tinfoil's evidence holds whatever stands in its report data: there the pinned machine alone says whose it is.
  .filter(({ pinned, everyMachine }) => !(everyMachine && pinned === 'tinfoil'));

/** The honest enclave of each kind, and the attack that reads a nonce as Tinfoil's key. */
const honest = { asked: 'our own', whose: 'genuine', privacyClass: 'e2ee', everyMachine: false } as const;
const examples: [Attempt][] = [
  [{ ...honest, enclave: 'near, by Ed25519 key', shown: 'near, by Ed25519 key', pinned: 'near' }],
  [{ ...honest, enclave: 'tinfoil', shown: 'tinfoil', pinned: 'tinfoil' }],
  ...(['near, by address', 'phala, dstack-vllm-proxy', 'venice, raw nonce'] as const).flatMap((enclave) =>
    [undefined, enclaves[enclave]?.family, 'tinfoil' as const].map((pinned): [Attempt] => [
      { ...honest, enclave, asked: 'its X25519 key', shown: 'tinfoil', whose: 'relay', pinned },
    ]),
  ),
];

it('evidence never passes under another family than its own, and never vouches for a key of the relay', async () => {
  const passed = new Set<string>();
  await fc.assert(
    fc.asyncProperty(attempts, async (made) => {
      const { verified, machineFamily, shownFamily } = await attempt(made);
      if (!meetsVerdict(verified.verdict, 'policy_matched')) return;
      expect(shownFamily).toBe(made.pinned);
      if (!made.everyMachine) expect(machineFamily).toBe(made.pinned);
      expect(verified.key?.family ?? made.pinned).toBe(made.pinned);
      const bound = [...(verified.key ? [toHex(verified.key.publicKey)] : []), ...verified.tlsSpkiSha256];
      expect(bound.filter((key) => relay.own.has(key))).toEqual([]);
      passed.add(shownFamily);
    }),
    { numRuns: 500, examples },
  );
  // Were everything refused, the rest would have shown nothing.
  expect(passed.size).toBeGreaterThan(1);
}, 120_000);
