/** The id that lets the service choose the model. */
export const autoModelId = '/auto';

export type ModelSuffix = 'nitro' | 'floor';

/** A requested model id taken apart: what to look up, and the order its suffix asks for. */
export interface ModelReference {
  readonly id: string;
  readonly suffix?: ModelSuffix;
}

/**
 * Splits `:nitro` and `:floor` off a model id (interface 2.1).
 * Any other suffix stays part of the id, which then is not found, as the interface wants for `:free`, `:online` and kin.
 */
export function parseModelReference(requested: string): ModelReference {
  const colon = requested.lastIndexOf(':');
  const suffix = colon === -1 ? '' : requested.slice(colon + 1);
  return suffix === 'nitro' || suffix === 'floor' ? { id: requested.slice(0, colon), suffix } : { id: requested };
}
