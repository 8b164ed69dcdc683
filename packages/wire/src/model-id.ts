import { ServiceError } from './errors.ts';

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

/**
 * Throws `insufficient_scope` unless a key with these allowed models may name the models of a request. The suffixes `:nitro` and
 * `:floor` are not part of an id. `/auto` has to be allowed itself, because the service then chooses the model.
 */
export function assertModelsAllowed(
  allowed: readonly string[] | undefined,
  { model, models }: { readonly model: string; readonly models?: readonly string[] | null | undefined },
): void {
  if (allowed === undefined) return;
  const refused = [model, ...(models ?? [])].find((name) => !allowed.includes(parseModelReference(name).id));
  if (refused === undefined) return;
  const more = allowed.length - shownModels;
  const listed = allowed.slice(0, shownModels).map((id) => `\`${id}\``);
  throw new ServiceError('insufficient_scope', {
    message: `This key may not use the model \`${refused.slice(0, 256)}\`. It may use ${listed.join(', ')}${more > 0 ? ` and ${more} more` : ''}.`,
    param: 'model',
  });
}
