import { type ProviderPolicyObject, parseModelReference, strongest } from '@sotto/wire';
import type { Route } from '../catalog/catalog.ts';
import { accept, type Decision, refuse } from '../policy/refusal.ts';
import { noNeeds } from './needs.ts';
import { planRequest, type RoutingRequest } from './plan-request.ts';
import type { PlanningContext } from './planning-context.ts';

/**
 * The enclave that a request under this policy would meet first: what an attestation ticket is of (interface 4.2). An
 * end-to-end-encrypted route where there is one, for that is what asks for its evidence; else a `tee` route. Refused as
 * `planRequest` refuses where neither serves.
 */
export function planAttested(request: RoutingRequest, context: PlanningContext): Decision<Route> {
  const { id } = parseModelReference(request.model);
  const needs = noNeeds(context.catalog.models.get(id)?.type ?? 'text');
  const encrypted = planRequest(request, { ...needs, encrypted: true }, context);
  const planned = encrypted.ok ? encrypted : planRequest(withFloor(request), needs, context);
  if (!planned.ok) return planned;
  const [route] = planned.value.routes;
  return route === undefined ? refuse('no_provider_route', 'No provider of this model has an enclave.') : accept(route);
}

/** A policy's own floor may be higher. */
function withFloor(request: RoutingRequest): RoutingRequest {
  const policy: ProviderPolicyObject =
    typeof request.provider === 'string'
      ? { only: [request.provider], allow_fallbacks: false }
      : (request.provider ?? {});
  return { ...request, provider: { ...policy, minimum_privacy: strongest('tee', policy.minimum_privacy) } };
}
