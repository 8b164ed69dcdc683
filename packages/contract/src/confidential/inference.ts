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
  teeAttestationRequestSchema,
} from '@sotto/wire';
import * as z from 'zod';
import { ofCompatibility, ofInference } from '../errors.ts';
import { type Content, type JsonSchema, json, type RouteDescription } from '../route.ts';

const tag = 'Inference';
const messages = [{ role: 'user', content: 'Hello' }];

const receipt = {
  'x-router-receipt': {
    description: 'A secret of yours: 64 hex digits. The signed receipt of this request can be had with it for an hour.',
    type: 'string',
    pattern: '^[0-9a-fA-F]{64}$',
  },
} as const;

const audio: Content = {
  mediaType: 'audio/mpeg',
  schema: { type: 'string', contentMediaType: 'audio/mpeg', description: 'MP3, as it is made.' },
};
const binary: JsonSchema = { type: 'string', contentMediaType: 'application/octet-stream' };

const stream: Content = {
  mediaType: 'text/event-stream',
  schema: {
    type: 'string',
    description:
      'Server-sent events. Each `data:` holds a `ChatChunk`, and the last is `data: [DONE]`. A final chunk with `usage` is sent where `stream_options.include_usage` is true. Should the provider fail once output has begun, the last chunk carries `error` and there is no `[DONE]`: a stream without it is incomplete.',
    contentMediaType: 'text/event-stream',
    contentSchema: { $ref: '#/components/schemas/ChatChunk' },
  },
  example: [
    'data: {"id":"chatcmpl-5f0c","object":"chat.completion.chunk","created":1795248000,"model":"demo/chat","choices":[{"index":0,"delta":{"role":"assistant","content":"Hello"},"finish_reason":null}]}',
    'data: {"id":"chatcmpl-5f0c","object":"chat.completion.chunk","created":1795248000,"model":"demo/chat","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}',
    'data: [DONE]',
    '',
  ].join('\n\n'),
};

