import { keysOf, otherProviderId, type ProviderRegistry } from '@sotto/router';
import { isOwnSecret } from '@sotto/wire';
import type { BrokerEvents } from '../events.ts';
import { teeObstacle } from './check-registry.ts';
import type { ProviderSet } from './provider-set.ts';

interface Listeners {
  readonly events: Pick<BrokerEvents, 'providerWithoutKey' | 'teeRefused'>;
  /** Called with the public ID of each provider that can be called. */
  readonly willCall: (provider: string) => void;
}

/** Tells operators, at the start, which providers this broker cannot call, and which `tee` routes it will refuse. */
export function tellOfProviders(
  registry: ProviderRegistry,
  providers: ProviderSet,
  keyOf: (name: string) => string | undefined,
  { events, willCall }: Listeners,
): void {
  for (const provider of registry.providers) {
    const { id, listed } = provider;
    const names = keysOf(provider).map(({ env }) => env);
    if (!providers.isAvailable(provider)) {
      const hasOwnSecret = names.some((name) => isOwnSecret(keyOf(name) ?? ''));
      events.providerWithoutKey({ provider: id, variable: names.join(' or '), hasOwnSecret });
      continue;
    }
    willCall(listed ? id : otherProviderId);
    const reason = teeObstacle(provider);
    if (reason !== undefined) events.teeRefused({ provider: id, reason });
  }
}
