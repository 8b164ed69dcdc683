import type { PlanesSetup } from '../../kit/both-planes.ts';
import { type EnclaveKind, EnclaveProvider, enclaveKinds, familyOf } from '../../kit/enclaves/enclave-provider.ts';
import { TestGround, testMeasurement } from '../../kit/enclaves/test-ground.ts';

/** Providers of one test each, beside one of every kind: what one of them has done must not be held against another. */
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

/** `tee/<name>` is a model of one provider whose content the relay sees, `sealed/<kind>` one that is encrypted to it. */
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
  const entry = (id: string, name: EnclaveKind | Spare, privacy_class: 'tee' | 'e2ee') => ({
    id,
    name: id,
    adapter: 'openai',
    base_url: provider(name).baseUrl,
    privacy_class,
    attestation: {
      family: familyOf(kindOf(name)),
      ...(name === 'unpinned' ? {} : { measurements: [testMeasurement] }),
    },
    timeouts: { connect_ms: 3000, first_byte_ms: 5000, idle_ms: 5000, total_ms: 20_000 },
  });
  const route = (id: string, name: EnclaveKind | Spare, privacy_class: 'tee' | 'e2ee') => ({
    provider: id,
    upstream_model: provider(name).upstreamModel,
    privacy_class,
    pricing: price,
  });
  const model = (id: string, routes: readonly object[]) => ({
    id,
    model_type: 'text',
    context_length: 20_000,
    max_output_tokens: 1000,
    routes,
  });
  return {
    ground,
    provider,
    enclaves: ground.trustFile,
    registry: JSON.stringify({
      providers: [
        ...names.map((name) => entry(name, name, 'tee')),
        ...enclaveKinds.map((kind) => entry(`sealed-${kind}`, kind, 'e2ee')),
      ],
    }),
    catalog: JSON.stringify({
      models: [
        ...names.map((name) => model(`tee/${name}`, [route(name, name, 'tee')])),
        ...enclaveKinds.map((kind) => model(`sealed/${kind}`, [route(`sealed-${kind}`, kind, 'e2ee')])),
        model('tee/two', [
          { ...route('first', 'first', 'tee'), pricing: { input: 0.1, output: 0.1 } },
          route('second', 'second', 'tee'),
        ]),
      ],
    }),
    async stop() {
      await Promise.all([...providers.values()].map((each) => each.stop()));
      await ground.stop();
    },
  };
}
