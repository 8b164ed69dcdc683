import type { ErrorType } from '@sotto/wire';

export const anywhere = ['rate_limited', 'internal_error', 'service_unavailable'] as const satisfies ErrorType[];
export const ofBodies = [
  'invalid_request',
  'payload_too_large',
  'unsupported_media_type',
] as const satisfies ErrorType[];
export const ofKeys = ['unauthenticated', 'invalid_api_key', 'insufficient_scope'] as const satisfies ErrorType[];
/** `forbidden`: the request comes from a page of another origin. `insufficient_scope`: it has a key and no session. */
export const ofSessions = ['unauthenticated', 'insufficient_scope', 'forbidden'] as const satisfies ErrorType[];
/** `not_found`: the session is not an operator’s, so that the answer does not reveal who has the role. */
export const ofOperators = ['not_found'] as const satisfies ErrorType[];
/** Errors of routes that accept a management key or a session. */
export const ofOwners = [...ofKeys, 'forbidden'] as const satisfies ErrorType[];

/** Errors of requests that no provider can serve. */
export const ofPlanning = [
  'invalid_provider_policy',
  'provider_policy_conflict',
  'no_provider_route',
  'no_provider_route_meets_price',
  'no_provider_route_meets_privacy',
  'privacy_boundary_not_met',
  'model_not_found',
] as const satisfies ErrorType[];

const ofTickets = [
  'ticket_required',
  'invalid_ticket',
  'ticket_model_mismatch',
  'ticket_provider_policy_mismatch',
] as const satisfies ErrorType[];

/** Errors of inference requests by ticket, for every operation. */
export const ofInference = [
  ...anywhere,
  ...ofBodies,
  ...ofTickets,
  ...ofPlanning,
  'insufficient_balance',
  'provider_error',
  'provider_timeout',
  'provider_fallback_exhausted',
] as const satisfies ErrorType[];

/** Further errors of operations that compatibility mode serves. */
export const ofCompatibility = [
  'invalid_api_key',
  'insufficient_scope',
  'compatibility_access_disabled',
] as const satisfies ErrorType[];

/** Errors of the routes of better-auth, which reads bodies itself. */
export const ofAuth = [
  ...anywhere,
  'invalid_request',
  'forbidden',
  'payload_too_large',
  'unsupported_media_type',
] as const satisfies ErrorType[];
