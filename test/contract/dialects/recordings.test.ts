import { cut } from '@sotto/dialects/testing';
import { target } from '@sotto/providers/testing';
import { type ChatRequest, chatRequestSchema } from '@sotto/wire';
import { describe, expect, it } from 'vitest';
import { framesOf, type Recording, recordings, saidOf } from '../replay/recordings.ts';
import { type Said, withEvenArguments } from '../replay/said.ts';
import { adapters, asMessages, streamedChat, streamedIn, wholeChat, wholeIn } from './pipeline.ts';

/** Recorded answers of real providers, as the service passes them on, and as the dialects of the local proxy write them. */
const tapes = recordings();

/** The content of a recording. Leaves out counts, and the ids that the service gives to calls without any. */
function content(said: Pick<Said, 'text' | 'reasoning' | 'calls'>, { api }: Recording) {
  const { text, reasoning, calls } = withEvenArguments({ ...said, finish: undefined, usage: {} });
  return { text, reasoning, calls: api === 'google' ? calls.map(({ name, args }) => ({ name, args })) : calls };
}

describe.each(tapes.filter(({ whole }) => whole !== undefined))('the answer $name', (tape) => {
  it('says the same in both dialects', () => {
    const chat = wholeChat(tape.api, tape.whole ?? '');
    const said = content(saidOf(tape, 'whole'), tape);
    for (const read of [wholeIn.messages, wholeIn.responses]) expect(content(read(chat), tape)).toEqual(said);
  });

  if (tape.api !== 'anthropic') return;
  it('reaches the provider that gave it again as it was', () => {
    const { content: given } = asMessages(false).whole(wholeChat(tape.api, tape.whole ?? '')) as {
      content: readonly object[];
    };
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
    const bytes = streamedChat(tape.api, framesOf(tape));
    const said = content(saidOf(tape, 'stream'), tape);
    for (const pieces of [
      [bytes],
      cut(
        bytes,
        Array.from(bytes, (_, place) => place),
      ),
    ]) {
      for (const read of [streamedIn.messages, streamedIn.responses]) expect(content(read(pieces), tape)).toEqual(said);
    }
  });
});
