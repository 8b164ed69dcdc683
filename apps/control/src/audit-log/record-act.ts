import { randomUUID } from 'node:crypto';
import type { ActName } from '@sotto/contract/control/audit';
import type pg from 'pg';

/** Who acts: a member of a workspace, an operator, the operator at the command line, the identity provider, or a connected app. */
export type Actor =
  | { readonly kind: 'account' | 'operator'; readonly accountId: string }
  | { readonly kind: 'command_line' | 'identity_provider' | 'app' };

export interface Act {
  readonly actor: Actor;
  readonly act: ActName;
  /** The account that the act concerns, which may read it. */
  readonly accountId?: string | undefined;
  readonly workspaceId?: string | undefined;
  /** Ids, roles and amounts. Never an address or a name, which could not be deleted later. */
  readonly details?: Details;
}
export type Details = Readonly<Record<string, string | number | boolean | null>>;

/** Writes an act to the audit log, in the transaction that does it. */
export const recordAct = (client: pg.PoolClient, act: Act): Promise<void> => recordActs(client, [act]);

/** Writes acts of one transaction, in their order. */
export async function recordActs(client: pg.PoolClient, acts: readonly Act[]): Promise<void> {
  await client.query(
    `insert into acts (id, actor, actor_account_id, act, account_id, workspace_id, details)
     select id, actor, by, act, account, workspace, details::jsonb
     from unnest($1::uuid[], $2::text[], $3::uuid[], $4::text[], $5::uuid[], $6::uuid[], $7::text[])
       as t (id, actor, by, act, account, workspace, details)`,
    [
      acts.map(orderedId),
      acts.map(({ actor }) => actor.kind),
      acts.map(({ actor }) => ('accountId' in actor ? actor.accountId : null)),
      acts.map(({ act }) => act),
      acts.map(({ accountId }) => accountId ?? null),
      acts.map(({ workspaceId }) => workspaceId ?? null),
      acts.map(({ details = {} }) => JSON.stringify(details)),
    ],
  );
}

/** Returns those details of a change that differ from before. A limit that was null and stays so was not removed. */
export const changedDetails = (before: Details, after: Details): Details =>
  Object.fromEntries(Object.entries(after).filter(([field, value]) => value !== before[field]));

/** The OpenID provider, by its groups or by SCIM. */
export const identityProvider: Actor = { kind: 'identity_provider' };

/** A connected app or its developer, who is a stranger to the workspace. */
export const byApp: Actor = { kind: 'app' };

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
