import { randomUUID } from 'node:crypto';
import type { ActName } from '@sotto/contract/control/audit';
import type pg from 'pg';

/** Who acts: a member of a workspace, an operator, the operator at the command line, or the identity provider. */
export type Actor =
  | { readonly kind: 'account' | 'operator'; readonly accountId: string }
  | { readonly kind: 'command_line' | 'identity_provider' };

export interface Act {
  readonly actor: Actor;
  readonly act: ActName;
  /** The account that the act concerns, which may read it. */
  readonly accountId?: string | undefined;
  readonly workspaceId?: string | undefined;
  /** Ids, roles and amounts. Never an address or a name, which could not be deleted later. */
  readonly details?: Readonly<Record<string, string | number | boolean | null>>;
}

/** Writes an act to the audit log, in the transaction that does it. */
export async function recordAct(
  client: pg.PoolClient,
  { actor, act, accountId, workspaceId, details = {} }: Act,
): Promise<void> {
  await client.query(
    `insert into acts (id, actor, actor_account_id, act, account_id, workspace_id, details)
     values ($1, $2, $3, $4, $5, $6, $7)`,
    [
      orderedId(),
      actor.kind,
      'accountId' in actor ? actor.accountId : null,
      act,
      accountId ?? null,
      workspaceId ?? null,
      JSON.stringify(details),
    ],
  );
}

/** The OpenID provider, by its groups or by SCIM. */
export const identityProvider: Actor = { kind: 'identity_provider' };

/** The member of a workspace who acts. */
export const byAccount = (accountId: string): Actor => ({ kind: 'account', accountId });

/**
 * A UUID of version 7, with the fraction of the millisecond after it. Acts of one transaction have the same time, and their
 * ids keep their order.
 */
function orderedId(): string {
  const micros = Math.round((performance.timeOrigin + performance.now()) * 1000);
  const time = Math.floor(micros / 1000)
    .toString(16)
    .padStart(12, '0');
  const fraction = Math.floor(((micros % 1000) * 4096) / 1000)
    .toString(16)
    .padStart(3, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${fraction}-${randomUUID().slice(19)}`;
}
