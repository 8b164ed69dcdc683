import { sseFrame, sseKeepAlive } from '@sotto/wire';
import { expect, it } from 'vitest';
import { writtenAnswer } from './serve-translation.ts';
import { watchingUsage } from './stated-usage.ts';

const word = sseFrame('{"choices":[]}');
const usage = sseFrame('{"usage":{"cost":0.5}}');

it('has something for each piece that arrives, also where the usage is hidden: programs give up a silent answer', async () => {
  async function* body(): AsyncGenerator<Uint8Array> {
    for (const piece of [': OPENROUTER PROCESSING\n\n', word, usage, sseFrame('[DONE]')]) yield Buffer.from(piece);
  }
  const costs: bigint[] = [];
  const { body: shown } = watchingUsage(
    { ...writtenAnswer({ status: 200, headers: {}, body: '' }), body: body() },
    { isStream: true, hidesUsage: true, onStated: ({ cost }) => costs.push(cost), onEnd: () => undefined },
  );
  const pieces: string[] = [];
  for await (const piece of shown) pieces.push(Buffer.from(piece).toString());
  expect(pieces).toEqual([sseKeepAlive, word, sseKeepAlive, sseFrame('[DONE]')]);
  expect(costs).toEqual([500_000_000n]);
});
