/** Providers in enclaves need more than a catalog: machines of a vendor of their own, whose root the broker then trusts. */

import { expect } from 'vitest';
import type { ProviderSpec, StageSpec } from '../stage/spec.ts';
import { type EnclaveKind, enclaveKinds, familyOf } from './enclave-kinds.ts';
import { EnclaveProvider } from './enclave-provider.ts';
import { TestGround, testMeasurement } from './test-ground.ts';

/** Providers that one test each uses, beside one of every kind. A penalty from one test must not affect another. */
const spares = [
  'spki',
  'nonce',
  'model',
  'expired',
  'balanced',
  'rotating',
  'silent',
  'first',
  'second',
  'unpinned',
  'crowded',
] as const;
export type Spare = (typeof spares)[number];

type Name = EnclaveKind | Spare;

/** What a stage with enclaves has besides the service: their vendor, whose root the broker trusts, and the enclaves. */
export interface Enclaves {
  readonly ground: TestGround;
  provider(name: Name): EnclaveProvider;
}

/**
 * Starts the enclaves. The relay can read the content of `tee/<name>`; content for `sealed/<kind>` is encrypted to its
 * provider.
 */
export async function startEnclaves(): Promise<StageSpec<Enclaves>> {
  const ground = await TestGround.make();
  const kindOf = (name: Name): EnclaveKind => enclaveKinds.find((kind) => kind === name) ?? 'near';
  const names = [...enclaveKinds, ...spares];
  const enclaves = new Map(
    await Promise.all(
      names.map(async (name) => [name, await EnclaveProvider.start({ kind: kindOf(name), ground })] as const),
    ),
  );
  const provider = (name: Name): EnclaveProvider => enclaves.get(name) ?? expect.unreachable(`no provider ${name}`);
  const entry = (name: Name, privacy: 'tee' | 'e2ee'): ProviderSpec => ({
    privacy,
    attestation: {
      family: familyOf(kindOf(name)),
      ...(name === 'unpinned' ? {} : { measurements: [testMeasurement] }),
    },
    timeouts: { connect_ms: 3000, first_byte_ms: 5000, idle_ms: 5000, total_ms: 20_000 },
  });
  return {
    providers: {
      ...Object.fromEntries(names.map((name) => [name, { ...entry(name, 'tee'), server: provider(name) }])),
      ...Object.fromEntries(enclaveKinds.map((kind) => [`sealed-${kind}`, { ...entry(kind, 'e2ee'), at: kind }])),
    },
    models: {
      ...Object.fromEntries(names.map((name) => [`tee/${name}`, { routes: { [name]: [1, 2] } }])),
      ...Object.fromEntries(enclaveKinds.map((kind) => [`sealed/${kind}`, { routes: { [`sealed-${kind}`]: [1, 2] } }])),
      'tee/two': { routes: { first: [0.1, 0.1], second: [1, 2] } },
    },
    limits: { context_length: 20_000, max_output_tokens: 1000 },
    enclaves: ground.trustFile,
    standIns: { ground, provider },
    stop: () => ground.stop(),
  };
}
