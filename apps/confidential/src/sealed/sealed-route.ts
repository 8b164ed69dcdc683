import type { Catalog, Route } from '@sotto/router';
import { type E2eeFamilyName, ServiceError } from '@sotto/wire';
import type { ProviderSet } from '../providers/provider-set.ts';

/** For whom a sealed request was made, as far as that shows. */
export interface SealedFor {
  readonly family: E2eeFamilyName;
  /** The provider's own name of the model, where the body tells it. */
  readonly model: string | undefined;
  /** Of the family `chutes`: the chute that serves the model. */
  readonly chuteId: string | undefined;
}

/** Throws where a sealed request is meant for another family or model than those of its route. */
export function assertMeantFor(route: Route, providers: ProviderSet, { family, model, chuteId }: SealedFor): void {
  const served = providers.get(route.providerId)?.entry.attestation?.family;
  if (family !== served) {
    throw new ServiceError('invalid_request', {
      message: `The body is sealed for the family \`${family}\`, but the provider of this route is of the family \`${served}\`.`,
      param: 'family',
    });
  }
  // Routes of this family name the chute beside the model: `<model>@<chute id>`.
  if (chuteId !== undefined && chuteId !== route.upstreamModel.split('@').at(-1)) {
    throw new ServiceError('ticket_model_mismatch', {
      message: 'The header `x-chute-id` must name the chute of the model that the ticket was issued for.',
    });
  }
  if (model !== undefined && model !== route.upstreamModel) {
    throw new ServiceError('ticket_model_mismatch', {
      message: "`model` of the body must be the provider's own name of the model that the ticket was issued for.",
      param: 'model',
    });
  }
}

/** Other routes at the address of one: a body that is sealed whole may name any of their models. */
export function neighboursOf(route: Route, providers: ProviderSet, catalog: Catalog): Route[] {
  const addressOf = ({ providerId }: Route): string | undefined => {
    const provider = providers.get(providerId);
    // Compared as a URL: the same address may be written in several ways.
    return provider && new URL(provider.entry.base_url).href.replace(/\/+$/, '');
  };
  const address = addressOf(route);
  return [...catalog.models.values()].flatMap(({ type, routes }) =>
    type === 'text' ? routes.filter((other) => other.id !== route.id && addressOf(other) === address) : [],
  );
}
