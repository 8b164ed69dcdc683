import {
  chatCompletionSchema,
  chatRequestSchema,
  embeddingsAnswerSchema,
  embeddingsRequestSchema,
  imageRequestSchema,
  imagesAnswerSchema,
  speechRequestSchema,
} from '@sotto/wire';
import { contracts } from '../contract.ts';
import { ofCompatibility, ofInference } from '../errors.ts';
import type { Content, JsonSchema } from '../route.ts';

/** The header that opens the receipt of a request. */
export const receiptHeader = {
  'x-router-receipt': {
    description: '64 hex digits that you choose at random. For an hour, they open the signed receipt of this request.',
    type: 'string',
    pattern: '^[0-9a-fA-F]{64}$',
  },
} as const;

const audio: Content = {
  mediaType: 'audio/mpeg',
  schema: { type: 'string', contentMediaType: 'audio/mpeg', description: 'MP3, streamed as the provider produces it.' },
};
const binary: JsonSchema = { type: 'string', contentMediaType: 'application/octet-stream' };

const stream: Content = {
  mediaType: 'text/event-stream',
  schema: {
    type: 'string',
    description:
      'Server-sent events. Each `data:` has a `ChatChunk`, and the last is `data: [DONE]`. If `stream_options.include_usage` is true, a final chunk has `usage`. If the provider fails after output has begun, the last event is an `Error` instead of a `ChatChunk`, there is no `[DONE]`, and the connection closes before the end of the body. A stream without `[DONE]` is incomplete.',
    contentMediaType: 'text/event-stream',
    contentSchema: { $ref: '#/components/schemas/ChatChunk' },
  },
  example: [
    'data: {"id":"chatcmpl-5f0c","object":"chat.completion.chunk","created":1795248000,"model":"demo/chat","system_fingerprint":"","choices":[{"index":0,"delta":{"role":"assistant","content":"Hello"},"finish_reason":null}]}',
    'data: {"id":"chatcmpl-5f0c","object":"chat.completion.chunk","created":1795248000,"model":"demo/chat","system_fingerprint":"","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}',
    'data: [DONE]',
    '',
  ].join('\n\n'),
};

/** Requests for chats. The body may be encrypted for an enclave. */
export const chatContracts = contracts({
  'POST /v1/chat/completions': {
    operationId: 'createChatCompletion',
    summary: 'Create a chat completion',
    description:
      'Send a ticket (private flow) or a key (compatibility mode). If you send both, the key is used and the ticket stays valid. Unknown fields are ignored and not forwarded. A body that is encrypted for an enclave needs the header `x-router-e2ee`.',
    limits: ['inference'],
    credentials: ['ticket', 'inferenceKey'],
    isRaw: true,
    headers: {
      ...receiptHeader,
      'x-router-e2ee': {
        description:
          'For a body that is encrypted for an enclave: a `SealedQuestion` as JSON. Send the headers of the provider family with it.',
        type: 'string',
        contentMediaType: 'application/json',
        contentSchema: { $ref: '#/components/schemas/SealedQuestion' },
      },
    },
    body: chatRequestSchema,
    otherBodies: [
      { mediaType: 'application/octet-stream', schema: { ...binary, description: 'Only with `x-router-e2ee`.' } },
    ],
    returns:
      'The answer as one body, or as events with `"stream": true`. Its headers name the provider that serves, so they leave with the first output: a reasoning model may take minutes until then. A stream that is silent after that has comments.',
    answer: chatCompletionSchema,
    otherContent: [
      stream,
      {
        mediaType: 'application/octet-stream',
        schema: { ...binary, description: 'The answer to an encrypted request.' },
      },
    ],
    answerHeaders: ['rate', 'route', 'enclave'],
    examples: {
      body: { model: 'demo/chat', messages: [{ role: 'user', content: 'Hello' }] },
      answer: {
        id: 'chatcmpl-5f0c',
        object: 'chat.completion',
        created: 1795248000,
        model: 'demo/chat',
        system_fingerprint: '',
        choices: [
          {
            index: 0,
            message: { role: 'assistant', content: 'Hello.', refusal: null },
            logprobs: null,
            finish_reason: 'stop',
          },
        ],
        usage: { prompt_tokens: 8, completion_tokens: 3, total_tokens: 11, cost: 0.000012 },
      },
    },
    errors: [
      ...ofInference,
      ...ofCompatibility,
      'context_too_large',
      'ticket_reasoning_mismatch',
      'provider_fallback_not_supported_for_e2ee',
    ],
  },
});

/** The other requests with content, by ticket or in compatibility mode. */
export const operationContracts = contracts({
  'POST /v1/embeddings': {
    operationId: 'createEmbeddings',
    summary: 'Create embeddings',
    limits: ['inference'],
    credentials: ['ticket', 'inferenceKey'],
    isRaw: true,
    headers: receiptHeader,
    body: embeddingsRequestSchema,
    examples: { body: { model: 'demo/embedding', input: ['one', 'two'] } },
    returns: 'One vector for each input, in the same order.',
    answer: embeddingsAnswerSchema,
    answerHeaders: ['rate', 'route', 'enclave'],
    errors: [...ofInference, ...ofCompatibility, 'context_too_large'],
  },
  'POST /v1/images/generations': {
    operationId: 'createImage',
    summary: 'Generate an image',
    description: 'Needs a ticket with `operation: "image"`. Available if the operator enabled image generation.',
    limits: ['inference'],
    credentials: ['ticket'],
    isRaw: true,
    headers: receiptHeader,
    body: imageRequestSchema,
    examples: { body: { model: 'demo/image', prompt: 'A quiet sea', size: '512x512' } },
    returns: 'The image, as base64.',
    answer: imagesAnswerSchema,
    answerHeaders: ['rate', 'route', 'enclave'],
    errors: [...ofInference, 'ticket_media_mismatch', 'media_disabled'],
  },
  'POST /v1/audio/speech': {
    operationId: 'createSpeech',
    summary: 'Synthesize speech',
    description:
      'Needs a ticket with `operation: "speech"`, which binds the length of the text. Available if the operator enabled speech synthesis.',
    limits: ['inference'],
    credentials: ['ticket'],
    isRaw: true,
    headers: receiptHeader,
    body: speechRequestSchema,
    examples: { body: { model: 'demo/speech', input: 'Hello there.' } },
    returns: 'Raw audio.',
    otherContent: [audio],
    answerHeaders: ['rate', 'route', 'enclave'],
    errors: [...ofInference, 'ticket_media_mismatch', 'media_disabled'],
  },
});