export const inferenceRoutes: readonly RouteDescription[] = [
  {
    method: 'post',
    path: '/v1/chat/completions',
    operationId: 'createChatCompletion',
    tag,
    summary: 'Chat',
    description:
      'By ticket (private flow) or by key (compatibility mode; where both are sent, the key counts and the ticket stays unused). Unknown fields are ignored and not forwarded. A body that is encrypted for an enclave says so in `x-router-e2ee`.',
    credentials: ['ticket', 'inferenceKey'],
    headers: {
      ...receipt,
      'x-router-e2ee': {
        description:
          'Of a body that is sealed for an enclave: the JSON of `SealedQuestion`. The headers of the family go along.',
        type: 'string',
        contentMediaType: 'application/json',
        contentSchema: { $ref: '#/components/schemas/SealedQuestion' },
      },
    },
    body: {
      content: [
        json(chatRequestSchema, { model: 'demo/chat', messages }),
        { mediaType: 'application/octet-stream', schema: { ...binary, description: 'Only with `x-router-e2ee`.' } },
      ],
    },
    answers: [
      {
        status: 200,
        description: 'The answer, whole or, with `"stream": true`, as events.',
        headers: ['rate', 'route', 'enclave'],
        content: [
          json(chatCompletionSchema, {
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
          }),
          stream,
          { mediaType: 'application/octet-stream', schema: { ...binary, description: 'Of a sealed request.' } },
        ],
      },
    ],
    errors: [
      ...ofInference,
      ...ofCompatibility,
      'context_too_large',
      'ticket_reasoning_mismatch',
      'provider_fallback_not_supported_for_e2ee',
    ],
  },
  {
    method: 'post',
    path: '/v1/embeddings',
    operationId: 'createEmbeddings',
    tag,
    summary: 'Embeddings',
    credentials: ['ticket', 'inferenceKey'],
    headers: receipt,
    body: { content: [json(embeddingsRequestSchema, { model: 'demo/embedding', input: ['one', 'two'] })] },
    answers: [
      {
        status: 200,
        description: 'A vector for each input, in order.',
        headers: ['rate', 'route', 'enclave'],
        content: [json(embeddingsAnswerSchema)],
      },
    ],
    errors: [...ofInference, ...ofCompatibility, 'context_too_large'],
  },
  {
    method: 'post',
    path: '/v1/images/generations',
    operationId: 'createImage',
    tag,
    summary: 'Image',
    description: 'By ticket with `operation: "image"` only, and where the deployment has it on.',
    credentials: ['ticket'],
    headers: receipt,
    body: { content: [json(imageRequestSchema, { model: 'demo/image', prompt: 'A quiet sea', size: '512x512' })] },
    answers: [
      {
        status: 200,
        description: 'The image, as base64.',
        headers: ['rate', 'route', 'enclave'],
        content: [json(imagesAnswerSchema)],
      },
    ],
    errors: [...ofInference, 'ticket_media_mismatch', 'media_disabled'],
  },
  {
    method: 'post',
    path: '/v1/audio/speech',
    operationId: 'createSpeech',
    tag,
    summary: 'Speech',
    description:
      'By ticket with `operation: "speech"` only, which binds the length of the text, and where the deployment has it on.',
    credentials: ['ticket'],
    headers: receipt,
    body: { content: [json(speechRequestSchema, { model: 'demo/speech', input: 'Hello there.' })] },
    answers: [{ status: 200, description: 'Raw audio.', headers: ['rate', 'route', 'enclave'], content: [audio] }],
    errors: [...ofInference, 'ticket_media_mismatch', 'media_disabled'],
  },
  {
    method: 'get',
    path: '/v1/models',
    operationId: 'listModels',
    tag,
    summary: 'Models, in compatibility mode',
    description: 'For OpenAI clients, which ask where they send content. Without a key this is 404.',
    credentials: ['inferenceKey', 'managementKey'],
    answers: [{ status: 200, description: 'As at the control origin.', content: [json(modelListAnswerSchema)] }],
    errors: ['not_found', ...ofCompatibility, 'internal_error', 'service_unavailable'],
  },
  {
    method: 'get',
    path: '/v1/inference/receipt',
    operationId: 'getRequestReceipt',
    tag,
    summary: 'The signed receipt of a request',
    description: 'Hashes of what was received, forwarded, answered and returned. Kept for an hour.',
    credentials: [],
    headers: {
      'x-router-receipt': {
        ...receipt['x-router-receipt'],
        description: 'The secret that the request was sent with.',
        required: true,
      },
    },
    answers: [{ status: 200, description: 'The receipt.', content: [json(requestReceiptSchema)] }],
    errors: ['invalid_request', 'not_found', 'rate_limited', 'internal_error', 'service_unavailable'],
  },
];

const nonceNote = {
  description: 'Exactly 64 hex digits, fresh for each verification.',
  example: '0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0',
};

export const attestationRoutes: readonly RouteDescription[] = [
  {
    method: 'get',
    path: '/v1/gateway/attestation',
    operationId: 'getGatewayEvidence',
    tag: 'Attestation',
    summary: 'Evidence about this broker',
    description:
      'Who answers here, shown by hardware, before any content is sent. 404 where the deployment attests nothing.',
    credentials: [],
    query: { schema: z.strictObject({ nonce: nonceSchema }), notes: { nonce: nonceNote } },
    answers: [
      { status: 200, description: 'The evidence, made for this nonce.', content: [json(gatewayEvidenceSchema)] },
    ],
    errors: ['invalid_request', 'not_found', 'rate_limited', 'internal_error', 'service_unavailable'],
  },
  {
    method: 'post',
    path: '/v1/tee/attestation',
    operationId: 'createProviderEvidence',
    tag: 'Attestation',
    summary: "Evidence of a provider's enclave",
    description:
      'Obtained for this call and never kept. Free. Takes attestation tickets only; any other is left unused.',
    credentials: ['attestationTicket'],
    body: { content: [json(teeAttestationRequestSchema, { nonce: nonceNote.example })] },
    answers: [
      { status: 200, description: 'The evidence, made for this nonce.', content: [json(providerEvidenceSchema)] },
    ],
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
      'internal_error',
      'service_unavailable',
    ],
  },
  {
    method: 'get',
    path: '/v1/tee/attestation',
    operationId: 'refuseProviderEvidenceByKey',
    tag: 'Attestation',
    summary: 'Not here',
    description: 'Always 404, and says where to go: with a key, evidence is given at the control origin.',
    credentials: [],
    answers: [],
    errors: ['not_found', 'internal_error', 'service_unavailable'],
  },
];
