import { type AttemptOutcome, outcomeOfStatus } from '@sotto/router';
import type { EmbeddingsRequest } from '@sotto/wire';
import type {
  Adapter,
  AnswerReader,
  EmbeddingsResult,
  UnsupportedRequest,
  UpstreamRequest,
  UpstreamTarget,
} from '../adapter.ts';
import { bearer } from '../bearer.ts';
import { asArray, asCount, asObject } from '../json.ts';
import { promptUsage } from '../openai/usage.ts';
import { embeddingTexts } from '../translate/embedding-texts.ts';
import { withoutChat } from '../translate/unsupported.ts';
import { VectorsReader } from '../vectors-reader.ts';

/** The most texts of one call. */
const mostTexts = 96;

/**
 * The adapter of Cohere's embeddings. `base_url`: `https://api.cohere.com/v2`. Its chat speaks the shape of OpenAI, at
 * another address and with the adapter of that name.
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
    // The shape of OpenAI does not say what the vectors are for; this is what most of them are for.
    input_type: 'search_document',
    embedding_types: ['float'],
    // A text that is too long is refused, not cut in silence.
    truncate: 'NONE',
    output_dimension: request.dimensions ?? undefined,
  };
  return { path: '/embed', body: JSON.stringify(body), accept: 'application/json' };
}

function openEmbeddings(request: EmbeddingsRequest): AnswerReader<EmbeddingsResult> {
  return new VectorsReader(request, ({ embeddings, meta }) => ({
    entries: asArray(asObject(embeddings)?.float)?.map((vector) => ({ vector })),
    reported: promptUsage(asCount(asObject(asObject(meta)?.billed_units)?.input_tokens)),
  }));
}

/** @see https://docs.cohere.com/reference/errors: 498 is a refusal of the content, 499 a call that we ended. */
function classifyFailure(status: number): AttemptOutcome {
  return status === 498 ? 'content_refused' : (outcomeOfStatus(status) ?? 'malformed_answer');
}
