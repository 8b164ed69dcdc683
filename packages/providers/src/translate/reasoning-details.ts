import { type ReasoningDetail, reasoningDetailSchema } from '@sotto/wire';
import { asArray } from '../json.ts';

/** The formats of reasoning details, by the names that OpenRouter's clients know. */
export const detailFormats = {
  anthropic: 'anthropic-claude-v1',
  bedrock: 'amazon-bedrock-v1',
  google: 'google-gemini-v1',
} as const;

/**
 * Joins pieces that a stream sent separately and a client kept as they came. It joins texts with the same index, up to
 * the signature that closes them.
 */
export function mergeDetails(pieces: readonly ReasoningDetail[]): ReasoningDetail[] {
  const merged: ReasoningDetail[] = [];
  for (const piece of pieces) {
    const last = merged.at(-1);
    const continues =
      piece.type === 'reasoning.text' &&
      last?.type === 'reasoning.text' &&
      last.signature == null &&
      (last.index ?? undefined) === (piece.index ?? undefined);
    if (!continues) merged.push(piece);
    else merged[merged.length - 1] = { ...last, ...piece, text: (last.text ?? '') + (piece.text ?? '') };
  }
  return merged;
}

/** Returns the fields that show reasoning: some clients read it under one name, and some under the other. */
export const reasoningFields = (
  text: string | undefined,
): { readonly reasoning?: string; readonly reasoning_content?: string } =>
  text === undefined ? {} : { reasoning: text, reasoning_content: text };

/** Reads the `reasoning_details` of a provider of OpenRouter's shape. Pieces in another form are dropped. */
export const readDetails = (value: unknown): readonly ReasoningDetail[] =>
  (asArray(value) ?? []).flatMap((entry) => {
    const read = reasoningDetailSchema.safeParse(entry);
    return read.success ? [read.data] : [];
  });

/** Returns the trace that details hold in clear. Undefined if they hold none. */
export function textOfDetails(details: readonly ReasoningDetail[]): string | undefined {
  const texts = details.map((detail) =>
    detail.type === 'reasoning.text' ? detail.text : detail.type === 'reasoning.summary' ? detail.summary : undefined,
  );
  return texts.some((text) => text) ? texts.join('') : undefined;
}

/** Returns the details for the client. If the trace is hidden, these are only the ones that the provider alone can read. */
export const shownDetails = (details: readonly ReasoningDetail[], stripReasoning: boolean): ReasoningDetail[] =>
  details.filter((detail) => !stripReasoning || isEncrypted(detail));

export const isEncrypted = ({ type }: ReasoningDetail): boolean => type === 'reasoning.encrypted';

/** The field of a message or a delta that holds details, if there are any. */
export const detailsField = (details: ReasoningDetail[]): { readonly reasoning_details?: ReasoningDetail[] } =>
  details.length === 0 ? {} : { reasoning_details: details };
