import { describe, expect, it } from 'vitest';
import { readError, readStream, type StreamPiece } from './read-stream.ts';

const event = (value: object): string => `data: ${JSON.stringify(value)}\n\n`;
const chunk = (delta: object, more: object = {}): string =>
  event({
    id: 'x',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'a/b',
    choices: [{ index: 0, delta, finish_reason: null }],
    ...more,
  });

/** Cut anywhere, also in the middle of a character. */
const streamOf = (text: string, size: number): Response => {
  const bytes = new TextEncoder().encode(text);
  const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
    bytes.slice(at * size, (at + 1) * size),
  );
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const piece of pieces) controller.enqueue(piece);
      controller.close();
    },
  });
  return new Response(body);
};

const read = async (text: string, size = 7): Promise<readonly StreamPiece[]> => {
  const pieces: StreamPiece[] = [];
  await readStream(streamOf(text, size), (piece) => pieces.push(piece));
  return pieces;
};

describe('readStream', () => {
  it('puts text, reasoning and usage together, however the bytes are cut', async () => {
    const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3, cost: 0.5 };
    const text = `${chunk({ role: 'assistant', content: '' })}: a comment\n\n${chunk({ reasoning: 'Hm.' })}${chunk({ content: 'Grüße' })}${chunk({ content: ' 🙂' })}${event({ id: 'x', model: 'a/b', choices: [], usage })}data: [DONE]\n\n`;
    for (const size of [1, 3, 1000]) {
      const pieces = await read(text, size);
      expect(pieces.map((piece) => piece.text).join('')).toBe('Grüße 🙂');
      expect(pieces.map(({ reasoning }) => reasoning).join('')).toBe('Hm.');
      expect(pieces.at(-1)?.usage).toEqual(usage);
    }
  });

  it('shows the words of a model that refuses', async () => {
    const pieces = await read(`${chunk({ content: null, refusal: 'I will not.' })}data: [DONE]\n\n`);
    expect(pieces.map(({ text }) => text)).toEqual(['I will not.']);
  });

  it('throws the error of the service that came in the middle', async () => {
    const error = { message: 'It broke.', type: 'provider_error', request_id: 'req_1' };
    const text = `${chunk({ content: 'Hel' })}${chunk({}, { error })}`;
    await expect(read(text)).rejects.toMatchObject({
      message: 'It broke.',
      type: 'provider_error',
      requestId: 'req_1',
    });
  });

  it('says that an answer without its end is incomplete', async () => {
    await expect(read(chunk({ content: 'Hel' }))).rejects.toMatchObject({ type: 'incomplete' });
    await expect(readStream(new Response(null), () => {})).rejects.toMatchObject({ type: 'incomplete' });
    expect(readError(new TypeError('network error'))).toMatchObject({ type: 'incomplete' });
  });
});
