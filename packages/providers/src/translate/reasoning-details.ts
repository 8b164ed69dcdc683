import type { ReasoningDetail } from '@sotto/wire';

/** Whose reasoning details these are. The names are those that OpenRouter's clients know. */
export const detailFormats = {
  anthropic: 'anthropic-claude-v1',
  bedrock: 'amazon-bedrock-v1',
  google: 'google-gemini-v1',
} as const;

/**
 * Puts pieces together that a stream brought apart, for clients that kept them as they came: texts of one index, up to
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
