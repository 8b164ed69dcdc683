import { loadAdapter } from '@sotto/providers';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { openAiRecordings, providersOwnNames, saidInStream, saidWhole } from './recordings.ts';

const openAiAdapter = await loadAdapter('openai');
const identity = { id: 'chatcmpl-ours', created: 1_750_000_000, model: 'lab/one' };

describe.each(openAiRecordings())('the recording $name', (recording) => {
  const { whole, events } = recording;
  const hidden = providersOwnNames(recording);

  it('is read as a whole without a loss', () => {
    const reading = openAiAdapter.readChat(Buffer.from(whole), { identity, stripReasoning: false });
    if (!reading.ok) throw new Error(reading.outcome);
    const answer = JSON.stringify({ ...reading.answer, usage: reading.reported?.shown });
    expect(saidWhole(answer)).toEqual(saidWhole(whole));
    for (const name of hidden) expect(answer).not.toContain(name);
  });

  it.skipIf(events === undefined)('is read as a stream without a loss, cut wherever', () => {
    const payloads = events ?? [];
    const said = saidInStream(payloads);
    const stream = Buffer.from([...payloads, '[DONE]'].map((payload) => `data: ${payload}\n\n`).join(''));
    const cuts = fc.array(fc.nat({ max: stream.length }), { maxLength: 40 });
    const everyByte = Array.from(stream, (_, at) => at);
    fc.assert(
      fc.property(cuts, (places) => {
        const reader = openAiAdapter.openChatStream({ identity, stripReasoning: false });
        const ends = [...new Set(places)].sort((a, b) => a - b);
        let out = '';
        for (const [i, start] of [0, ...ends].entries()) out += reader.push(stream.toString('latin1', start, ends[i]));
        out += reader.end();
        const sent = Buffer.from(out, 'latin1').toString('utf8');
        const frames = sent.split('\n\n').slice(0, -1);
        expect({ ...saidInStream(frames.map((frame) => frame.slice('data: '.length))), usage: said.usage }).toEqual(
          said,
        );
        expect(reader).toMatchObject({ failure: undefined, isComplete: true, isTerminated: true, hasOutput: true });
        expect(reader.reported?.shown).toMatchObject({ total_tokens: said.usage.total_tokens });
        for (const name of hidden) expect(sent).not.toContain(name);
      }),
      { numRuns: 10, examples: [[[]], [everyByte]] },
    );
  });
});
