import { type ChatRequest, chatRequestSchema } from '@sotto/wire';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { translateGemini } from './gemini/translate.ts';
import { translateMessages } from './messages/translate.ts';
import { KeptAnswers } from './responses/kept-answers.ts';
import { translateResponses } from './responses/translate.ts';
import { answer, deltasOf, frames, models, payloads, type SaidMessage, someMessage } from './testing/answers.ts';
import { cut, eventsIn, runStream } from './testing/run-stream.ts';
import type { Translation } from './translation.ts';

interface Dialect {
  readonly name: string;
  /** Asks for an answer after a question and the answers so far, in the dialect's own form. */
  readonly ask: (said: readonly unknown[], stream: boolean) => Translation;
  /** Returns the parts of an answer that a client keeps and sends back. */
  readonly kept: (answer: object) => readonly unknown[];
  /** The pieces of a stream. Default: its events. */
  readonly written?: (text: string) => ReturnType<typeof eventsIn>;
  /** The answer that a client assembles from the pieces of a stream. */
  readonly assembled: (events: ReturnType<typeof eventsIn>) => object;
}

const tools = ['read', 'write'];

const messages: Dialect = {
  name: 'Messages',
  ask: (said, stream) =>
    translateMessages(
      {
        model: 'acme/small',
        max_tokens: 1000,
        stream,
        messages: [{ role: 'user', content: 'hi' }, ...said],
        tools: tools.map((name) => ({ name, input_schema: { type: 'object' } })),
      },
      models,
    ),
  kept: (message) => [{ role: 'assistant', content: (message as { content: unknown }).content }],
  assembled: assembleMessage,
};

const responses: Dialect = {
  name: 'Responses',
  ask: (said, stream) =>
    translateResponses(
      {
        model: 'acme/small',
        stream,
        input: [{ role: 'user', content: 'hi' }, ...said],
        tools: [
          { type: 'function', name: 'read', parameters: { type: 'object' } },
          { type: 'function', name: 'write', parameters: { type: 'object' } },
        ],
      },
      models,
      { isCodex: false, kept: new KeptAnswers() },
    ),
  kept: (response) => (response as { output: readonly unknown[] }).output,
  assembled: (events) => (events.at(-1) as unknown as { response: object }).response,
};

const google = (sse: boolean): Dialect => ({
  name: sse ? 'Gemini' : 'Gemini as a list',
  ask: (said, stream) =>
    translateGemini(
      {
        contents: [{ role: 'user', parts: [{ text: 'hi' }] }, ...said],
        tools: [{ functionDeclarations: tools.map((name) => ({ name, parameters: { type: 'OBJECT' } })) }],
        generationConfig: { thinkingConfig: { includeThoughts: true } },
      },
      { model: 'acme/small', method: stream ? 'streamGenerateContent' : 'generateContent', sse },
      models,
    ),
  kept: (answer) => [(answer as Generated).candidates[0]?.content],
  written: (text) =>
    sse
      ? text.split('\n\n').flatMap((event) => (event === '' ? [] : [JSON.parse(event.slice('data: '.length))]))
      : JSON.parse(text),
  assembled: (answers) => {
    const all = answers as unknown as Generated[];
    const parts: Part[] = [];
    for (const part of all.flatMap(({ candidates }) => candidates[0]?.content.parts ?? [])) {
      const last = parts.at(-1);
      const continues = last?.text !== undefined && part.text !== undefined && last.thought === part.thought;
      if (continues && part.thoughtSignature === undefined) last.text = `${last.text}${part.text}`;
      else if (part.text !== '') parts.push({ ...part });
    }
    const { candidates = [], ...rest } = all.at(-1) ?? {};
    return {
      ...rest,
      candidates: candidates.map((candidate) => ({ ...candidate, content: { role: 'model', parts } })),
    };
  },
});

interface Part {
  text?: string;
  readonly thought?: boolean;
  readonly thoughtSignature?: string;
}
interface Generated {
  readonly candidates: readonly { readonly content: { readonly parts: readonly Part[] } }[];
}

/** Puts a message together as Anthropic's SDK does. */
function assembleMessage(events: ReturnType<typeof eventsIn>): object {
  let message: Record<string, unknown> = {};
  const content: Record<string, unknown>[] = [];
  const json: string[] = [];
  for (const event of events) {
    const index = event.index as number;
    const delta = (event.delta ?? {}) as Record<string, string>;
    const block = content[index] ?? {};
    if (event.type === 'message_start') message = { ...(event.message as object) };
    else if (event.type === 'content_block_start') content[index] = { ...(event.content_block as object) };
    else if (event.type === 'content_block_stop' && block.type === 'tool_use')
      block.input = JSON.parse(json[index] || '{}');
    else if (event.type === 'message_delta') message = { ...message, ...delta, usage: event.usage };
    if (delta.type === 'text_delta') block.text = `${block.text}${delta.text}`;
    else if (delta.type === 'thinking_delta') block.thinking = `${block.thinking}${delta.thinking}`;
    else if (delta.type === 'signature_delta') block.signature = delta.signature;
    else if (delta.type === 'input_json_delta') json[index] = `${json[index] ?? ''}${delta.partial_json}`;
  }
  return { ...message, content };
}

/** The message as the next request returns it, in the form in which the service wrote it. */
function returned(dialect: Dialect, written: object): SaidMessage {
  const { body } = dialect.ask(dialect.kept(written), false);
  const { messages: sent }: ChatRequest = chatRequestSchema.parse(body);
  const { role, ...message } = sent[1] as SaidMessage & { role: string };
  expect(role).toBe('assistant');
  return message;
}

/** An answer without what differs between a whole and a streamed one. */
const comparable = (written: object): unknown => JSON.parse(JSON.stringify(written).replace(/"created_at":\d+,/g, ''));

const finishReason = ({ tool_calls }: SaidMessage): string => (tool_calls === undefined ? 'stop' : 'tool_calls');

describe.each([messages, responses, google(true), google(false)])('$name', (dialect) => {
  it('returns a whole answer to the model with nothing lost', () => {
    fc.assert(
      fc.property(someMessage, (message) => {
        const written = dialect.ask([], false).whole(answer(message, finishReason(message)));
        expect(returned(dialect, written)).toEqual(message);
      }),
    );
  });

  it('writes the same answer whole and streamed, wherever the bytes of the stream are cut', () => {
    fc.assert(
      fc.property(someMessage, fc.array(fc.nat(), { maxLength: 12 }), (message, places) => {
        const finish = finishReason(message);
        const bytes = Buffer.from(frames(payloads(deltasOf(message), finish)));
        const asked = dialect.ask([], true);
        const text = runStream(asked.stream(), [bytes]);
        expect(runStream(asked.stream(), cut(bytes, places))).toBe(text);
        const streamed = dialect.assembled((dialect.written ?? eventsIn)(text));
        const whole = asked.whole(answer(message, finish));
        // A client of the Gemini API joins adjacent texts, also of a whole answer.
        const joined = dialect.written === undefined ? whole : dialect.assembled([whole as { readonly type: string }]);
        expect(comparable(streamed)).toEqual(comparable(joined));
        expect(returned(dialect, streamed)).toEqual(message);
      }),
    );
  });
});
