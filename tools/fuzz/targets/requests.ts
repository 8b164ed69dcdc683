import { type ProviderSet, readChatQuestion, readEmbeddingsQuestion } from '@sotto/confidential/testing';
import { routingPreviewRequestSchema } from '@sotto/contract/control/routing';
import { attestationTicketRequestSchema } from '@sotto/contract/control/tickets';
import { usageDailyQuerySchema, usageQuerySchema } from '@sotto/contract/control/usage';
import { loadAdapter } from '@sotto/providers';
import { target as chatTarget, readImageUrl } from '@sotto/providers/testing';
import {
  canonicalPolicy,
  matchesProvider,
  measureChat,
  measureEmbeddings,
  readPreferences,
  readRequestPolicy,
  requestedOutputTokens,
} from '@sotto/router';
import { readJsonBody } from '@sotto/server';
import { bindingsOf } from '@sotto/state';
import {
  chatRequestSchema,
  embeddingsRequestSchema,
  imageRequestSchema,
  imageSettings,
  imageUrlSchema,
  isJsonWithinDepth,
  parseModelReference,
  parseRequest,
  providerParameters,
  reasoningSelection,
  ServiceError,
  sealedChatSchema,
  sealedContentBytes,
  sealedQuestionSchema,
  speechRequestSchema,
  ticketRequestSchema,
} from '@sotto/wire';
import type * as z from 'zod';
import { bytesOf, type FuzzTarget, jsonBytes, promise } from '../engine/target.ts';
import { chatSeeds, words } from './chat-seeds.ts';

const anthropic = await loadAdapter('anthropic');
const adapters = [anthropic, ...(await Promise.all((['openai', 'bedrock', 'google'] as const).map(loadAdapter)))];

/** Checks that an error is in our words, and short regardless of the input. */
function refused(error: unknown): void {
  if (!(error instanceof ServiceError)) throw error;
  promise(error.status >= 400 && error.status < 500, `a request that is rejected with ${error.status}`);
  promise(`${error.message}${error.param ?? ''}`.length < 2000, 'an error that repeats much of the input');
}

/** Reads a body as the edge parses it. A rejection by either is an answer. */
function judged(input: Buffer, read: (body: object) => unknown): void {
  try {
    read(readJsonBody(input));
  } catch (error) {
    refused(error);
  }
}

const parsedBy = <Schema extends z.ZodType>(
  schema: Schema,
  input: Buffer,
  then: (value: z.infer<Schema>, body: object) => void = () => {},
): void => judged(input, (body) => then(parseRequest(schema, body), body));

/** Processes an accepted chat request: measures it, binds it, and writes it for each API. */
function chatRequest(input: Buffer): void {
  parsedBy(chatRequestSchema, input, (chat, body) => {
    promise(isJsonWithinDepth(chat, 90), 'a request that is nested too deeply');
    const ceiling = requestedOutputTokens(chat);
    if (ceiling === 'conflict') return;
    const { size } = measureChat(chat, ceiling);
    for (const count of Object.values(size)) {
      promise(typeof count !== 'number' || (Number.isSafeInteger(count) && count >= 0), `a size of ${String(count)}`);
    }
    providerParameters(body);
    for (const { chatRequest: write } of adapters) {
      const written = write(chat, chatTarget());
      if ('unsupported' in written) {
        promise(written.unsupported.length < 1000, 'an error that repeats much of the input');
        continue;
      }
      const sent: unknown = JSON.parse(written.body);
      promise(
        typeof sent === 'object' && sent !== null && !Object.hasOwn(sent, '__proto__'),
        'a request with a prototype',
      );
    }
  });
}

