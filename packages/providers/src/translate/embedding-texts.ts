import type { EmbeddingsRequest } from '@sotto/wire';
import type { UnsupportedRequest } from '../adapter.ts';

/** Returns the texts of an embeddings request, for APIs that accept only texts and limit their number. */
export function embeddingTexts({ input }: EmbeddingsRequest, most: number): readonly string[] | UnsupportedRequest {
  const texts = (typeof input === 'string' ? [input] : input).filter((entry) => typeof entry === 'string');
  if (typeof input !== 'string' && texts.length !== input.length) {
    return { unsupported: '`input` must be text for this model: it takes no token arrays.', param: 'input' };
  }
  if (texts.length > most) {
    return { unsupported: `\`input\` must be at most ${most} texts for this model.`, param: 'input' };
  }
  return texts;
}
