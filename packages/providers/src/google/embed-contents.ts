import type { EmbeddingsRequest } from '@sotto/wire';
import type {
  AnswerReader,
  EmbeddingsResult,
  UnsupportedRequest,
  UpstreamRequest,
  UpstreamTarget,
} from '../adapter.ts';
import { asArray, asCount, asObject } from '../json.ts';
import { promptUsage } from '../openai/usage.ts';
import { embeddingTexts } from '../translate/embedding-texts.ts';
import { VectorsReader } from '../vectors-reader.ts';
import { classifyEmbedded } from './classify-failure.ts';

/** The most texts of one call. */
const mostTexts = 100;

/** @see https://ai.google.dev/api/embeddings#method:-models.batchembedcontents */
export function embedRequest(request: EmbeddingsRequest, target: UpstreamTarget): UpstreamRequest | UnsupportedRequest {
  const texts = embeddingTexts(request, mostTexts);
  if ('unsupported' in texts) return texts;
  const model = `models/${target.upstreamModel}`;
  const requests = texts.map((text) => ({
    model,
    content: { parts: [{ text }] },
    outputDimensionality: request.dimensions ?? undefined,
  }));
  return {
    path: `/models/${encodeURIComponent(target.upstreamModel)}:batchEmbedContents`,
    body: JSON.stringify({ requests }),
    accept: 'application/json',
  };
}

/** Reads the vectors, in the order of the texts. What they cost in tokens is not always told. */
export const openEmbedded = (request: EmbeddingsRequest): AnswerReader<EmbeddingsResult> =>
  new VectorsReader(
    request,
    ({ error, embeddings, usageMetadata }) => ({
      failure: error === undefined ? undefined : classifyEmbedded(error),
      entries: asArray(embeddings)?.map((entry) => ({ vector: asObject(entry)?.values })),
      reported: promptUsage(asCount(asObject(usageMetadata)?.promptTokenCount)),
    }),
    // Those that are cut to fewer dimensions come as they are cut.
    { scales: true },
  );
