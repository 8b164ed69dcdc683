import { describe, expect, it } from 'vitest';
import { type Answer, readStream } from '../../kit/answer.ts';
import { ask, flows } from '../../kit/client.ts';
import type { Concept } from '../../kit/conformance.ts';
import { expectError } from '../../kit/expect-error.ts';
import { answerError, type ProviderHandler, sendJson } from '../../kit/provider.ts';
import * as sse from '../../kit/scenes/events.ts';

const usage = { prompt_tokens: 5, completion_tokens: 5, total_tokens: 10 };

interface Message {
  readonly content?: string | null;
  readonly reasoning?: string;
  readonly tool_calls?: readonly object[];
}

/** Builds a complete answer with one message. */
const whole =
  (message: Message, finishReason = 'stop'): ProviderHandler =>
  (_request, response) =>
    sendJson(response, 200, {
      id: 'x',
      object: 'chat.completion',
      choices: [{ index: 0, message: { role: 'assistant', content: null, ...message }, finish_reason: finishReason }],
      usage,
    });

/** Builds a stream of these deltas. */
const streamed = (deltas: readonly object[], finish = 'stop'): ProviderHandler =>
  sse.stream(
    ...deltas.map((delta) => sse.frame(sse.chunk(delta))),
    sse.frame(sse.chunk({}, { finish })) + sse.usage + sse.done,
  );

const messageOf = ({ status, json, text }: Answer) => {
  expect(status, text).toBe(200);
  const { choices } = json as { choices: { message: Message; finish_reason: unknown }[] };
  return { ...choices[0]?.message, finish: choices[0]?.finish_reason };
};

const deltasOf = (answer: Answer) =>
  readStream(answer).chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta));

/** Providers differ from OpenAI in details. Clients must not notice. */
export const providerAnswers: Concept = (suite) => {
  const key = (): string => suite.account.inferenceKey;

  describe.each(flows)('oddities of providers, %s flow', (flow) => {
    const askFor = (body: object, answer: ProviderHandler) => {
      suite.provider('acme').answer(answer);
      return ask(suite.service, key(), { model: 'acme/small', ...body }, { flow });
    };

    describe('thinking text within the content', () => {
      const hidden = { acme_parameters: { strip_thinking_response: true } };

      it('is hidden in a whole answer if the request says so', async () => {
        const content = '<think>The user greets.\n</think>\n\nHello.';
        expect(messageOf(await askFor(hidden, whole({ content }))).content).toBe('Hello.');
        expect(messageOf(await askFor({}, whole({ content }))).content).toBe(content);
      });

      it.each([1, 2, 3, 5, 100])('is hidden in a stream of pieces of %i characters', async (length) => {
        const text = '<think>The user greets.</think>Hello, <b>you</b>.';
        const pieces = Array.from({ length: Math.ceil(text.length / length) }, (_, at) => ({
          content: text.slice(at * length, (at + 1) * length),
        }));
        const answer = await askFor({ ...hidden, stream: true }, streamed(pieces));
        expect(readStream(answer).content).toBe('Hello, <b>you</b>.');
        expect(answer.text).not.toMatch(/greets/);
      });
    });

    it('tool calls are numbered from 0, whatever number the provider begins with', async () => {
      const part = (index: number, more: object) => ({ tool_calls: [{ index, ...more }] });
      const begin = (index: number) =>
        part(index, { id: `call_${index}`, type: 'function', function: { name: 'f', arguments: '' } });
      const answer = await askFor(
        { stream: true },
        streamed(
          [begin(1), part(1, { function: { arguments: '{}' } }), begin(3), part(3, { function: { arguments: '{}' } })],
          'tool_calls',
        ),
      );
      const calls = deltasOf(answer).flatMap(({ tool_calls }) => tool_calls ?? []);
      expect(calls).toMatchObject([
        { index: 0, id: 'call_1', function: { name: 'f', arguments: '{}' } },
        { index: 1, id: 'call_3', function: { name: 'f', arguments: '{}' } },
      ]);
    });

    it('the first delta has the role, even if the provider never sends it', async () => {
      const answer = await askFor({ stream: true }, streamed([{ content: 'Hel' }, { content: 'lo' }]));
      const [first, ...rest] = deltasOf(answer);
      expect(first).toMatchObject({ role: 'assistant', content: 'Hel' });
      expect(rest.some(({ role }) => role !== undefined)).toBe(false);
    });

    it('a tool call without arguments gets those of an empty object', async () => {
      const call = { id: 'c', type: 'function', function: { name: 'f' } };
      const { tool_calls } = messageOf(await askFor({}, whole({ tool_calls: [call] }, 'tool_calls')));
      expect(tool_calls).toMatchObject([{ function: { name: 'f', arguments: '{}' } }]);
    });

    it('an empty finish reason counts as absent', async () => {
      expect(messageOf(await askFor({}, whole({ content: 'Hello.' }, ''))).finish).toBe('stop');
      const open = sse.stream(sse.text('a', { finish: '' }), sse.finish + sse.done);
      const { chunks } = readStream(await askFor({ stream: true }, open));
      const finishes = chunks.flatMap(({ choices }) => choices.map(({ finish_reason }) => finish_reason));
      expect(finishes.filter((finish) => finish !== null)).toEqual(['stop']);
    });

    it.each([
      ['OpenAI', { message: 'Your input exceeds the limit.', code: 'context_length_exceeded' }],
      ['Anthropic', { message: 'prompt is too long: 214000 tokens > 200000 maximum', type: 'invalid_request_error' }],
      ['Google', { message: 'The input token count (214000) exceeds the maximum number of tokens allowed (8000).' }],
      ['Bedrock', { message: 'Input is too long for requested model.' }],
    ])('a context overflow, as %s reports it, becomes an error that agents recognise', async (_, error) => {
      const answer = await askFor({}, answerError(400, error));
      expectError(answer, 400, 'context_too_large');
      expect(wordsOf(answer)).toMatch(overflow);
    });

    it('a context overflow that the broker detects itself has the same error', async () => {
      const messages = [{ role: 'user', content: 'word '.repeat(20_000) }];
      const answer = await askFor({ messages }, whole({ content: 'x' }));
      expectError(answer, 400, 'context_too_large');
      expect(wordsOf(answer)).toMatch(overflow);
      expect(suite.asked).toBe(0);
    });
  });
};

const wordsOf = ({ json }: Answer): string => (json as { error: { message: string } }).error.message;
/** Agents such as pi and opencode search for these words, and then shorten the conversation. */
const overflow = /maximum context length is \d+ tokens/i;
