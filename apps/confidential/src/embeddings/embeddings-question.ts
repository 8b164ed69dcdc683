import { embeddingBounds, holdOf, measureEmbeddings, planRequest } from '@sotto/router';
import { type EmbeddingsRequest, embeddingsRequestSchema, parseRequest, ServiceError } from '@sotto/wire';
import type { AdmissionQuestion } from '../admission/admit.ts';
import type { ProviderSet } from '../providers/provider-set.ts';
import { tooManyVectors } from './vectors-size.ts';

export interface EmbeddingsQuestion extends AdmissionQuestion {
  readonly embeddings: EmbeddingsRequest;
}

/** Reads the body of `POST /embeddings` into what admission and the attempts need. Throws what is wrong with it. */
export function readEmbeddingsQuestion(body: object, providers: ProviderSet): EmbeddingsQuestion {
  const embeddings = parseRequest(embeddingsRequestSchema, body);
  const { model, provider, dimensions } = embeddings;
  const tooMany = dimensions == null ? undefined : tooManyVectors(embeddings, dimensions);
  if (tooMany !== undefined) {
    throw new ServiceError('invalid_request', { message: tooMany.unsupported, param: tooMany.param });
  }
  const { needs, size } = measureEmbeddings(embeddings);
  return {
    embeddings,
    needs,
    size,
    bindings: { operation: 'embeddings', model, provider, reasoning: {} },
    plan: (context) => planRequest(embeddings, needs, context),
    holdOf: (attempts) => holdOf(attempts, size, embeddingBounds),
    bounds: (route) => embeddingBounds(route, size),
    totalMs: (first) => providers.get(first.providerId)?.entry.timeouts.total_ms ?? 600_000,
  };
}
