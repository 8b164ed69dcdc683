import type { ModelAnswer, PrivacyClass } from '@sotto/wire';
import { tierOrder } from '../../ui/badge.tsx';

export interface KnownProvider {
  readonly id: string;
  /** How many models it serves. */
  readonly models: number;
  /** Of its routes, weakest first. */
  readonly tiers: readonly PrivacyClass[];
  /** The disabled provider that it is a variant or region of. */
  readonly ignoredBy: string | undefined;
}

/** Every provider that serves some model, and those that are ignored though none is served, by id. */
export function knownProviders(models: readonly ModelAnswer[], ignored: readonly string[]): readonly KnownProvider[] {
  const routes = models.flatMap((model) => model.provider_routes.map((route) => ({ model: model.id, ...route })));
  const ids = [...new Set([...routes.map(({ provider }) => provider), ...ignored])].toSorted();
  return ids.map((id) => {
    const own = routes.filter(({ provider }) => provider === id);
    const classes = new Set(own.map(({ privacy_class }) => privacy_class));
    return {
      id,
      models: new Set(own.map(({ model }) => model)).size,
      tiers: tierOrder.filter((tier) => classes.has(tier)),
      ignoredBy: ignored.find((one) => id.startsWith(`${one}/`)),
    };
  });
}
