import type { EmbeddingsRequest } from '@sotto/wire';
import type {
  AnswerIdentity,
  AnswerReading,
  EmbeddingsResult,
  UnsupportedRequest,
  UpstreamRequest,
  UpstreamTarget,
} from '../adapter.ts';
import { asArray, asCount, asObject, parseJson } from '../json.ts';
import { readEmbeddings } from '../openai/embeddings.ts';
import { embeddingTexts } from '../translate/embedding-texts.ts';
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
export function readEmbedded(
  body: Buffer,
  request: EmbeddingsRequest,
  identity: AnswerIdentity,
): AnswerReading<EmbeddingsResult> {
  const raw = asObject(parseJson(body.toString('utf8')));
  if (raw?.error !== undefined) return { ok: false, outcome: classifyEmbedded(raw.error) };
  const data = asArray(raw?.embeddings)?.map((entry) => ({ embedding: asObject(entry)?.values }));
  const prompt = asCount(asObject(raw?.usageMetadata)?.promptTokenCount);
  const usage = prompt === undefined ? undefined : { prompt_tokens: prompt, total_tokens: prompt };
  return readEmbeddings(Buffer.from(JSON.stringify({ data, usage })), request, identity);
}
