import { sha256 } from '@noble/hashes/sha2.js';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type Bytes, concatBytes, toBase64, toHex } from '../bytes.ts';
import { verifyTdxUnder } from '../tdx/verify-tdx.ts';
import {
  aciDigest,
  chutesDigest,
  type EnclaveName,
  edwardsOf,
  enclaveNames,
  enclaveOf,
  enclaves,
  type Keys,
  makeKeys,
  nonce,
  nonceBytes,
  now,
  padded,
  upstreamModel,
} from '../testing/provider-enclaves.ts';
import { TdxMachine } from '../testing/tdx-machine.ts';
import { meetsVerdict } from '../verdict.ts';
import { type ProviderFamily, providerFamilies } from './provider-evidence.ts';
import { type ProviderVerifiers, verifyProviderUnder } from './verify-provider.ts';

// A relay can make any genuine enclave sign any nonce, and present the quote as evidence of any family. Machines under
// a test root replace the enclaves. The relay knows every public value, but only its own private keys.

/** Values that a relay could make an enclave sign instead of the client's nonce. */
const nonces: Readonly<Record<string, (relay: Keys) => Bytes>> = {
  'our own': () => nonceBytes,
  'its X25519 key': ({ montgomery }) => montgomery,
  'its Ed25519 key': ({ edwards }) => edwards,
  'its TLS key': ({ spki }) => Uint8Array.from(spki),
  'its address': ({ address }) => padded(address),
  'its signing key and TLS key': ({ edwards, spki }) => Uint8Array.from(sha256(concatBytes(edwards, spki))),
  'its key set': ({ keySet }) => aciDigest(keySet, nonce),
  'its ML-KEM key': ({ kemText }) => chutesDigest(nonce, kemText),
  zeros: () => new Uint8Array(32),
};

/** The keys of a document in the form of each family. */
const shownAs: Readonly<
  Record<string, { readonly family: ProviderFamily; readonly show: (keys: Keys, reportData: Bytes) => object }>
> = {
  ...enclaves,
  'near, by what the quote begins with': {
    family: 'near',
    show: (_, reportData) => edwardsOf(reportData.subarray(0, 32)),
  },
};

const names = (of: object): readonly string[] => Object.keys(of);
/** The enclaves of each family run their own software. */
const mrTdOf = (family: ProviderFamily): Bytes => new Uint8Array(48).fill(1 + providerFamilies.indexOf(family));
const pinOf = (family: ProviderFamily): string => {
  const zeros = '00'.repeat(48);
  return `mr_td=${toHex(mrTdOf(family))},rtmr0=${zeros},rtmr1=${zeros},rtmr2=${zeros},rtmr3=${zeros}`;
};

const machine = await TdxMachine.make();
const collateral = await machine.collateral();
const [genuine, relay] = [await makeKeys(0x11), await makeKeys(0x66)];
const unused = () => Promise.reject(new Error('no such evidence is shown here'));
const verifiers: ProviderVerifiers = {
  verifyTdx: (evidence, time, policy) => verifyTdxUnder(machine.root.anchor, evidence, time, policy),
  verifySnp: unused,
  verifyNvidia: unused,
};

interface Attempt {
  readonly enclave: EnclaveName;
  readonly asked: string;
  readonly shown: string;
  readonly whose: 'genuine' | 'relay';
  readonly pinned: ProviderFamily | undefined;
  readonly privacyClass: 'e2ee' | 'tee';
  /** Whether the pins accept the machines of every family, as for a provider that resells others. */
  readonly everyMachine: boolean;
}

async function attempt({ enclave, asked, shown, whose, pinned, privacyClass, everyMachine }: Attempt) {
  const { family, sign } = enclaveOf(enclave);
  const reportData = sign(genuine, nonces[asked]?.(relay) ?? expect.unreachable(asked));
  const quote = await machine.quote({ reportData, mrTd: mrTdOf(family) });
  const document = shownAs[shown] ?? expect.unreachable(shown);
  const evidence = document.show(whose === 'relay' ? relay : genuine, reportData);
  const accepted = everyMachine || pinned === undefined ? providerFamilies : [pinned];
  const verified = await verifyProviderUnder(
    verifiers,
    {
      version: 'sotto.provider.evidence.v1',
      ...{ provider: 'vault', model: 'acme/wide', upstream_model: upstreamModel, privacy_class: privacyClass, nonce },
      ...{ obtained_at: now.toISOString(), family: document.family },
      evidence: { ...evidence, machine: { tee_type: 'tdx', quote: toBase64(quote), collateral } },
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
    enclave: fc.constantFrom(...enclaveNames),
    asked: fc.constantFrom(...names(nonces)),
    shown: fc.constantFrom(...names(shownAs)),
    whose: fc.constantFrom('genuine', 'relay'),
    pinned: pinnedFamily,
    privacyClass: fc.constantFrom('e2ee', 'tee'),
    everyMachine: fc.boolean(),
  })
  // Tinfoil's evidence is valid with any report data. Only the pinned machine shows whose it is.
  .filter(({ pinned, everyMachine }) => !(everyMachine && pinned === 'tinfoil'));

/** The honest enclave of each kind, and the attack that passes off a nonce as Tinfoil's key. */
const honest = { asked: 'our own', whose: 'genuine', privacyClass: 'e2ee', everyMachine: false } as const;
const examples: [Attempt][] = [
  [{ ...honest, enclave: 'near, by Ed25519 key', shown: 'near, by Ed25519 key', pinned: 'near' }],
  [{ ...honest, enclave: 'tinfoil', shown: 'tinfoil', pinned: 'tinfoil' }],
  ...(['near, by address', 'phala, dstack-vllm-proxy', 'venice, raw nonce'] as const).flatMap((enclave) =>
    [undefined, enclaveOf(enclave).family, 'tinfoil' as const].map((pinned): [Attempt] => [
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
  // If everything were refused, the other expectations would prove nothing.
  expect(passed.size).toBeGreaterThan(1);
}, 120_000);
