import type { ModelAnswer, PrivacyClass } from '@sotto/wire';

export interface EnclaveRouteShown {
  readonly provider: string;
  readonly tier: PrivacyClass;
}

const isAttested = (tier: PrivacyClass): boolean => tier === 'tee' || tier === 'e2ee';

/** The models that some attested enclave serves. */
export const enclaveModels = (models: readonly ModelAnswer[]): readonly ModelAnswer[] =>
  models.filter(({ provider_routes }) => provider_routes.some(({ privacy_class }) => isAttested(privacy_class)));

/** The enclave routes of a model, each provider once, with the strongest tier first. */
export function enclaveRoutes(model: ModelAnswer | undefined): readonly EnclaveRouteShown[] {
  const routes = (model?.provider_routes ?? []).filter(({ privacy_class }) => isAttested(privacy_class));
  const sealedFirst = routes.toSorted(
    (a, b) => Number(b.privacy_class === 'e2ee') - Number(a.privacy_class === 'e2ee'),
  );
  return sealedFirst
    .filter((route, index) => sealedFirst.findIndex(({ provider }) => provider === route.provider) === index)
    .map(({ provider, privacy_class: tier }) => ({ provider, tier }));
}
