/**
 * SQL: the rules that hold for the key `k` of the workspace `w`. They are the stricter of the key's own and the policy's, so a policy
 * also binds keys that are older than it. Whoever changes a policy raises the versions of the keys in the same transaction.
 */

/** Null: no limit. A management key spends nothing. */
export const heldLimit = `least(k.credit_limit_nusd, case k.kind when 'inference' then w.policy_key_limit_nusd end)`;

/** Null: it does not expire. A policy counts from the key's creation, which a rotation does not change. */
export const heldExpiry = `least(k.expires_at, k.created_at + w.policy_key_days * interval '1 day')`;

export const heldCompatible = '(k.openai_compatible and w.policy_compatible)';
