import { readJsonBody } from '@sotto/http';
import { nusdToUsd } from '@sotto/money';
import { shownUsage } from '@sotto/providers';
import type { Route } from '@sotto/router';
import { embeddingsAnswerPieces } from '@sotto/wire';
import type { FastifyInstance } from 'fastify';
import { credentialFirst } from '../admission/credential-first.ts';
import { answerInPieces } from '../answers/pieced-answer.ts';
import { tryWhole } from '../attempts/try-whole.ts';
import type { InferenceDependencies } from '../deps.ts';
import { InferenceRequest } from '../inference-request.ts';
import type { Served } from '../settlement/request-settlement.ts';
import { type EmbeddingsQuestion, readEmbeddingsQuestion } from './embeddings-question.ts';
import { maxAnswerBytes, tooLargeAnswer, tooManyVectors } from './vectors-size.ts';

/** `POST /v1/embeddings`, in both flows. */
export function registerEmbeddings(app: FastifyInstance, deps: InferenceDependencies): void {
  /** By route id: the length of its vectors where a request does not ask for one, as its last answer had them. */
  const dimensionsOf = new Map<string, number>();
  app.post('/v1/embeddings', credentialFirst(deps, 'embeddings'), async (request, reply) => {
    const read = (): EmbeddingsQuestion => readEmbeddingsQuestion(readJsonBody(request.body), deps.providers);
    await InferenceRequest.run(deps, 'embeddings', { request, reply }, read, (inference, question) =>
      serveEmbeddings(inference, question, dimensionsOf),
    );
    return reply;
  });
}

async function serveEmbeddings(
  inference: InferenceRequest,
  { embeddings, size }: EmbeddingsQuestion,
  dimensionsOf: Map<string, number>,
): Promise<void> {
  const work = (route: Route): Served => inference.served(route, undefined, 0);
  const tried = await tryWhole(inference, {
    ask(route, { adapter }) {
      // The reading of the body has judged the `dimensions` that a request names.
      const learned = embeddings.dimensions == null ? dimensionsOf.get(route.id) : undefined;
      const tooMany = learned === undefined ? undefined : tooManyVectors(embeddings, learned);
      if (tooMany !== undefined) return tooMany;
      // The registry's fixed fields are those of chat requests.
      const request = adapter.embeddingsRequest(embeddings, { upstreamModel: route.upstreamModel, extraBody: {} });
      if ('unsupported' in request) return request;
      return { request, reader: adapter.openEmbeddings(embeddings) };
    },
    maxBytes: maxAnswerBytes,
    tooLarge: (route) => tooLargeAnswer(embeddings, () => work(route)),
    abandoned: ({ route }) => work(route),
  });
  if (tried === undefined) return;

  const { route, tookMs, success } = tried;
  const { answer, reported } = success;
  if (embeddings.dimensions == null) dimensionsOf.set(route.id, answer.dimensions);
  const { usage, chargeNusd } = await inference.settlement.settle('completed', inference.served(route, reported, 0));
  inference.measure(route, { kind: 'answered', ttftMs: tookMs });
  const { completion_tokens: _, ...shown } = shownUsage(reported, {
    ...usage,
    promptTokens: usage.promptTokens || size.promptTokensLikely,
  });
  const shownWithCost = { ...shown, cost: nusdToUsd(chargeNusd) };
  const pieces = embeddingsAnswerPieces({ ...answer, model: route.modelId, usage: shownWithCost });
  await answerInPieces(inference, route, pieces);
}
