import type { AttemptOutcome } from '@sotto/router';
import type { EmbeddingsRequest, SpeechRequest } from '@sotto/wire';
import {
  type Adapter,
  type AnswerReader,
  bearer,
  type EmbeddingsResult,
  type SpeechAdapter,
  type SpeechTarget,
  type UpstreamRequest,
  type UpstreamTarget,
} from '../adapter.ts';
import type { CallerParameters } from '../caller-parameters.ts';
import { asArray, asObject, jsonBody, objectIn } from '../json.ts';
import { VectorsReader } from '../vectors-reader.ts';
import { chatRequest } from './chat-request.ts';
import { OpenAiChatStream } from './chat-stream.ts';
import { classifyFailure, embeddedFailure } from './classify-failure.ts';
import { openAiImages } from './images.ts';
import { readChat } from './read-chat.ts';
import { readUsage } from './usage.ts';

/**
 * The further parameters that servers of OpenAI's shape accept: how to sample tokens, which tokens to allow, and how to
 * write them. None of them changes a price, the number of answers or the data that a provider keeps, and none runs
 * code.
 *
 * @see https://docs.vllm.ai/en/stable/serving/openai_compatible_server/#extra-parameters and the API references of
 *   OpenAI, Mistral, Groq, Fireworks and Together
 */
const openAiParameters: CallerParameters = {
  allowed_token_ids: true,
  bad_words: true,
  context_length_exceeded_behavior: true,
  include_reasoning: true,
  include_stop_str_in_output: true,
  logit_bias: true,
  min_p: true,
  min_tokens: true,
  mirostat_lr: true,
  mirostat_target: true,
  random_seed: true,
  reasoning_format: true,
  repetition_penalty: true,
  skip_special_tokens: true,
  spaces_between_special_tokens: true,
  stop_token_ids: true,
  top_a: true,
  top_k: true,
  typical_p: true,
  verbosity: true,
};

/** @see https://learn.microsoft.com/azure/ai-foundry/openai/latest */
export const azureParameters: CallerParameters = { logit_bias: true, verbosity: true };

export function embeddingsRequest(request: EmbeddingsRequest, target: UpstreamTarget): UpstreamRequest {
  const body = {
    ...target.extraBody,
    model: target.upstreamModel,
    input: request.input,
    encoding_format: request.encoding_format ?? undefined,
    dimensions: request.dimensions ?? undefined,
  };
  return { path: '/embeddings', body: jsonBody(body), accept: 'application/json' };
}

/** Reads the vectors of an answer of OpenAI's `POST /embeddings`. */
export const openEmbeddings = (request: EmbeddingsRequest): AnswerReader<EmbeddingsResult> =>
  new VectorsReader(request, (answer) => ({
    failure: embeddedFailure(answer),
    entries: asArray(answer.data)?.map((entry) => {
      const { embedding: vector, index } = asObject(entry) ?? {};
      return { vector, index };
    }),
    reported: readUsage(answer.usage, { hasCompletion: false }),
  }));

/** Speech by OpenAI's `POST /audio/speech`. */
export const openAiSpeech: SpeechAdapter = { request: speechRequest, isAudio, classifyBody };

function speechRequest(request: SpeechRequest, { upstreamModel, defaultVoice }: SpeechTarget): UpstreamRequest {
  const body = {
    model: upstreamModel,
    input: request.input,
    voice: request.voice ?? defaultVoice,
    response_format: 'mp3',
  };
  return { path: '/audio/speech', body: jsonBody(body), accept: 'audio/mpeg' };
}

/** Media types of MP3, and types that do not describe the bytes. */
const audioTypes: ReadonlySet<string> = new Set([
  'audio/mpeg',
  'audio/mp3',
  'audio/mpeg3',
  'audio/x-mpeg-3',
  'application/octet-stream',
  'binary/octet-stream',
  '',
]);

function isAudio(contentType: string): boolean {
  const [type = ''] = contentType.split(';');
  return audioTypes.has(type.trim().toLowerCase());
}

function classifyBody(body: Buffer): AttemptOutcome {
  return embeddedFailure(objectIn(body) ?? {}) ?? 'malformed_answer';
}

/** The adapter of every provider that speaks the OpenAI shape. */
export const openAiAdapter: Adapter = {
  headers: bearer,
  callerParameters: openAiParameters,
  chatRequest,
  readChat,
  openChatStream: (options) => new OpenAiChatStream(options),
  embeddingsRequest,
  openEmbeddings,
  images: openAiImages,
  speech: openAiSpeech,
  classifyFailure,
};

/**
 * The adapter of Azure OpenAI: OpenAI's shape with the key in another header. `base_url` is the address of the v1 API,
 * `https://RESOURCE.openai.azure.com/openai/v1`. The upstream model is the name of a deployment.
 *
 * @see https://learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle
 */
export const azureAdapter: Adapter = {
  ...openAiAdapter,
  callerParameters: azureParameters,
  // Azure refuses sampling parameters that only other servers of OpenAI's shape accept.
  chatRequest: (request, target) =>
    openAiAdapter.chatRequest({ ...request, top_k: null, min_p: null, repetition_penalty: null }, target),
  headers: (apiKey) => (apiKey === undefined ? [] : ['api-key', apiKey]),
};
