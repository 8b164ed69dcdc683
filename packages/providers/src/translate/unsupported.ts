import type { Adapter } from '../adapter.ts';
import { BufferedReader } from '../buffered-reader.ts';
import { TranslatedStream } from './translated-stream.ts';

const nothing = (what: string, param: string) => ({
  unsupported: `This provider's API has no ${what}. Choose another provider of the model.`,
  param,
});

/** Part of an adapter whose API does not offer embeddings. */
export const withoutEmbeddings: Pick<Adapter, 'embeddingsRequest' | 'openEmbeddings'> = {
  embeddingsRequest: () => nothing('embeddings', 'model'),
  openEmbeddings: () => new BufferedReader(() => ({ ok: false, outcome: 'malformed_answer' })),
};

/** Part of an adapter that does not offer chat. */
export const withoutChat: Pick<Adapter, 'callerParameters' | 'chatRequest' | 'readChat' | 'openChatStream'> = {
  callerParameters: {},
  chatRequest: () => nothing('chat', 'model'),
  readChat: () => ({ ok: false, outcome: 'malformed_answer' }),
  openChatStream: (options) => new SilentStream(options),
};

/** Rejects all input, because no request was sent. */
class SilentStream extends TranslatedStream {
  protected override take(): void {
    this.fail('malformed_answer');
  }

  protected override close(): void {
    this.fail('malformed_answer');
  }
}
