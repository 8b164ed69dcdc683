import { StateUnavailableError } from '@sotto/state';
import type { Projector } from './projector.ts';

/**
 * Projects keys that have changed: every broker knows when this resolves. Where the state is away it fails closed
 * anyway, and the projector catches up as soon as it is back.
 */
export async function projectKeys(projector: Pick<Projector, 'key'>, keyIds: readonly string[]): Promise<void> {
  await Promise.all(keyIds.map((id) => projector.key(id))).catch((error: unknown) => {
    if (!(error instanceof StateUnavailableError)) throw error;
  });
}
