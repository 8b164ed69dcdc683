import { StateUnavailableError } from '@sotto/state';
import type { Projector } from './projector.ts';

/**
 * Projects changed keys. When this resolves, every broker knows them. If the state is unavailable, brokers reject
 * requests anyway, and the projector catches up once it is back.
 */
export async function projectKeys(projector: Pick<Projector, 'key'>, keyIds: readonly string[]): Promise<void> {
  await Promise.all(keyIds.map((id) => projector.key(id))).catch(unlessUnavailable);
}

/** Projects the budgets of a workspace. When this resolves, they are enforced, or no request is admitted. */
export async function projectBudgets(projector: Pick<Projector, 'budgets'>, workspaceId: string): Promise<void> {
  await projector.budgets(workspaceId).catch(unlessUnavailable);
}

/** Throws an error, unless it means that the state is unavailable. */
export function unlessUnavailable(error: unknown): void {
  if (!(error instanceof StateUnavailableError)) throw error;
}
