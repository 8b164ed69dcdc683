import {
  type Adapter,
  KeyRing,
  loadAdapter,
  openUpstream,
  type ProviderKey,
  privatePool,
  type Upstream,
} from '@sotto/providers';
import {
  type AttemptOutcome,
  keysOf,
  otherProviderId,
  type ProviderRegistry,
  type RegistryProvider,
} from '@sotto/router';
import { isOwnSecret } from '@sotto/wire';

/** A provider that can be called: its registry entry, its adapter and its connections. */
export interface CallableProvider {
  readonly entry: RegistryProvider;
  readonly adapter: Adapter;
  readonly upstream: Upstream;
  /** The keys that authenticate the broker, of which each call carries one. */
  readonly headers: KeyRing;
}

/**
 * The providers of the registry that this broker can call: those that need no key, or of whose keys it has one. A key of Sotto itself
 * does not count: the provider would receive it, with the prompt.
 */
export interface ProviderSet {
  get(providerId: string): CallableProvider | undefined;
  /** IDs by which clients may name the providers of the registry. Unlisted ones share `other`. */
  readonly publicIds: readonly string[];
  isAvailable(provider: RegistryProvider): boolean;
  close(): Promise<void>;
}

export interface OpenedProviders extends ProviderSet {
  /** Takes another registry, or other keys. Connections of a provider whose entry is the same stay open. */
  reload(registry: ProviderRegistry, keyOf: OpenProvidersOptions['keyOf']): Promise<void>;
}

export interface OpenProvidersOptions {
  /** Reads a key from the broker's own sealed environment. */
  readonly keyOf: (name: string) => string | undefined;
  /** Called for each connection without TLS that would have left private networks. */
  readonly onAddressRefused: (providerId: string) => void;
  /** Called when a provider refused one of several keys, which is then not used for a while. */
  readonly onKeySetAside: (providerId: string, variable: string, outcome: AttemptOutcome) => void;
  /** Unix ms. */
  readonly now: () => number;
  /** Returns a number from 0 inclusive to 1 exclusive. */
  readonly random: () => number;
  /** See `UpstreamAddress`. */
  readonly ca?: string | undefined;
}

export async function openProviders(
  registry: ProviderRegistry,
  { keyOf, onAddressRefused, onKeySetAside, ca, now, random }: OpenProvidersOptions,
): Promise<OpenedProviders> {
  let callable: ReadonlyMap<string, CallableProvider> = new Map();
  let entries: readonly RegistryProvider[] = [];
  /** The rings of all providers so far: sessions with enclaves keep the ring that they began with. */
  const rings = new Map<string, KeyRing>();

  const ringOf = ({ id }: RegistryProvider, keys: readonly ProviderKey[]): KeyRing => {
    const known = rings.get(id);
    known?.replace(keys);
    const ring =
      known ??
      new KeyRing(keys, { now, random, onSetAside: (key, outcome) => onKeySetAside(id, key.variable ?? '', outcome) });
    rings.set(id, ring);
    return ring;
  };

  const reload: OpenedProviders['reload'] = async (next, keyIn) => {
    const opened = new Map<string, CallableProvider>();
    for (const entry of next.providers) {
      const adapter = await loadAdapter(entry.adapter);
      const keys = usableKeys(entry, adapter, keyIn);
      if (keys.length === 0) continue;
      const headers = ringOf(entry, keys);
      const open = callable.get(entry.id);
      if (open !== undefined && isSame(open.entry, entry)) {
        opened.set(entry.id, open);
        continue;
      }
      const connectTimeoutMs = entry.timeouts.connect_ms;
      const pool = entry.insecure_http ? privatePool({ onRefused: () => onAddressRefused(entry.id) }) : undefined;
      const upstream = openUpstream({ baseUrl: entry.base_url, headers, connectTimeoutMs, ca }, pool);
      opened.set(entry.id, { entry, adapter, upstream, headers });
    }
    for (const [id, { upstream }] of callable) if (opened.get(id)?.upstream !== upstream) upstream.retire();
    callable = opened;
    entries = next.providers;
  };

  await reload(registry, keyOf);
  return {
    get: (providerId) => callable.get(providerId),
    get publicIds() {
      return entries.map(({ id, listed }) => (listed ? id : otherProviderId));
    },
    isAvailable: (provider) => callable.has(provider.id),
    reload,
    async close() {
      await Promise.all([...callable.values()].map(({ upstream }) => upstream.close()));
    },
  };
}

/** The keys that the environment has. A provider that needs no key has one without headers of its own. */
function usableKeys(
  entry: RegistryProvider,
  adapter: Adapter,
  keyOf: OpenProvidersOptions['keyOf'],
): readonly ProviderKey[] {
  const named = keysOf(entry);
  if (named.length === 0) return [{ variable: undefined, weight: 1, headers: adapter.headers(undefined) }];
  return named.flatMap(({ env, weight }) => {
    const key = keyOf(env);
    return key && !isOwnSecret(key) ? [{ variable: env, weight, headers: adapter.headers(key) }] : [];
  });
}

/** Whether two entries of a registry say the same. */
export const isSame = (one: RegistryProvider, other: RegistryProvider): boolean =>
  JSON.stringify(one) === JSON.stringify(other);
