import { heldExpiry } from '../../database/held-rules.ts';

/** SQL: grants `g`, with their key `k`, app `p` and workspace `w`. */
export const joinedGrants = `connect_grants g join api_keys k on k.id = g.key_id join connect_apps p on p.id = g.app_id
  join workspaces w on w.id = k.workspace_id`;

/** SQL: when a grant expires. The policy of its workspace ends its key earlier, perhaps. */
export const grantExpiry = `least(g.expires_at, ${heldExpiry})`;

/**
 * SQL: whether a grant is active. It ends when it expires, its app is disabled or its key is revoked. A disconnect revokes the key. So does
 * the end of its creator's membership or of the workspace.
 */
export const isActiveGrant = `(k.revoked_at is null and p.disabled_at is null and ${grantExpiry} > now())`;
