import type { BillingCatalog } from '@sotto/contract/control/billing';
import type { WorkspaceRole } from '@sotto/contract/control/workspace-role';

/** Decides which answers the overview needs. */
export interface HomeFacts {
  readonly workspaceId: string;
  readonly role: WorkspaceRole;
  readonly billing: BillingCatalog['mode'] | undefined;
  readonly hasApps: boolean;
}

const storageKey = 'sotto.home';

/** Remembers the overview that is shown, so that the next visit asks for all of it at once. */
export const rememberHome = (facts: HomeFacts): void => localStorage.setItem(storageKey, JSON.stringify(facts));

/** Forgets it when its reader leaves. */
export const forgetHome = (): void => localStorage.removeItem(storageKey);

/** The overview of the last visit; undefined if there was none. */
export function rememberedHome(): HomeFacts | undefined {
  const stored = localStorage.getItem(storageKey);
  return stored === null ? undefined : (JSON.parse(stored) as HomeFacts);
}
