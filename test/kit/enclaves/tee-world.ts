import type { PlanesSetup } from '../both-planes.ts';
import { filesOf, type Prices, providerEntry, routeEntry, textModel } from '../catalog.ts';
import { type EnclaveKind, EnclaveProvider, enclaveKinds, familyOf } from './enclave-provider.ts';
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

export interface TeeWorld extends PlanesSetup {
  readonly ground: TestGround;
  provider(name: EnclaveKind | Spare): EnclaveProvider;
  stop(): Promise<void>;
}

/** USD per million tokens. */
const price = { input: 1, output: 2 };

/**
 * Starts the providers. The relay can read the content of `tee/<name>`; content for `sealed/<kind>` is encrypted to its
 * provider.
 */
export async function startTeeWorld(): Promise<TeeWorld> {
  const ground = await TestGround.make();
  const kindOf = (name: EnclaveKind | Spare): EnclaveKind => enclaveKinds.find((kind) => kind === name) ?? 'near';
  const names = [...enclaveKinds, ...spares];
  const started = await Promise.all(
    names.map(async (name) => [name, await EnclaveProvider.start({ kind: kindOf(name), ground })] as const),
  );
  const providers = new Map(started);
  const provider = (name: EnclaveKind | Spare): EnclaveProvider => {
    const found = providers.get(name);
    if (found === undefined) throw new Error(`no provider ${name}`);
    return found;
  };
  const entry = (id: string, name: EnclaveKind | Spare, privacy_class: 'tee' | 'e2ee') =>
    providerEntry(id, provider(name).baseUrl, {
      privacy_class,
      attestation: {
        family: familyOf(kindOf(name)),
        ...(name === 'unpinned' ? {} : { measurements: [testMeasurement] }),
      },
      timeouts: { connect_ms: 3000, first_byte_ms: 5000, idle_ms: 5000, total_ms: 20_000 },
    });
  const route = (id: string, name: EnclaveKind | Spare, privacy_class: 'tee' | 'e2ee', pricing: Prices = price) =>
    routeEntry(id, pricing, { upstream_model: provider(name).upstreamModel, privacy_class });
  const model = (id: string, routes: readonly object[]) => textModel(id, routes, { context_length: 20_000 });
  return {
    ground,
    provider,
    enclaves: ground.trustFile,
    ...filesOf(
      [
        ...names.map((name) => entry(name, name, 'tee')),
        ...enclaveKinds.map((kind) => entry(`sealed-${kind}`, kind, 'e2ee')),
      ],
      [
        ...names.map((name) => model(`tee/${name}`, [route(name, name, 'tee')])),
        ...enclaveKinds.map((kind) => model(`sealed/${kind}`, [route(`sealed-${kind}`, kind, 'e2ee')])),
        model('tee/two', [
          route('first', 'first', 'tee', { input: 0.1, output: 0.1 }),
          route('second', 'second', 'tee'),
        ]),
      ],
    ),
    async stop() {
      await Promise.all([...providers.values()].map((each) => each.stop()));
      await ground.stop();
    },
  };
}