const embeddingsSeeds = [
  { model: 'a/b', input: ['x', 'y'], dimensions: 3, encoding_format: 'base64' },
  { model: 'a/b', input: [[1, 2], [3]] },
  { model: 'a/b', input: [1, 2] },
];
const preferences = {
  provider_sort: 'default',
  provider_ignore: ['x'],
  provider_max_attempts: 3,
  provider_minimum_privacy: 'private',
  provider_allow_fallbacks: true,
  privacy_boundary: 'standard',
  fallback_floor: 'private',
  auto: { strategy: 'balanced', tiers: 'private', models: { mode: 'only', ids: ['a/b'] } },
  max_price: { input: 1 },
};
const ticket = {
  model: 'a/b',
  operation: 'image',
  models: ['c/d'],
  provider: 'acme',
  reasoning_effort: 'high',
  reasoning: { enabled: false },
  size: '512x512',
  response_format: 'b64_json',
  input_chars: 7,
  voice: 'v',
};

const providers: ProviderSet = {
  get: () => undefined,
  publicIds: ['acme', 'acme/eu'],
  isAvailable: () => false,
  close: async () => {},
};

/** On an idle machine, the broker may take 50 ms for an untrusted request. Here coverage slows the code down. */
const brokerGrowth = { bytes: 4 * 2 ** 20, mostMs: 200 } as const;
/** Control rejects bodies over 256 KiB. */
const controlGrowth = { bytes: 2 ** 18, mostMs: 200 } as const;

