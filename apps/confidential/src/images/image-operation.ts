import { holdOf, imageBounds, noNeeds, noTokens, planRequest } from '@sotto/router';
import { readJsonBody } from '@sotto/server';
import { type ImageRequest, imageRequestSchema, imageSettings, imagesAnswerAround, parseRequest } from '@sotto/wire';
import type { AdmissionQuestion } from '../admission/admit.ts';
import { beginWhole } from '../attempts/begin-attempt.ts';
import { unsupportedAttempt } from '../attempts/try-routes.ts';
import type { Operation } from '../inference/operation.ts';
import { servedAtFlatPrice } from '../settlement/served.ts';

interface ImageQuestion extends AdmissionQuestion {
  readonly image: ImageRequest;
}

/** The largest image of the API, uncompressed and as base64, takes two thirds of this. */
const maxBytes = 32 * 1024 * 1024;

/** Images: one picture, as base64. */
export const imageOperation: Operation<ImageQuestion> = {
  name: 'image',
  ticketOnly: 'Image generation',
  read: ({ body }) => readImageQuestion(readJsonBody(body)),
  attempt({ image }, { route, provider: { adapter, upstream, entry }, limits, identity }) {
    const { images } = adapter;
    if (images === undefined) {
      return unsupportedAttempt({ unsupported: 'The provider of this model makes no images.', param: 'model' });
    }
    const target = { upstreamModel: route.upstreamModel, responseFormat: entry.request.image_response_format };
    return beginWhole({
      ...{ adapter, upstream, limits, maxBytes },
      request: images.request(image, target),
      reader: images.openReader(),
      success: ({ answer: { base64, mimeType } }) => ({
        served: () => servedAtFlatPrice(route, { images: 1 }),
        pieces() {
          const { head, tail } = imagesAnswerAround({ created: identity.created, model: route.modelId, mimeType });
          return [head, ...base64, tail];
        },
        measured: ({ tookMs }) => ({ kind: 'answered', ttftMs: tookMs }),
      }),
    });
  },
  abandoned: (_question, { route }) => servedAtFlatPrice(route, { images: 1 }),
};

function readImageQuestion(body: object): ImageQuestion {
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
    forget() {
      image.prompt = '';
    },
  };
}
