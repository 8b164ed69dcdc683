import type { ModelAnswer, PrivacyClass } from '@sotto/wire';

/** The tiers of enclaves. */
type EnclaveTier = Extract<PrivacyClass, 'tee' | 'e2ee'>;

export interface EnclaveRouteShown {
  readonly provider: string;
  readonly tier: EnclaveTier;
}

const isAttested = (tier: PrivacyClass): tier is EnclaveTier => tier === 'tee' || tier === 'e2ee';

/** The models that some attested enclave serves. */
export const enclaveModels = (models: readonly ModelAnswer[]): readonly ModelAnswer[] =>
  models.filter(({ provider_routes }) => provider_routes.some(({ privacy_class }) => isAttested(privacy_class)));

/** The enclave routes of a model, each provider once, with the strongest tier first. */
export function enclaveRoutes(model: ModelAnswer | undefined): readonly EnclaveRouteShown[] {
  const routes = (model?.provider_routes ?? []).flatMap(({ provider, privacy_class: tier }) =>
    isAttested(tier) ? [{ provider, tier }] : [],
  );
  const sealedFirst = routes.toSorted((a, b) => Number(b.tier === 'e2ee') - Number(a.tier === 'e2ee'));
  return sealedFirst.filter(
    (route, index) => sealedFirst.findIndex(({ provider }) => provider === route.provider) === index,
  );
}

interface Provenance {
  readonly repository: string;
  readonly commit: string;
  readonly image_digest: string;
}

/**
 * The source that an evidence document claims; undefined if it is missing or malformed. The check `gateway.provenance`
 * compares the image with the measured one. Only https links are accepted.
 */
export function provenanceOf(document: unknown): Provenance | undefined {
  const claimed =
    typeof document === 'object' && document !== null && 'provenance' in document ? document.provenance : undefined;
  if (typeof claimed !== 'object' || claimed === null) return undefined;
  const { repository, commit, image_digest } = claimed as Readonly<Record<string, unknown>>;
  if (typeof repository !== 'string' || URL.parse(repository)?.protocol !== 'https:') return undefined;
  if (typeof commit !== 'string' || typeof image_digest !== 'string') return undefined;
  return { repository, commit, image_digest };
}
