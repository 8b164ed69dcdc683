import { heldExpiry } from '../../database/held-rules.ts';

/** SQL: apps `p`, with the account `developer` that registered them. */
export const joinedApps = 'connect_apps p join accounts developer on developer.id = p.account_id';

/** SQL: whether an app can be used. While its developer's account is disabled, none of its clients, grants and tokens works. */
export const isUsableApp = '(p.disabled_at is null and developer.disabled_at is null)';

/** SQL: grants `g`, with their key `k`, app `p` with its `developer`, and workspace `w`. */
export const joinedGrants = `${joinedApps} join connect_grants g on g.app_id = p.id join api_keys k on k.id = g.key_id
  join workspaces w on w.id = k.workspace_id`;

/** SQL: when a grant expires. The policy of its workspace ends its key earlier, perhaps. */
export const grantExpiry = `least(g.expires_at, ${heldExpiry})`;

/**
 * SQL: whether a grant is active. It ends when it expires, its app is disabled or its key is revoked. A disconnect revokes the key. So does
 * the end of its creator's membership or of the workspace. It pauses while the developer's account is disabled.
 */
export const isActiveGrant = `(k.revoked_at is null and ${isUsableApp} and ${grantExpiry} > now())`;
