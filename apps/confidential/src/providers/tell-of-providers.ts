import { otherProviderId, type ProviderRegistry } from '@sotto/router';
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
    const { id, listed, api_key_env: variable } = provider;
    if (!providers.isAvailable(provider)) {
      if (variable === undefined) continue;
      events.providerWithoutKey({ provider: id, variable, hasOwnSecret: isOwnSecret(keyOf(variable) ?? '') });
      continue;
    }
    willCall(listed ? id : otherProviderId);
    const reason = teeObstacle(provider);
    if (reason !== undefined) events.teeRefused({ provider: id, reason });
  }
}
