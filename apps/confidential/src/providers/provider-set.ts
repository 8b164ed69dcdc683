import { type Adapter, loadAdapter, openUpstream, privatePool, type Upstream } from '@sotto/providers';
import { otherProviderId, type ProviderRegistry, type RegistryProvider } from '@sotto/router';
import { isOwnSecret } from '@sotto/wire';

/** A provider that can be called: its registry entry, its adapter and its connections. */
export interface CallableProvider {
  readonly entry: RegistryProvider;
  readonly adapter: Adapter;
  readonly upstream: Upstream;
  /** The headers that authenticate the broker, as name, value, name, value. */
  readonly headers: readonly string[];
}

/**
 * The providers of the registry that this broker can call: those that need no key, or whose key it has. A key of Sotto itself
 * does not count: the provider would receive it, with the prompt.
 */
export interface ProviderSet {
  get(providerId: string): CallableProvider | undefined;
  /** IDs by which clients may name the providers of the registry. Unlisted ones share `other`. */
  readonly publicIds: readonly string[];
  isAvailable(provider: RegistryProvider): boolean;
  close(): Promise<void>;
}

export interface OpenProvidersOptions {
  /** Reads a key from the broker's own sealed environment. */
  readonly keyOf: (name: string) => string | undefined;
  /** Called for each connection without TLS that would have left private networks. */
  readonly onAddressRefused: (providerId: string) => void;
  /** See `UpstreamAddress`. */
  readonly ca?: string | undefined;
}

/** Opens the providers of a registry. */
export async function openProviders(
  registry: ProviderRegistry,
  { keyOf, onAddressRefused, ca }: OpenProvidersOptions,
): Promise<ProviderSet> {
  const callable = new Map<string, CallableProvider>();
  for (const entry of registry.providers) {
    const adapter = await loadAdapter(entry.adapter);
    const apiKey = entry.api_key_env === undefined ? undefined : keyOf(entry.api_key_env);
    if (entry.api_key_env !== undefined && (!apiKey || isOwnSecret(apiKey))) continue;
    const connectTimeoutMs = entry.timeouts.connect_ms;
    const headers = adapter.headers(apiKey);
    const pool = entry.insecure_http ? privatePool({ onRefused: () => onAddressRefused(entry.id) }) : undefined;
    const upstream = openUpstream({ baseUrl: entry.base_url, headers, connectTimeoutMs, ca }, pool);
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
