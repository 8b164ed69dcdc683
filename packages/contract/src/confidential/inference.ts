import { gatewayEvidenceSchema, providerEvidenceSchema, requestReceiptSchema } from '@sotto/attestation/documents';
import {
  chatCompletionSchema,
  chatRequestSchema,
  embeddingsAnswerSchema,
  embeddingsRequestSchema,
  imageRequestSchema,
  imagesAnswerSchema,
  modelListAnswerSchema,
  nonceSchema,
  speechRequestSchema,
} from '@sotto/wire';
import * as z from 'zod';
import { contracts } from '../contract.ts';
import { ofCompatibility, ofInference } from '../errors.ts';
import { providerReceiptSchema } from '../provider-receipt.ts';
import { type Content, type JsonSchema, nonceNote } from '../route.ts';

const receipt = {
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

/** Requests with content, by ticket or in compatibility mode. */
export const inferenceContracts = contracts({
  'POST /v1/chat/completions': {
    operationId: 'createChatCompletion',
    summary: 'Create a chat completion',
    description:
      'Send a ticket (private flow) or a key (compatibility mode). If you send both, the key is used and the ticket stays valid. Unknown fields are ignored and not forwarded. A body that is encrypted for an enclave needs the header `x-router-e2ee`.',
    limits: ['inference'],
    credentials: ['ticket', 'inferenceKey'],
    headers: {
      ...receipt,
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
  'POST /v1/embeddings': {
    operationId: 'createEmbeddings',
    summary: 'Create embeddings',
    limits: ['inference'],
    credentials: ['ticket', 'inferenceKey'],
    headers: receipt,
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
    headers: receipt,
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
    headers: receipt,
    body: speechRequestSchema,
    examples: { body: { model: 'demo/speech', input: 'Hello there.' } },
    returns: 'Raw audio.',
    otherContent: [audio],
    answerHeaders: ['rate', 'route', 'enclave'],
    errors: [...ofInference, 'ticket_media_mismatch', 'media_disabled'],
  },
  'GET /v1/models': {
    operationId: 'listModels',
    summary: 'List models in compatibility mode',
    description: 'For OpenAI clients, which list models where they send content. Without a key, the answer is 404.',
    credentials: ['inferenceKey', 'managementKey'],
    returns: 'The same list as at the control origin.',
    answer: modelListAnswerSchema,
    errors: ['not_found', ...ofCompatibility, 'internal_error', 'service_unavailable'],
  },
  'GET /v1/inference/receipt': {
    operationId: 'getRequestReceipt',
    summary: 'Get the signed receipt of a request',
    description:
      'Hashes of the request as received and as forwarded, and of the answer as received and as returned. Kept for an hour.',
    credentials: [],
    headers: {
      'x-router-receipt': {
        ...receipt['x-router-receipt'],
        description: 'The secret that you sent with the request.',
        required: true,
      },
    },
    returns: 'The receipt.',
    answer: requestReceiptSchema,
    errors: ['invalid_request', 'not_found', 'rate_limited', 'internal_error', 'service_unavailable'],
  },
  'GET /v1/inference/receipt/enclave': {
    operationId: 'getEnclaveReceipt',
    summary: "Get an enclave's own receipt of an answer",
    description:
      'The same as at the control origin by id, but no key comes with the question. The enclave signs when its answer has ended. Kept for an hour.',
    credentials: [],
    headers: {
      'x-router-receipt': {
        ...receipt['x-router-receipt'],
        description: 'The secret that you sent with the request.',
        required: true,
      },
    },
    returns: 'The receipt: hashes of the ciphertexts and a signature.',
    answer: providerReceiptSchema,
    errors: ['invalid_request', 'not_found', 'rate_limited', 'internal_error', 'service_unavailable'],
  },
});

/** Body of `POST /tee/attestation`. The ticket names the enclave. */
export const teeAttestationRequestSchema = z.strictObject({ nonce: nonceSchema });

/** Evidence about this broker and about the enclaves of providers. */
export const attestationContracts = contracts({
  'GET /v1/gateway/attestation': {
    operationId: 'getGatewayEvidence',
    summary: 'Get evidence about this broker',
    description:
      'Verify the broker before you send content. The evidence is bound to your nonce. The answer is 404 if the broker has no attestation.',
    credentials: [],
    query: z.strictObject({ nonce: nonceSchema.meta(nonceNote) }),
    returns: 'The evidence, bound to your nonce.',
    answer: gatewayEvidenceSchema,
    errors: ['invalid_request', 'not_found', 'rate_limited', 'internal_error', 'service_unavailable'],
  },
  'POST /v1/tee/attestation': {
    operationId: 'createProviderEvidence',
    summary: "Get evidence of a provider's enclave",
    description:
      'Fetched for this call and never stored. Free. Accepts attestation tickets only; another ticket stays valid.',
    credentials: ['attestationTicket'],
    body: teeAttestationRequestSchema,
    examples: { body: { nonce: nonceNote.example } },
    returns: 'The evidence, bound to your nonce.',
    answer: providerEvidenceSchema,
    errors: [
      'invalid_request',
      'payload_too_large',
      'unsupported_media_type',
      'ticket_required',
      'invalid_ticket',
      'model_not_found',
      'no_provider_route',
      'no_provider_route_meets_price',
      'no_provider_route_meets_privacy',
      'privacy_boundary_not_met',
      'rate_limited',
      'internal_error',
      'service_unavailable',
    ],
  },
  'GET /v1/tee/attestation': {
    operationId: 'refuseProviderEvidenceByKey',
    summary: 'Always 404',
    description: 'The message refers you to the control origin, which accepts keys for this.',
    credentials: [],
    errors: ['not_found', 'internal_error', 'service_unavailable'],
  },
});