/** All readers of clients' requests. */
export const requestTargets: readonly FuzzTarget[] = [
  { name: 'chat-request', grammar: 'json', share: 10, words, seeds: chatSeeds.map(jsonBytes), read: chatRequest },
  {
    name: 'chat-judged',
    grammar: 'json',
    share: 4,
    words,
    seeds: chatSeeds.map(jsonBytes),
    grows: brokerGrowth,
    read: (input) =>
      judged(input, (body) => anthropic.chatRequest(readChatQuestion(body, providers).chat, chatTarget())),
  },
  {
    name: 'embeddings-judged',
    grammar: 'json',
    share: 2,
    words: ['input', 'dimensions', 'encoding_format', 'base64'],
    seeds: embeddingsSeeds.map(jsonBytes),
    grows: brokerGrowth,
    read: (input) => judged(input, readEmbeddingsQuestion),
  },
  {
    name: 'embeddings-request',
    grammar: 'json',
    share: 2,
    words: ['input', 'dimensions', 'encoding_format', 'base64'],
    seeds: embeddingsSeeds.map(jsonBytes),
    read: (input) => parsedBy(embeddingsRequestSchema, input, (request) => void measureEmbeddings(request)),
  },
  {
    name: 'ticket-request',
    grammar: 'json',
    share: 3,
    words,
    seeds: [jsonBytes(ticket), jsonBytes({ model: 'a/b' })],
    grows: controlGrowth,
    read: (input) =>
      parsedBy(ticketRequestSchema, input, (request) => {
        const reasoning = reasoningSelection(request);
        const bound = bindingsOf({
          operation: request.operation ?? 'chat',
          model: request.model,
          models: request.models,
          provider: request.provider,
          reasoning,
        });
        for (const part of Object.values(bound)) promise(part.length <= 64, `a binding of ${part.length} characters`);
      }),
  },
  {
    name: 'policy',
    grammar: 'json',
    share: 3,
    words,
    seeds: [
      jsonBytes({ model: 'a/b:floor', provider: chatSeeds[1]?.provider }),
      jsonBytes({ model: 'a/b', provider: 'acme' }),
    ],
    read: (input) =>
      parsedBy(ticketRequestSchema, input, ({ provider, model }) => {
        const { suffix } = parseModelReference(model);
        const decided = readRequestPolicy(provider, suffix);
        promise(
          canonicalPolicy(provider) === canonicalPolicy(structuredClone(provider)),
          'a policy that changes when it is read again',
        );
        if (decided.ok) for (const id of decided.value.only ?? []) matchesProvider(id, 'acme/eu');
      }),
  },
  {
    name: 'preferences',
    grammar: 'json',
    share: 2,
    words: [...words, ...'privacy_boundary maximum fallback_floor auto tiers provider_sort all except'.split(' ')],
    seeds: [jsonBytes(preferences)],
    grows: controlGrowth,
    read: (input) =>
      judged(input, (body) => {
        const decided = readPreferences(body);
        if (!decided.ok) return;
        const again = readPreferences(decided.value);
        promise(
          again.ok && JSON.stringify(again.value) === JSON.stringify(decided.value),
          'preferences that change when they are read again',
        );
      }),
  },
  {
    name: 'other-requests',
    grammar: 'json',
    share: 3,
    words: [
      ...words,
      ...'prompt_tokens workspace_id size 512x512 voice input_chars nonce family near stream'.split(' '),
    ],
    seeds: [
      { model: 'a/b', prompt: 'x', size: '512x512', response_format: 'url' },
      { model: 'a/b', input: 'x', voice: 'v', response_format: 'mp3', speed: 1 },
      {
        model: 'a/b',
        prompt_tokens: 1,
        max_tokens: 2,
        tools: true,
        preferences,
        workspace_id: '7f9c0d5e-8d0e-4b57-9a3f-1d2f7b7c9a10',
      },
      { model: 'a/b', provider: 'acme' },
      { family: 'near', model: 'a/b', provider: { only: ['acme'] }, stream: true, reasoning_effort: 'low' },
    ].map(jsonBytes),
    read: (input) => {
      parsedBy(imageRequestSchema, input, (request) => void imageSettings(request));
      for (const schema of [
        speechRequestSchema,
        routingPreviewRequestSchema,
        attestationTicketRequestSchema,
        sealedQuestionSchema,
      ])
        parsedBy(schema, input);
    },
  },
  {
    name: 'sealed-chat',
    grammar: 'json',
    share: 2,
    words: [...words, 'ab'.repeat(90)],
    seeds: [
      jsonBytes({
        model: 'm',
        messages: [{ role: 'user', content: 'ab'.repeat(90) }],
        max_tokens: 4,
        stream: true,
        temperature: 1,
      }),
    ],
    read: (input) =>
      parsedBy(sealedChatSchema(72), input, (chat) => {
        const bytes = sealedContentBytes(chat, 72);
        promise(Number.isSafeInteger(bytes) && bytes >= 0, `${bytes} bytes of content`);
      }),
  },
  {
    name: 'query-strings',
    grammar: 'text',
    share: 2,
    words: 'limit= cursor= from=2026-01-01 &to= group_by=day,model format=csv %00 &limit=1 workspace_id='.split(' '),
    seeds: [
      bytesOf('limit=10&cursor=abc&from=2026-01-01&to=2026-02-01T00:00:00Z&model=a/b'),
      bytesOf('group_by=day,model&format=csv&from=2026-01-01'),
    ],
    read: (input) => {
      const query: Record<string, unknown> = Object.create(null);
      for (const [name, value] of new URLSearchParams(input.toString('latin1'))) {
        query[name] = name in query ? [query[name], value].flat() : value;
      }
      for (const schema of [usageQuerySchema, usageDailyQuerySchema]) {
        try {
          parseRequest(schema, query);
        } catch (error) {
          refused(error);
        }
      }
    },
  },
  {
    name: 'image-url',
    grammar: 'text',
    share: 3,
    words: ['data:image/', ';base64,', 'https://', 'image/png', ';charset=', ',', 'DATA:'],
    seeds: [
      bytesOf('data:image/png;base64,iVBORw0KGgo='),
      bytesOf('https://x.example/y.png'),
      bytesOf('data:image/jpeg;name=a.jpg;base64,AAAA'),
    ],
    read: (input) => {
      const url = input.toString('utf8');
      if (!imageUrlSchema.safeParse(url).success) return;
      const source = readImageUrl(url);
      if ('url' in source) promise(/^https:\/\/\S+$/i.test(source.url), 'an address that is not https');
      else promise(/^image\/[a-z]+$/.test(source.mediaType), 'a type that is not an image type');
    },
  },
];
