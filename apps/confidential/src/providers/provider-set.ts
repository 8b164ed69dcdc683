import { type Adapter, loadAdapter, openUpstream, type Upstream } from '@sotto/providers';
import type { ProviderRegistry, RegistryProvider } from '@sotto/router';

/** A provider that can be called: its registry entry, its adapter and its connections. */
export interface CallableProvider {
  readonly entry: RegistryProvider;
  readonly adapter: Adapter;
  readonly upstream: Upstream;
}

/** The providers of the registry that this broker has an adapter and, where they ask for one, a key for. */
export interface ProviderSet {
  get(providerId: string): CallableProvider | undefined;
  isAvailable(provider: RegistryProvider): boolean;
  close(): Promise<void>;
}

export type OpenedProviders =
  | { readonly ok: true; readonly providers: ProviderSet }
  | { readonly ok: false; readonly missing: string[] };

/**
 * Opens the providers of a registry. `keyOf` reads a key from the broker's own sealed environment.
 * Returns the names of adapters that the registry asks for and this broker lacks, if any.
 */
export async function openProviders(
  registry: ProviderRegistry,
  keyOf: (name: string) => string | undefined,
): Promise<OpenedProviders> {
  const missing = new Set<string>();
  const callable = new Map<string, CallableProvider>();
  for (const entry of registry.providers) {
    const adapter = await loadAdapter(entry.adapter);
    const apiKey = entry.api_key_env === undefined ? undefined : keyOf(entry.api_key_env);
    if (adapter === undefined) missing.add(entry.adapter);
    else if (entry.api_key_env === undefined || apiKey) {
      const connectTimeoutMs = entry.timeouts.connect_ms;
      const upstream = openUpstream({ baseUrl: entry.base_url, headers: adapter.headers(apiKey), connectTimeoutMs });
      callable.set(entry.id, { entry, adapter, upstream });
    }
  }
  if (missing.size > 0) return { ok: false, missing: [...missing] };
  return {
    ok: true,
    providers: {
      get: (providerId) => callable.get(providerId),
      isAvailable: (provider) => callable.has(provider.id),
      async close() {
        await Promise.all([...callable.values()].map(({ upstream }) => upstream.close()));
      },
    },
  };
}
