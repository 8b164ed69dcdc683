import type { EmbeddingsRequest } from '@sotto/wire';
import type { AnswerReader, EmbeddingsResult, UpstreamRequest, UpstreamTarget } from '../adapter.ts';
import { asArray, asObject } from '../json.ts';
import { VectorsReader } from '../vectors-reader.ts';
import { classifyEmbeddedError, embeddedError } from './classify-failure.ts';
import { readUsage } from './usage.ts';

export function embeddingsRequest(request: EmbeddingsRequest, target: UpstreamTarget): UpstreamRequest {
  const body = {
    ...target.extraBody,
    model: target.upstreamModel,
    input: request.input,
    encoding_format: request.encoding_format ?? undefined,
    dimensions: request.dimensions ?? undefined,
  };
  return { path: '/embeddings', body: JSON.stringify(body), accept: 'application/json' };
}

/** Reads vectors as OpenAI's `POST /embeddings` answers them. */
export const openEmbeddings = (request: EmbeddingsRequest): AnswerReader<EmbeddingsResult> =>
  new VectorsReader(request, (answer) => {
    const error = embeddedError(answer);
    return {
      failure: error === undefined ? undefined : classifyEmbeddedError(error),
      entries: asArray(answer.data)?.map((entry) => {
        const { embedding: vector, index } = asObject(entry) ?? {};
        return { vector, index };
      }),
      reported: readUsage(answer.usage, { hasCompletion: false }),
    };
  });
