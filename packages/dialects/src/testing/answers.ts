import type { ChatChunk, ReasoningDetail } from '@sotto/wire';
import fc from 'fast-check';
import type { AnswerMessage } from '../answer-blocks.ts';
import type { ChatAnswer, Models } from '../translation.ts';

/** A message of an answer, in the form in which the service writes it. */
export interface SaidMessage extends AnswerMessage {
  readonly content: string | null;
  readonly reasoning_details?: readonly ReasoningDetail[];
}

export const usage = {
  prompt_tokens: 100,
  completion_tokens: 20,
  total_tokens: 120,
  prompt_tokens_details: { cached_tokens: 60, cache_write_tokens: 30 },
  completion_tokens_details: { reasoning_tokens: 7 },
  cost: 0.001,
};

/** A whole chat answer. */
export const answer = (message: SaidMessage, finishReason = 'stop'): ChatAnswer =>
  ({
    id: 'chatcmpl-a1',
    created: 1_750_000_000,
    model: 'acme/small',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', refusal: null, ...message },
        logprobs: null,
        finish_reason: finishReason,
      },
    ],
    usage,
  }) as unknown as ChatAnswer;

type Delta = NonNullable<ChatChunk['choices'][number]>['delta'];

const chunk = (delta: Delta, finishReason: string | null = null): object => ({
  id: 'chatcmpl-a1',
  object: 'chat.completion.chunk',
  created: 1_750_000_000,
  model: 'acme/small',
  choices: [{ index: 0, delta, finish_reason: finishReason }],
});

/** The payloads of a streamed answer: these deltas, the end, the usage. */
export const payloads = (deltas: readonly Delta[], finishReason = 'stop'): object[] => [
  ...deltas.map((delta) => chunk(delta)),
  chunk({}, finishReason),
  { ...chunk({}), choices: [], usage },
];

/** The chunk with which the service reports that a stream failed. */
export const failedChunk = {
  choices: [],
  error: { message: 'It failed.', type: 'provider_error', code: 'provider_error', param: null, request_id: 'r' },
};

export const frames = (events: readonly object[]): string =>
  `${events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')}data: [DONE]\n\n`;

/** Cuts a text into pieces that are not empty. */
const piecesOf = (text: string): string[] => text.match(/.{1,3}/gsu) ?? [];

/** The deltas in which the service streams a message: reasoning, text, then each call. */
export function deltasOf({ reasoning, reasoning_details: details = [], content, tool_calls }: SaidMessage): Delta[] {
  const texts = details.filter((detail) => detail.type === 'reasoning.text');
  const thoughts =
    texts.length === 0
      ? piecesOf(reasoning ?? '').map((piece): Delta => ({ reasoning: piece }))
      : texts.flatMap(({ signature, text, ...detail }): Delta[] => [
          ...piecesOf(text ?? '').map((piece) => ({
            reasoning: piece,
            reasoning_details: [{ ...detail, text: piece }],
          })),
          ...(signature == null ? [] : [{ reasoning_details: [{ ...detail, signature }] }]),
        ]);
  const encrypted = details.filter(({ type }) => type === 'reasoning.encrypted');
  return [
    { role: 'assistant', content: '' },
    ...thoughts,
    ...encrypted.map((detail): Delta => ({ reasoning_details: [detail] })),
    ...piecesOf(content ?? '').map((piece): Delta => ({ content: piece })),
    ...(tool_calls ?? []).flatMap(({ id, function: called }, index): Delta[] => [
      { tool_calls: [{ index, id, type: 'function', function: { name: called.name, arguments: '' } }] },
      ...piecesOf(called.arguments).map((piece) => ({ tool_calls: [{ index, function: { arguments: piece } }] })),
    ]),
  ];
}

/** Text of any script, with what JSON and event streams must escape. */
export const someText = fc.oneof(
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 }),
  fc.constantFrom('"quoted"\\', 'line\nbreak\r\n', '日本語 🦔', '\u2028', 'data: x\n\n'),
);

const format = fc.constantFrom('anthropic-claude-v1', 'amazon-bedrock-v1');
const signedThought = fc.record({ text: someText, signature: someText, format });
const sealedThought = fc.record({ data: someText, format: fc.constant('google-gemini-v1') });
const someJson = fc.jsonValue({ maxDepth: 3 });
const someCall = fc.record({ name: fc.constantFrom('read', 'write'), input: fc.dictionary(fc.string(), someJson) });

/** Any message that a model may answer with. It says something or calls something. */
export const someMessage: fc.Arbitrary<SaidMessage> = fc
  .record({
    signed: fc.array(signedThought, { maxLength: 2 }),
    plain: fc.option(someText, { nil: undefined }),
    sealed: fc.array(sealedThought, { maxLength: 2 }),
    text: fc.option(someText, { nil: undefined }),
    calls: fc.array(someCall, { maxLength: 3 }),
  })
  .filter(({ text, calls }) => text !== undefined || calls.length > 0)
  .map(({ signed, plain, sealed, text, calls }) => {
    const details: ReasoningDetail[] = [
      ...signed.map((thought, index) => ({ type: 'reasoning.text' as const, ...thought, index })),
      ...sealed.map((thought) => ({ type: 'reasoning.encrypted' as const, ...thought })),
    ];
    const reasoning = signed.length > 0 ? signed.map((thought) => thought.text).join('') : plain;
    return {
      content: text ?? null,
      ...(reasoning === undefined ? {} : { reasoning }),
      ...(details.length === 0 ? {} : { reasoning_details: details }),
      ...(calls.length === 0
        ? {}
        : {
            tool_calls: calls.map(({ name, input }, index) => ({
              id: `call_${index}`,
              type: 'function' as const,
              function: { name, arguments: JSON.stringify(input) },
            })),
          }),
    };
  });

/** A catalog that knows `acme/small` and passes every other name on. */
export const models: Models = {
  resolve: (name) => name,
  find: (id) =>
    id === 'acme/small' ? { id, name: 'Small', created: 1, contextLength: 100_000, maxOutputTokens: 8000 } : undefined,
};
