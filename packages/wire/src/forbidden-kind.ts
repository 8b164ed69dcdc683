import { ServiceError } from './errors.ts';
import type { RefusalKind } from './usage-words.ts';

/** Returns as what a 403 about the rights of a key is counted. Undefined for every other error. */
export function forbiddenKind(error: unknown): RefusalKind | undefined {
  if (!(error instanceof ServiceError)) return undefined;
  switch (error.type) {
    case 'insufficient_scope':
      return error.param === 'model' ? 'model' : 'access';
    case 'compatibility_access_disabled':
      return 'access';
    case 'no_provider_route_meets_privacy':
    case 'privacy_boundary_not_met':
      return 'privacy';
    default:
      return undefined;
  }
}
