import { nusdToUsd } from '@sotto/money';
import { shownUsage, type UnsupportedRequest } from '@sotto/providers';
import { embeddingBounds, holdOf, measureEmbeddings, planRequest, type Route } from '@sotto/router';
import { readJsonBody } from '@sotto/server';
import {
  countEmbeddingInputs,
  type EmbeddingsRequest,
  embeddingsAnswerPieces,
  embeddingsRequestSchema,
  parseRequest,
  ServiceError,
} from '@sotto/wire';
import type { AdmissionQuestion } from '../admission/admit.ts';
import type { AttemptFailure } from '../attempts/attempt.ts';
import { beginWhole } from '../attempts/begin-attempt.ts';
import { unsupportedAttempt } from '../attempts/try-routes.ts';
import type { Operation } from '../inference/operation.ts';
import { type Served, servedByTokens } from '../settlement/served.ts';

/** Embeddings: a vector for each input. */
export function embeddingsOperation(): Operation<EmbeddingsQuestion> {
  /** By route ID: the vector length of its last answer to a request that did not ask for a length. */
  const dimensionsOf = new Map<string, number>();
  return {
    name: 'embeddings',
    read: ({ body }) => readEmbeddingsQuestion(readJsonBody(body)),
    attempt(question, { route, provider: { adapter, upstream }, limits }) {
      const { embeddings, size } = question;
      const { dimensions } = embeddings;
      // `dimensions` in a request were already checked when its body was read.
      const learned = dimensions == null ? dimensionsOf.get(route.id) : undefined;
      const tooMany = learned === undefined ? undefined : tooManyVectors(embeddings, learned);
      if (tooMany !== undefined) return unsupportedAttempt(tooMany);
      // The registry's fixed fields are for chat requests only.
      const request = adapter.embeddingsRequest(embeddings, { upstreamModel: route.upstreamModel, extraBody: {} });
      if ('unsupported' in request) return unsupportedAttempt(request);
      return beginWhole({
        ...{ adapter, upstream, limits, request },
        reader: adapter.openEmbeddings(embeddings),
        maxBytes: maxAnswerBytes,
        tooLarge: tooLargeAnswer(embeddings, () => servedByTokens(question, route, { producedBytes: 0 })),
        success: ({ answer, reported }) => ({
          served() {
            if (dimensions == null) dimensionsOf.set(route.id, answer.dimensions);
            return servedByTokens(question, route, { reported: reported?.usage, producedBytes: 0 });
          },
          pieces({ usage, chargeNusd }) {
            const promptTokens = usage.promptTokens || size.promptTokensLikely;
            const { completion_tokens: _, ...shown } = shownUsage(reported, { ...usage, promptTokens });
            const shownWithCost = { ...shown, cost: nusdToUsd(chargeNusd) };
            return embeddingsAnswerPieces({ ...answer, model: route.modelId, usage: shownWithCost });
          },
          measured: ({ tookMs }) => ({ kind: 'answered', ttftMs: tookMs }),
        }),
      });
    },
    abandoned: (question, { route }) => servedByTokens(question, route, { producedBytes: 0 }),
  };
}

interface EmbeddingsQuestion extends AdmissionQuestion {
  readonly embeddings: EmbeddingsRequest;
}

/** Reads the body of `POST /embeddings` for admission and the attempts. Throws if it is invalid. */
export function readEmbeddingsQuestion(body: object): EmbeddingsQuestion {
  const embeddings = parseRequest(embeddingsRequestSchema, body);
  const { model, provider, dimensions } = embeddings;
  const tooMany = dimensions == null ? undefined : tooManyVectors(embeddings, dimensions);
  if (tooMany !== undefined) {
    throw new ServiceError('invalid_request', { message: tooMany.unsupported, param: tooMany.param });
  }
  const { needs, size } = measureEmbeddings(embeddings);
  const bounds = (route: Route) => embeddingBounds(route, size);
  return {
    embeddings,
    needs,
    size,
    bindings: { operation: 'embeddings', model, provider, reasoning: {} },
    plan: (context) => planRequest(embeddings, needs, context),
    holdOf: (attempts) => holdOf(attempts, size, bounds),
    bounds,
    forget() {
      embeddings.input = [];
    },
  };
}

/** The longest answer in bytes, as a provider sends it. */
const maxAnswerBytes = 64 * 1024 * 1024;
/**
 * Bytes per number of a vector. As text with its comma, few providers write fewer; as base64, it is exactly this many.
 */
const leastNumberBytes = { float: 11, base64: 16 / 3 } as const;
/** The most bytes that a provider writes for one number, with the space around it. */
const mostNumberBytes = 64;
/** The longest vector that a model makes. */
const mostDimensions = 65_536;

/** Returns the refusal of a request whose vectors cannot fit into one answer, before any provider works for it. */
function tooManyVectors(embeddings: EmbeddingsRequest, dimensions: number): UnsupportedRequest | undefined {
  const inputs = countEmbeddingInputs(embeddings.input);
  const vectorBytes = dimensions * leastNumberBytes[embeddings.encoding_format ?? 'float'];
  if (inputs * vectorBytes <= maxAnswerBytes) return undefined;
  return {
    unsupported: `\`input\` asks for ${inputs} vectors of ${dimensions} numbers, too many for one answer. Send at most ${Math.floor(maxAnswerBytes / vectorBytes)} inputs${instead(embeddings)}.`,
    param: 'input',
  };
}

/**
 * Returns the failure for an answer that is too large. If the request could ask for that much, every provider would
 * answer as much. No other is tried, and the client pays for the `work`. Otherwise the provider is at fault.
 */
function tooLargeAnswer(embeddings: EmbeddingsRequest, work: () => Served): AttemptFailure {
  const inputs = countEmbeddingInputs(embeddings.input);
  const isAskedFor = inputs * (embeddings.dimensions ?? mostDimensions) * mostNumberBytes >= maxAnswerBytes;
  if (!isAskedFor) return { outcome: 'malformed_answer' };
  return {
    outcome: 'invalid_request',
    message: `The vectors of so many inputs are too large for one answer, and were charged. Send fewer inputs${instead(embeddings)}.`,
    param: 'input',
    spent: work(),
  };
}

const instead = ({ encoding_format: format }: EmbeddingsRequest): string =>
  format === 'base64' ? '' : ', or ask for `encoding_format: "base64"`, which takes half of the room or less';
