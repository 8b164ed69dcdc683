import { readJsonBody } from '@sotto/http';
import { holdOf, imageBounds, noNeeds, noTokens, planRequest } from '@sotto/router';
import { type ImageRequest, imageRequestSchema, imageSettings, imagesAnswerAround, parseRequest } from '@sotto/wire';
import type { FastifyInstance } from 'fastify';
import type { AdmissionQuestion } from '../admission/admit.ts';
import { credentialFirst } from '../admission/credential-first.ts';
import { answerInPieces } from '../answers/pieced-answer.ts';
import { tryWhole } from '../attempts/try-whole.ts';
import type { InferenceDependencies } from '../deps.ts';
import { InferenceRequest } from '../inference-request.ts';
import type { ProviderSet } from '../providers/provider-set.ts';
import { servedAtFlatPrice } from '../settlement/flat-usage.ts';

interface ImageQuestion extends AdmissionQuestion {
  readonly image: ImageRequest;
}

/** The largest image of the interface, uncompressed and as base64, is two thirds of this. */
const maxBytes = 32 * 1024 * 1024;

/** `POST /v1/images/generations`, by ticket only. */
export function registerImages(app: FastifyInstance, deps: InferenceDependencies): void {
  app.post('/v1/images/generations', credentialFirst(deps, 'image'), async (request, reply) => {
    const read = (): ImageQuestion => readImageQuestion(readJsonBody(request.body), deps.providers);
    await InferenceRequest.run(deps, 'image', { request, reply }, read, (inference, question) =>
      serveImage(inference, question.image),
    );
    return reply;
  });
}

function readImageQuestion(body: object, providers: ProviderSet): ImageQuestion {
  const image = parseRequest(imageRequestSchema, body);
  const { model, provider } = image;
  const needs = noNeeds('image');
  return {
    image,
    needs,
    size: noTokens,
    bindings: { operation: 'image', model, provider, reasoning: {}, media: imageSettings(image) },
    plan: (context) => planRequest(image, needs, context),
    holdOf: (attempts) => holdOf(attempts, noTokens, imageBounds),
    bounds: imageBounds,
    totalMs: (first) => providers.get(first.providerId)?.entry.timeouts.total_ms ?? 600_000,
  };
}

async function serveImage(inference: InferenceRequest, image: ImageRequest): Promise<void> {
  const { deps } = inference;
  const tried = await tryWhole(inference, {
    ask({ upstreamModel }, { adapter: { images }, entry }) {
      if (images === undefined) return { unsupported: 'The provider of this model makes no images.', param: 'model' };
      const request = images.request(image, { upstreamModel, responseFormat: entry.request.image_response_format });
      return { request, reader: images.openReader() };
    },
    maxBytes,
    abandoned: ({ route }) => servedAtFlatPrice(route, { images: 1 }),
  });
  if (tried === undefined) return;

  const { route, tookMs, success } = tried;
  await inference.settlement.settle('completed', servedAtFlatPrice(route, { images: 1 }));
  inference.measure(route, { kind: 'answered', ttftMs: tookMs });
  const { base64, mimeType } = success.answer;
  const { head, tail } = imagesAnswerAround({ created: Math.floor(deps.now() / 1000), model: route.modelId, mimeType });
  await answerInPieces(inference, route, [head, ...base64, tail]);
}
