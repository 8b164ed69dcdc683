import { type Adapter, loadAdapter, openUpstream, type Upstream } from '@sotto/providers';
import { otherProviderId, type ProviderRegistry, type RegistryProvider } from '@sotto/router';

/** A provider that can be called: its registry entry, its adapter and its connections. */
export interface CallableProvider {
  readonly entry: RegistryProvider;
  readonly adapter: Adapter;
  readonly upstream: Upstream;
  /** What lets us in, as name, value, name, value. */
  readonly headers: readonly string[];
}

/** The providers of the registry that this broker has a key for, where they ask for one. */
export interface ProviderSet {
  get(providerId: string): CallableProvider | undefined;
  /** Ids by which clients may name the providers of the registry: those that are not listed share `other`. */
  readonly publicIds: readonly string[];
  isAvailable(provider: RegistryProvider): boolean;
  close(): Promise<void>;
}

/**
 * Opens the providers of a registry. `keyOf` reads a key from the broker's own sealed environment; `ca` as of
 * `UpstreamAddress`.
 */
export async function openProviders(
  registry: ProviderRegistry,
  keyOf: (name: string) => string | undefined,
  ca?: string | undefined,
): Promise<ProviderSet> {
  const callable = new Map<string, CallableProvider>();
  for (const entry of registry.providers) {
    const adapter = await loadAdapter(entry.adapter);
    const apiKey = entry.api_key_env === undefined ? undefined : keyOf(entry.api_key_env);
    if (entry.api_key_env !== undefined && !apiKey) continue;
    const connectTimeoutMs = entry.timeouts.connect_ms;
    const headers = adapter.headers(apiKey);
    const upstream = openUpstream({ baseUrl: entry.base_url, headers, connectTimeoutMs, ca });
    callable.set(entry.id, { entry, adapter, upstream, headers });
  }
  return {
    get: (providerId) => callable.get(providerId),
    publicIds: registry.providers.map(({ id, listed }) => (listed ? id : otherProviderId)),
    isAvailable: (provider) => callable.has(provider.id),
    async close() {
      await Promise.all([...callable.values()].map(({ upstream }) => upstream.close()));
    },
  };
}
