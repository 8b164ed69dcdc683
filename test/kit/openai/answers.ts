import type { ChatCompletion, ChatCompletionChunk } from 'openai/resources/chat/completions';
import type { CreateEmbeddingResponse, Embedding } from 'openai/resources/embeddings';
import type { ImagesResponse } from 'openai/resources/images';
import type { Model } from 'openai/resources/models';
import type { Response } from 'openai/resources/responses/responses';
import type { ErrorObject } from 'openai/resources/shared';

/** The answers of OpenAI's API, by OpenAI's own types. The tests generate their JSON schemas from this. */
export interface OpenAiAnswers {
  readonly chat: ChatCompletion;
  readonly chunk: ChatCompletionChunk;
  readonly embeddings: Omit<CreateEmbeddingResponse, 'data'> & { readonly data: readonly EmbeddingOrBase64[] };
  readonly images: ImagesResponse;
  readonly response: Omit<Response, 'output_text'>;
  readonly models: { readonly object: 'list'; readonly data: readonly Model[] };
  readonly error: { readonly error: ErrorObject };
}

/** The types of the package lack the base64 that `encoding_format: 'base64'` returns. */
interface EmbeddingOrBase64 extends Omit<Embedding, 'embedding'> {
  readonly embedding: Embedding['embedding'] | string;
}
