import type { EmbeddingsRequest } from '@sotto/wire';
import { type Adapter, BufferedReader, type UnsupportedRequest } from '../adapter.ts';

const nothing = (what: string): UnsupportedRequest => ({
  unsupported: `This provider's API has no ${what}. Choose another provider of the model.`,
  param: 'model',
});

/** Part of an adapter whose API does not offer embeddings. */
export const withoutEmbeddings: Pick<Adapter, 'embeddingsRequest' | 'openEmbeddings'> = {
  embeddingsRequest: () => nothing('embeddings'),
  openEmbeddings: () => new BufferedReader(() => ({ ok: false, outcome: 'malformed_answer' })),
};

/** Part of an adapter that does not offer chat. */
export const withoutChat: Pick<Adapter, 'callerParameters' | 'chatRequest' | 'readChat' | 'openChatStream'> = {
  callerParameters: {},
  chatRequest: () => nothing('chat'),
  readChat: () => ({ ok: false, outcome: 'malformed_answer' }),
  openChatStream: () => {
    throw new Error('no stream can arrive: this API got no request');
  },
};

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
