import { chatRequestSchema } from '@sotto/wire';
import { describe, expect, it } from 'vitest';
import { answer, failedChunk, frames, models, payloads } from '../testing/answers.ts';
import { eventsIn, runStream } from '../testing/run-stream.ts';
import { UnwritableAnswer } from '../translation.ts';
import { KeptAnswers } from './kept-answers.ts';
import { translateCompaction, translateResponses } from './translate.ts';

const options = { isCodex: false, kept: new KeptAnswers() };
const tools = [{ type: 'function', name: 'exec', parameters: { type: 'object' } }];
const input = [
  { type: 'message', role: 'developer', content: 'Rules.' },
  { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Mend it.' }] },
  { type: 'function_call', call_id: 'c', name: 'exec', arguments: '{}' },
  { type: 'function_call_output', call_id: 'c', output: 'done' },
];
const asked = { model: 'acme/small', instructions: 'Be brief.', input, tools };
const trigger = (more: object = {}) =>
  translateResponses({ ...asked, input: [...input, { type: 'compaction_trigger' }], ...more }, models, options);
const compaction = {
  type: 'compaction',
  id: expect.any(String),
  encrypted_content: expect.stringMatching(/^sotto\.1\./),
};

describe('the compaction of a conversation', () => {
  it('asks the model for a summary, with the tools of the conversation and without a call', () => {
    const { body } = trigger({ text: { format: { type: 'json_object' } } });
    chatRequestSchema.parse(body);
    expect(body).toMatchObject({ tool_choice: 'none', tools: [{ function: { name: 'exec' } }] });
    expect(body.response_format).toBeUndefined();
    expect(body.messages).toHaveLength(6);
    expect(body.messages.at(-1)).toMatchObject({ role: 'user', content: expect.stringMatching(/^Summarise/) });
  });

  it('gives an item that the next request begins with, and that the model reads as the summary', () => {
    const { output } = trigger().whole(answer({ content: 'It is mended.' })) as { output: object[] };
    expect(output).toEqual([compaction]);
    const next = translateResponses({ ...asked, input: [...input.slice(0, 2), ...output] }, models, options);
    expect(next.body.messages.at(-1)).toEqual({
      role: 'user',
      content: expect.stringMatching(/shortened.*\n\nIt is mended\.$/s),
    });
  });

  it('streams the item alone, as Codex reads it', () => {
    const chunks = payloads([{ reasoning: 'Hm.' }, { content: 'It is ' }, { content: 'mended.' }]);
    const events = eventsIn(runStream(trigger({ stream: true }).stream(), [Buffer.from(frames(chunks))]));
    expect(events).toMatchObject([
      { type: 'response.created' },
      { type: 'response.in_progress' },
      { type: 'response.output_item.added' },
      { type: 'response.output_item.done', item: compaction },
      {
        type: 'response.completed',
        response: { status: 'completed', output: [compaction], usage: { total_tokens: 120 } },
      },
    ]);
  });

  it('fails if the model wrote no summary, or the answer failed', () => {
    expect(() => trigger().whole(answer({ content: '' }))).toThrow(UnwritableAnswer);
    for (const chunks of [payloads([]), [...payloads([{ content: 'It' }]).slice(0, 1), failedChunk]]) {
      const events = eventsIn(runStream(trigger({ stream: true }).stream(), [Buffer.from(frames(chunks))]));
      expect(events.map(({ type }) => type).slice(-2)).toEqual(['error', 'response.failed']);
    }
  });

  it('by its own path keeps the latest messages of the user beside the item', () => {
    const long = { type: 'message', role: 'user', content: 'x'.repeat(79_900) };
    const compact = translateCompaction({ ...asked, input: [...input, long] }, models, options);
    expect(compact.body.stream).toBeUndefined();
    expect(compact.whole(answer({ content: 'It is mended.' }))).toMatchObject({
      object: 'response.compaction',
      output: [long, compaction],
      usage: { input_tokens: 100 },
    });
    const whole = translateCompaction(asked, models, options).whole(answer({ content: 'It is mended.' }));
    expect(whole).toMatchObject({ output: [input[1], compaction] });
  });

  it('refuses a summary of another service, without which the conversation would be another', () => {
    const foreign = [{ type: 'compaction', encrypted_content: 'gAAAAB' }, ...input];
    expect(() => translateResponses({ ...asked, input: foreign }, models, options)).toThrow(
      expect.objectContaining({ param: 'input.0', message: expect.stringContaining('begin a new conversation') }),
    );
  });
});
