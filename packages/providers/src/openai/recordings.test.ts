import { describe, expect, it } from 'vitest';
import { frame, ours, runStream } from '../testing/fixtures.ts';
import { ownRecordings, type Recording } from '../testing/recordings.ts';
import { openAiAdapter } from './openai-adapter.ts';

/** The expected content of a recording, as a reader of the file sees it. */
const expected: Record<string, { text: string; reasoning: string; calls: string[]; finish: string; usage: object }> = {
  'own-text': {
    text: 'Ein "Igel" läuft über C:\\wiese\\tau.\n\n\t🦔 → 日本語, done.',
    reasoning: '',
    calls: [],
    finish: 'stop',
    usage: { promptTokens: 17, cachedTokens: 8, cacheWriteTokens: 0, completionTokens: 16, reasoningTokens: 0 },
  },
  'own-tool-calls': {
    text: '',
    reasoning: 'Two cities, two calls: "Graz" & "Århus".',
    calls: ['call_own_a weather {"city":"Graz","days":2}', 'call_own_b weather {"city":"Århus \\"havn\\"","days":1}'],
    finish: 'tool_calls',
    usage: { promptTokens: 120, cachedTokens: 64, cacheWriteTokens: 0, completionTokens: 70, reasoningTokens: 40 },
  },
  'own-thinking': {
    text: '3 × 4 = 12, be',
    reasoning: '3 × 4, so "twelve".',
    calls: [],
    finish: 'length',
    usage: { promptTokens: 9, cachedTokens: 0, cacheWriteTokens: 0, completionTokens: 12, reasoningTokens: 0 },
  },
};

const names = ({ whole }: Recording): string[] =>
  [...whole.matchAll(/"(?:id|model|system_fingerprint)": "([^"]+)"/g)]
    .map(([, name]) => name ?? '')
    .filter((name) => !name.startsWith('call_'));

const recordings = ownRecordings('openai');

it('there are recordings, and each says what a provider calls itself', () => {
  expect(recordings.map(({ name }) => name).sort()).toEqual(Object.keys(expected).sort());
  for (const recording of recordings) expect(names(recording).length).toBeGreaterThan(1);
});

describe.each(recordings)('$name', (recording) => {
  const { name, whole, events } = recording;
  const says = expected[name];

  it('arrives unchanged as a whole', () => {
    const reading = openAiAdapter.readChat(Buffer.from(whole), { identity: ours, stripReasoning: false });
    if (!reading.ok) throw new Error(reading.outcome);
    const [choice] = reading.answer.choices;
    expect({
      text: choice?.message.content,
      reasoning: choice?.message.reasoning ?? '',
      calls: (choice?.message.tool_calls ?? []).map(
        (call) => `${call.id} ${call.function.name} ${call.function.arguments}`,
      ),
      finish: choice?.finish_reason,
      usage: reading.reported?.usage,
    }).toEqual(says);
    for (const theirs of names(recording)) expect(JSON.stringify(reading.answer)).not.toContain(theirs);
  });

  it.each(['an event a read', 'all at once', 'a byte a read'])('arrives unchanged as a stream, %s', (how) => {
    const frames = [...events, '[DONE]'].map(frame);
    const all = Buffer.from(frames.join(''));
    const pieces =
      how === 'an event a read'
        ? frames
        : how === 'all at once'
          ? [all]
          : Array.from(all, (byte) => Buffer.from([byte]));
    const { reader, chunks, text, reasoning, sent } = runStream(pieces);
    const calls: { id: string; name: string; args: string }[] = [];
    for (const piece of chunks.flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? [])) {
      calls[piece.index] ??= { id: '', name: '', args: '' };
      const call = calls[piece.index] ?? never();
      call.id += piece.id ?? '';
      call.name += piece.function?.name ?? '';
      call.args += piece.function?.arguments ?? '';
    }
    expect({
      text,
      reasoning,
      calls: calls.map((call) => `${call.id} ${call.name} ${call.args}`),
      finish: chunks.map(({ choices }) => choices[0]?.finish_reason).find(Boolean),
      usage: reader.reported?.usage,
    }).toEqual(says);
    expect(reader).toMatchObject({ failure: undefined, isComplete: true, isTerminated: true, hasOutput: true });
    for (const theirs of names(recording)) expect(sent).not.toContain(theirs);
  });
});

function never(): never {
  throw new Error('it was just put there');
}
