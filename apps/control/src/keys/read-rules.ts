import type { UpdateKey } from '@sotto/contract/control/keys';
import { nusdToUsd } from '@sotto/money';
import type { KeyKind } from '@sotto/state';
import { allowsModel, autoModelId, matchesAny, ServiceError } from '@sotto/wire';
import type { CatalogKeeper } from '../catalog/catalog-keeper.ts';
import { counted } from '../counted.ts';
import { readUsd } from '../serve/read-usd.ts';
import type { WorkspacePolicy } from '../workspaces/policy.ts';
import type { KeyChange } from './key-store.ts';

export type SentRules = Omit<UpdateKey, 'name' | 'disabled'>;

/** The bounds of the rules of a key. */
export interface RuleBounds {
  readonly keeper: Pick<CatalogKeeper, 'catalog'>;
  /** The rate limits of the deployment, per key and minute. */
  readonly limits: { readonly requests: number; readonly tokens: number };
}

/** The key that rules are for, in a workspace with this policy. */
export interface RuledKey {
  readonly kind: KeyKind;
  readonly createdAt: Date;
  readonly policy: WorkspacePolicy;
}

const dayMs = 86_400_000;

/**
 * Reads the rules of a key. Throws `invalid_request` for one that could never be met, or that is looser than the workspace's policy.
 * Null removes a rule of the key, undefined leaves it.
 */
export function readRules(
  sent: SentRules,
  { keeper, limits }: RuleBounds,
  { kind, createdAt, policy }: RuledKey,
): Omit<KeyChange, 'name' | 'isDisabled' | 'lockedFields'> {
  const { credit_limit_usd, expires_at, allowed_models, requests_per_minute, tokens_per_minute } = sent;
  const refuse = (param: keyof SentRules, message: string): never => {
    throw new ServiceError('invalid_request', { message: `\`${param}\` ${message}`, param });
  };
  const creditLimitNusd = credit_limit_usd == null ? credit_limit_usd : readUsd('credit_limit_usd', credit_limit_usd);
  const { maxKeyLimitNusd: mostNusd, maxKeyDays } = policy;
  if (kind === 'inference' && mostNusd !== null && creditLimitNusd != null && creditLimitNusd > mostNusd) {
    refuse(
      'credit_limit_usd',
      `is ${credit_limit_usd}; the policy of this workspace allows at most ${nusdToUsd(mostNusd)}.`,
    );
  }
  const expiresAt = expires_at == null ? expires_at : new Date(expires_at);
  if (expiresAt != null && expiresAt.getTime() <= Date.now()) {
    refuse('expires_at', `is ${expires_at}, which is past. Revoke a key to end it now.`);
  }
  const latest = maxKeyDays === null ? undefined : new Date(createdAt.getTime() + maxKeyDays * dayMs);
  if (maxKeyDays !== null && latest !== undefined && expiresAt != null && expiresAt > latest) {
    refuse(
      'expires_at',
      `is ${expires_at}; the policy of this workspace ends keys ${counted(maxKeyDays, 'day')} after their creation, this one at ${latest.toISOString()}.`,
    );
  }
  if (allowed_models != null) {
    if (kind === 'management') refuse('allowed_models', 'is for inference keys. A management key sends no requests.');
    const ids = keeper.catalog && [autoModelId, ...keeper.catalog.models.keys()];
    const { allowedModels: workspaceModels } = policy;
    const permitted = ids?.filter((id) => allowsModel({ workspaceModels: workspaceModels ?? undefined }, id));
    const withoutModel = (among: readonly string[] | undefined): string | undefined =>
      allowed_models.find((pattern) => among?.some((id) => matchesAny([pattern], id)) === false);
    const unknown = withoutModel(ids);
    if (unknown !== undefined) refuse('allowed_models', `has \`${unknown}\`, which no model of this deployment is.`);
    const beyond = withoutModel(permitted);
    if (beyond !== undefined) {
      const listed = workspaceModels?.map((pattern) => `\`${pattern}\``).join(', ');
      refuse('allowed_models', `has \`${beyond}\`; the policy of this workspace allows ${listed}.`);
    }
  }
  if (sent.openai_compatible === true && !policy.openaiCompatible) {
    refuse('openai_compatible', 'is true; the policy of this workspace allows only tickets, so send false.');
  }
  for (const [param, value, most] of [
    ['requests_per_minute', requests_per_minute, limits.requests],
    ['tokens_per_minute', tokens_per_minute, limits.tokens],
  ] as const) {
    if (value != null && value > most) refuse(param, `is ${value}; this deployment allows at most ${most} per key.`);
  }
  return {
    creditLimitNusd,
    openaiCompatible: sent.openai_compatible,
    expiresAt,
    allowedModels: allowed_models && [...new Set(allowed_models)],
    limitRequests: requests_per_minute,
    limitTokens: tokens_per_minute,
  };
}
