import { ServiceError } from './errors.ts';
import { matchesAny } from './model-pattern.ts';

/** The id that lets the service choose the model. */
export const autoModelId = '/auto';

export type ModelSuffix = 'nitro' | 'floor';

/** A requested model id, split into the id to look up and the sort that its suffix selects. */
export interface ModelReference {
  readonly id: string;
  readonly suffix?: ModelSuffix;
}

/**
 * Splits `:nitro` and `:floor` off a model id. Any other suffix, such as `:free` or `:online`, stays part of the id. The catalog
 * has no such ids, so these requests get `model_not_found`.
 */
export function parseModelReference(requested: string): ModelReference {
  const colon = requested.lastIndexOf(':');
  const suffix = colon === -1 ? '' : requested.slice(colon + 1);
  return suffix === 'nitro' || suffix === 'floor' ? { id: requested.slice(0, colon), suffix } : { id: requested };
}

/** Most models that a refusal lists. */
const shownModels = 5;

/** The models that requests with a key may name, as ids or patterns. Undefined: all. */
export interface ModelRules {
  /** Of the key itself. */
  readonly allowedModels?: readonly string[] | undefined;
  /** Of its workspace's policy. */
  readonly workspaceModels?: readonly string[] | undefined;
}

/** Whether requests may name a model id. Under a policy, `/auto` chooses among the models that the policy allows. */
export const allowsModel = ({ allowedModels, workspaceModels }: ModelRules, id: string): boolean =>
  (allowedModels === undefined || matchesAny(allowedModels, id)) &&
  (workspaceModels === undefined || id === autoModelId || matchesAny(workspaceModels, id));

/**
 * Throws `insufficient_scope` unless a key with these rules may name the models of a request. The suffixes `:nitro` and `:floor`
 * are not part of an id. A key has to allow `/auto` itself, because the service then chooses the model. A policy allows it always,
 * because `withinPolicy` of the router bounds the choice.
 */
export function assertModelsAllowed(
  { allowedModels, workspaceModels }: ModelRules,
  { model, models }: { readonly model: string; readonly models?: readonly string[] | null | undefined },
): void {
  const ids = [model, ...(models ?? [])].map((name) => parseModelReference(name).id);
  refuseOther('This key may not use', 'It may use', allowedModels, ids);
  const named = ids.filter((id) => id !== autoModelId);
  refuseOther("The workspace's policy does not allow", 'It allows', workspaceModels, named);
}

function refuseOther(
  refuses: string,
  allows: string,
  allowed: readonly string[] | undefined,
  ids: readonly string[],
): void {
  if (allowed === undefined) return;
  const refused = ids.find((id) => !matchesAny(allowed, id));
  if (refused === undefined) return;
  const more = allowed.length - shownModels;
  const listed = allowed.slice(0, shownModels).map((id) => `\`${id}\``);
  throw new ServiceError('insufficient_scope', {
    message: `${refuses} the model \`${refused.slice(0, 256)}\`. ${allows} ${listed.join(', ')}${more > 0 ? ` and ${more} more` : ''}.`,
    param: 'model',
  });
}
