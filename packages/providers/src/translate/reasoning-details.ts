import type { ReasoningDetail } from '@sotto/wire';

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
