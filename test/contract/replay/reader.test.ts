import { loadAdapter, shownUsage } from '@sotto/providers';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { comparable, framesOf, providersOwnNames, recordings, saidOf } from './recordings.ts';
import { saidReaders } from './said.ts';

const identity = { id: 'chatcmpl-ours', created: 1_750_000_000, model: 'lab/one' };
const adapters = {
  openai: await loadAdapter('openai'),
  anthropic: await loadAdapter('anthropic'),
  google: await loadAdapter('google'),
  bedrock: await loadAdapter('bedrock'),
};

describe.each(recordings())('the recording $name', (recording) => {
  const { api, whole, events } = recording;
  const adapter = adapters[api];
  const hidden = providersOwnNames(recording);

  it("has the provider's own names, if its API sends them", () => {
    expect(hidden.length > 0).toBe(api !== 'bedrock');
  });

  it.skipIf(whole === undefined)('is read as a whole without a loss', () => {
    const reading = adapter.readChat(Buffer.from(whole ?? ''), { identity, stripReasoning: false });
    if (!reading.ok) throw new Error(reading.outcome);
    const { reported } = reading;
    const answer = JSON.stringify({ ...reading.answer, usage: reported && shownUsage(reported, reported.usage) });
    expect(comparable(recording, saidReaders.openai.whole(answer))).toEqual(
      comparable(recording, saidOf(recording, 'whole')),
    );
    for (const name of hidden) expect(answer).not.toContain(name);
  });

  it.skipIf(events === undefined)('is read as a stream without a loss, cut wherever', () => {
    const said = saidOf(recording, 'stream');
    const stream = Buffer.concat(framesOf(recording));
    const cuts = fc.array(fc.nat({ max: stream.length }), { maxLength: 40 });
    const everyByte = Array.from(stream, (_, at) => at);
    fc.assert(
      fc.property(cuts, (places) => {
        const reader = adapter.openChatStream({ identity, stripReasoning: false });
        const ends = [...new Set(places)].sort((a, b) => a - b);
        let out = '';
        for (const [i, start] of [0, ...ends].entries()) out += reader.push(stream.toString('latin1', start, ends[i]));
        out += reader.end();
        const sent = Buffer.from(out, 'latin1').toString('utf8');
        const frames = sent.split('\n\n').slice(0, -1);
        const read = saidReaders.openai.stream(frames.map((frame) => frame.slice('data: '.length)));
        expect(comparable(recording, { ...read, usage: said.usage })).toEqual(comparable(recording, said));
        expect(reader).toMatchObject({ failure: undefined, isComplete: true, hasOutput: true });
        // Google's stream has no terminator: it ends when the connection closes.
        expect(reader.isTerminated).toBe(api !== 'google');
        const { reported } = reader;
        const { total_tokens } = said.usage;
        expect(reported && shownUsage(reported, reported.usage)).toMatchObject({ total_tokens });
        for (const name of hidden) expect(sent).not.toContain(name);
      }),
      { numRuns: 10, examples: [[[]], [everyByte]] },
    );
  });
});
