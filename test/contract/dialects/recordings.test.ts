import { loadAdapter } from '@sotto/providers';
import { type ChatRequest, chatRequestSchema } from '@sotto/wire';
import { describe, expect, it } from 'vitest';
import { translateMessages } from '../../../packages/client/src/dialects/messages/translate.ts';
import { translateResponses } from '../../../packages/client/src/dialects/responses/translate.ts';
import { eventsIn } from '../../../packages/client/src/dialects/testing/answers.ts';
import { cut, runStream } from '../../../packages/client/src/dialects/testing/run-stream.ts';
import type { ChatAnswer, Models, Translation } from '../../../packages/client/src/dialects/translation.ts';
import { target } from '../../../packages/providers/src/testing/fixtures.ts';
import { framesOf, type Recording, recordings, saidOf } from '../replay/recordings.ts';
import { type Said, saidReaders, withEvenArguments } from '../replay/said.ts';

/** Recorded answers of real providers, as the service passes them on, and as the dialects of the local proxy write them. */
const tapes = recordings();
const identity = { id: 'chatcmpl-ours', created: 1, model: 'acme/small' };
const options = { identity, stripReasoning: false };
const models: Models = { resolve: (name) => name, find: () => undefined };

const adapters = {
  openai: await loadAdapter('openai'),
  anthropic: await loadAdapter('anthropic'),
  google: await loadAdapter('google'),
  bedrock: await loadAdapter('bedrock'),
};

function wholeChat(tape: Recording): ChatAnswer {
  const reading = adapters[tape.api].readChat(Buffer.from(tape.whole ?? ''), options);
  if (!reading.ok) throw new Error(reading.outcome);
  return {
    ...reading.answer,
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2, cost: 0 },
  } as ChatAnswer;
}

function streamedChat(tape: Recording): Uint8Array {
  const reader = adapters[tape.api].openChatStream(options);
  const sent = framesOf(tape).map((frame) => reader.push(frame.toString('latin1')));
  return Buffer.from([...sent, reader.end()].join(''), 'latin1');
}

interface Output {
  readonly output: readonly {
    readonly type: string;
    readonly summary?: readonly { readonly text: string }[];
    readonly content?: readonly { readonly text?: string; readonly refusal?: string }[];
    readonly call_id?: string;
    readonly name?: string;
    readonly arguments?: string;
  }[];
}

/** Reads the content of a response. */
function saidBy({ output }: Output): Pick<Said, 'text' | 'reasoning' | 'calls'> {
  const texts = output.flatMap(({ content = [] }) => content.map((part) => part.text ?? part.refusal ?? ''));
  const thoughts = output.flatMap(({ summary = [] }) => summary.map(({ text }) => text));
  const calls = output.flatMap((item) =>
    item.type === 'function_call'
      ? [{ id: item.call_id ?? '', name: item.name ?? '', args: item.arguments ?? '' }]
      : [],
  );
  return { text: texts.join(''), reasoning: thoughts.join(''), calls };
}

/** The content of a recording. Leaves out counts, and the ids that the service gives to calls without any. */
function content(said: Pick<Said, 'text' | 'reasoning' | 'calls'>, { api }: Recording) {
  const { text, reasoning, calls } = withEvenArguments({ ...said, finish: undefined, usage: {} });
  return { text, reasoning, calls: api === 'google' ? calls.map(({ name, args }) => ({ name, args })) : calls };
}

const messages = [{ role: 'user', content: 'hi' }];
const asMessages = (stream: boolean, more: readonly object[] = []): Translation =>
  translateMessages({ model: 'acme/small', max_tokens: 100, stream, messages: [...messages, ...more] }, models);
const asResponses = (stream: boolean): Translation =>
  translateResponses({ model: 'acme/small', stream, input: messages }, models, false);

describe.each(tapes.filter(({ whole }) => whole !== undefined))('the answer $name', (tape) => {
  it('says the same in both dialects', () => {
    const chat = wholeChat(tape);
    const said = content(saidOf(tape, 'whole'), tape);
    const message = asMessages(false).whole(chat);
    expect(content(saidReaders.anthropic.whole(JSON.stringify(message)), tape)).toEqual(said);
    expect(content(saidBy(asResponses(false).whole(chat) as Output), tape)).toEqual(said);
  });

  if (tape.api !== 'anthropic') return;
  it('reaches the provider that gave it again as it was', () => {
    const { content: given } = asMessages(false).whole(wholeChat(tape)) as { content: readonly object[] };
    const { body } = asMessages(false, [{ role: 'assistant', content: given }]);
    const request: ChatRequest = chatRequestSchema.parse(body);
    const sent = adapters.anthropic.chatRequest(request, target());
    if (!('body' in sent)) throw new Error('the adapter refused it');
    const kinds = new Set(['thinking', 'redacted_thinking', 'text', 'tool_use']);
    const original = (JSON.parse(tape.whole ?? '') as { content: { type: string; text?: string }[] }).content;
    const { messages: returned } = JSON.parse(String(sent.body)) as { messages: { content: unknown }[] };
    expect(returned[1]?.content ?? []).toEqual(
      original
        .filter(({ type, text }) => kinds.has(type) && text !== '')
        .map(({ type, ...block }) => expect.objectContaining({ type, ...withoutExtras(block) })),
    );
  });
});

/** A block without what is of no use to the model: citations, and who called. */
function withoutExtras(block: object): object {
  const { citations: _, caller: __, ...rest } = block as { readonly citations?: unknown; readonly caller?: unknown };
  return rest;
}

describe.each(tapes.filter(({ events }) => events !== undefined))('the stream $name', (tape) => {
  it('says the same in both dialects, wherever its bytes are cut', () => {
    const bytes = streamedChat(tape);
    const said = content(saidOf(tape, 'stream'), tape);
    for (const pieces of [
      [bytes],
      cut(
        bytes,
        Array.from(bytes, (_, place) => place),
      ),
    ]) {
      const events = eventsIn(runStream(asMessages(true).stream(), pieces));
      expect(content(saidReaders.anthropic.stream(events.map((event) => JSON.stringify(event))), tape)).toEqual(said);
      const last = eventsIn(runStream(asResponses(true).stream(), pieces)).at(-1) as unknown as { response: Output };
      expect(content(saidBy(last.response), tape)).toEqual(said);
    }
  });
});
