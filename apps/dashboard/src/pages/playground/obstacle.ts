import type { OriginVerification } from '@sotto/client';
import type { Way } from './playground-search.ts';
import { standingOf } from './standing.ts';

/** Why nothing can be sent now, in a sentence; undefined where something can. */
export function obstacleOf(now: {
  readonly hasKey: boolean;
  readonly way: Way;
  readonly verification: OriginVerification | undefined;
  readonly allowSimulated: boolean;
}): string | undefined {
  const { hasKey, way, verification, allowSimulated } = now;
  if (!hasKey) return 'Make a key first, or bring one along.';
  if (way === 'compatibility') return undefined;
  if (verification === undefined) return 'The confidential origin is not verified yet.';
  const { kind } = standingOf(verification);
  if (kind === 'refused') return 'Nothing is sent to a machine that is not verified.';
  if (kind === 'simulated' && !allowSimulated) return 'The evidence is simulated: say that you want to go on.';
  return undefined;
}
