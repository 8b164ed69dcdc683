import { readJsonBody } from '@sotto/http';
import { nusdToUsd } from '@sotto/money';
import type { EmbeddingsResult } from '@sotto/providers';
import { embeddingBounds, holdOf, measureEmbeddings, planRequest } from '@sotto/router';
import { type EmbeddingsRequest, embeddingsRequestSchema, parseRequest } from '@sotto/wire';
import type { FastifyInstance } from 'fastify';
import type { AdmissionQuestion } from '../admission/admit.ts';
import { answerJson } from '../answers/json-answer.ts';
import { shownUsage } from '../answers/shown-usage.ts';
import { JsonAttempt, type JsonResult } from '../attempts/json-attempt.ts';
import { unsupportedAttempt } from '../attempts/try-routes.ts';
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

async function serveEmbeddings(inference: InferenceRequest, { embeddings, size }: EmbeddingsQuestion): Promise<void> {
  const tried = await inference.try<Extract<JsonResult<EmbeddingsResult>, { ok: true }>>(
    (route, provider, hasSuccessor) => {
      const { adapter, upstream, entry } = provider;
      // The registry's fixed fields are those of chat requests.
      const request = adapter.embeddingsRequest(embeddings, { upstreamModel: route.upstreamModel, extraBody: {} });
      if ('unsupported' in request) return unsupportedAttempt(request);
      let attempt: JsonAttempt<EmbeddingsResult> | undefined;
      const result = new Promise<JsonResult<EmbeddingsResult>>((resolve) => {
        attempt = new JsonAttempt({
          adapter,
          limits: inference.limitsOf(entry.timeouts, hasSuccessor),
          read: (body) => adapter.readEmbeddings(body, embeddings, { id: '', created: 0, model: route.modelId }),
          onResult: resolve,
        });
        attempt.start(upstream, request);
      }).then((read) => (read.ok ? { ok: true as const, success: read } : read));
      return { result, abort: () => attempt?.abort() };
    },
  );
  if (tried.end === 'client_left') return inference.logged(499, undefined, 'client_left');
  if (tried.end === 'refused') return inference.refuse(tried.error);

  const { route, tookMs, success } = tried;
  const { answer, reported } = success.reading;
  const { usage, chargeNusd } = await inference.settlement.settle('completed', inference.served(route, reported, 0));
  inference.measure(route, { kind: 'answered', ttftMs: tookMs });
  const { completion_tokens: _, ...shown } = shownUsage(reported, {
    ...usage,
    promptTokens: usage.promptTokens || size.promptTokensLikely,
  });
  answerJson(inference, route, { ...answer, usage: { ...shown, cost: nusdToUsd(chargeNusd) } });
}
