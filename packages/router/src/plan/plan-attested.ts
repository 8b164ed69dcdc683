import { parseModelReference, strongest } from '@sotto/wire';
import type { Route } from '../catalog/catalog.ts';
import { accept, type Decision, refuse } from '../policy/refusal.ts';
import { policyObject } from '../policy/request-policy.ts';
import { noNeeds } from './needs.ts';
import { planRequest, type RoutingRequest } from './plan-request.ts';
import type { PlanningContext } from './planning-context.ts';

/**
 * The enclave that a request under this policy would reach first: an attestation ticket is for this route. Prefers an
 * end-to-end-encrypted route, because such clients need its evidence before they send. Otherwise a `tee` route, by the
 * request's own sort or else by privacy: the raised floor counts as a provider setting, so the workspace's sort does
 * not apply. Refuses as `planRequest` does if neither serves.
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

/** Raises the floor to `tee`, and keeps a higher floor of the policy. */
function withFloor(request: RoutingRequest): RoutingRequest {
  const policy = policyObject(request.provider);
  return { ...request, provider: { ...policy, minimum_privacy: strongest('tee', policy.minimum_privacy) } };
}
