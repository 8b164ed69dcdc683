import { readJsonBody } from '@sotto/http';
import { nusdToUsd } from '@sotto/money';
import { embeddingBounds, holdOf, measureEmbeddings, planRequest } from '@sotto/router';
import { type EmbeddingsRequest, embeddingsAnswerPieces, embeddingsRequestSchema, parseRequest } from '@sotto/wire';
import type { FastifyInstance } from 'fastify';
import type { AdmissionQuestion } from '../admission/admit.ts';
import { answerInPieces } from '../answers/pieced-answer.ts';
import { shownUsage } from '../answers/shown-usage.ts';
import { tryWhole } from '../attempts/try-whole.ts';
import type { InferenceDependencies } from '../deps.ts';
import { InferenceRequest } from '../inference-request.ts';
import type { ProviderSet } from '../providers/provider-set.ts';

interface EmbeddingsQuestion extends AdmissionQuestion {
  readonly embeddings: EmbeddingsRequest;
}

/** `POST /v1/embeddings` (interface 4.1), in both flows. */
export function registerEmbeddings(app: FastifyInstance, deps: InferenceDependencies): void {
  app.post('/v1/embeddings', async (request, reply) => {
    let question: EmbeddingsQuestion | undefined;
    const read = (): EmbeddingsQuestion => {
      question = readEmbeddingsQuestion(readJsonBody(request.body), deps.providers);
      return question;
    };
    await InferenceRequest.run(deps, 'embeddings', { request, reply }, read, async (inference) => {
      if (question === undefined) throw new Error('served without a question');
      await serveEmbeddings(inference, question);
    });
    return reply;
  });
}

function readEmbeddingsQuestion(body: object, providers: ProviderSet): EmbeddingsQuestion {
  const embeddings = parseRequest(embeddingsRequestSchema, body);
  const { model, provider } = embeddings;
  const { needs, size } = measureEmbeddings(embeddings);
  return {
    embeddings,
    needs,
    size,
    bindings: { operation: 'embeddings', model, provider, reasoning: {} },
    plan: (context) => planRequest(embeddings, needs, context),
    holdOf: (attempts) => holdOf(attempts, size, embeddingBounds),
    totalMs: (first) => providers.get(first.providerId)?.entry.timeouts.total_ms ?? 600_000,
  };
}

const maxBytes = 64 * 1024 * 1024;
/** Every provider would answer as much: asking another buys the same vectors again. */
const tooLarge = {
  outcome: 'invalid_request',
  message:
    'The vectors of so many inputs are too large for one answer. Send fewer inputs, or ask for `encoding_format: "base64"`, which takes about a quarter of the room.',
  param: 'input',
} as const;

async function serveEmbeddings(inference: InferenceRequest, { embeddings, size }: EmbeddingsQuestion): Promise<void> {
  const tried = await tryWhole(inference, {
    ask(route, { adapter }) {
      // The registry's fixed fields are those of chat requests.
      const request = adapter.embeddingsRequest(embeddings, { upstreamModel: route.upstreamModel, extraBody: {} });
      if ('unsupported' in request) return request;
      return { request, reader: adapter.openEmbeddings(embeddings) };
    },
    maxBytes,
    tooLarge,
  });
  if (tried === undefined) return;

  const { route, tookMs, success } = tried;
  const { answer, reported } = success;
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
