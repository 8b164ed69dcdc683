import { type AttemptOutcome, outcomeOfStatus } from '@sotto/router';
import type { EmbeddingsRequest } from '@sotto/wire';
import {
  type Adapter,
  type AnswerReader,
  bearer,
  type EmbeddingsResult,
  type UnsupportedRequest,
  type UpstreamRequest,
  type UpstreamTarget,
} from '../adapter.ts';
import { asArray, asCount, asObject, jsonBody } from '../json.ts';
import { promptUsage } from '../openai/usage.ts';
import { embeddingTexts, withoutChat } from '../translate/unsupported.ts';
import { VectorsReader } from '../vectors-reader.ts';

/** The most texts that one call may have. */
const mostTexts = 96;

/**
 * The adapter of Cohere's embeddings. `base_url`: `https://api.cohere.com/v2`. Cohere's chat uses OpenAI's shape at
 * another address, so it uses the `openai` adapter.
 */
export const cohereAdapter: Adapter = {
  ...withoutChat,
  headers: bearer,
  embeddingsRequest,
  openEmbeddings,
  classifyFailure,
};

/** @see https://docs.cohere.com/reference/embed */
function embeddingsRequest(request: EmbeddingsRequest, target: UpstreamTarget): UpstreamRequest | UnsupportedRequest {
  const texts = embeddingTexts(request, mostTexts);
  if ('unsupported' in texts) return texts;
  const body = {
    ...target.extraBody,
    model: target.upstreamModel,
    texts,
    // OpenAI's shape does not state the purpose of the vectors. This is the most common one.
    input_type: 'search_document',
    embedding_types: ['float'],
    // Refuse a text that is too long instead of silently truncating it.
    truncate: 'NONE',
    output_dimension: request.dimensions ?? undefined,
  };
  return { path: '/embed', body: jsonBody(body), accept: 'application/json' };
}

function openEmbeddings(request: EmbeddingsRequest): AnswerReader<EmbeddingsResult> {
  return new VectorsReader(request, ({ embeddings, meta }) => ({
    entries: asArray(asObject(embeddings)?.float)?.map((vector) => ({ vector })),
    reported: promptUsage(asCount(asObject(asObject(meta)?.billed_units)?.input_tokens)),
  }));
}

/** @see https://docs.cohere.com/reference/errors: 498 is a refused content, 499 a call that this service ended. */
function classifyFailure(status: number): AttemptOutcome {
  return status === 498 ? 'content_refused' : (outcomeOfStatus(status) ?? 'malformed_answer');
}
