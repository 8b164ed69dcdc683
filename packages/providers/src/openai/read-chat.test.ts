import { describe, expect, it } from 'vitest';
import type { ChatAnswer } from '../adapter.ts';
import { ours, theirs } from '../testing/fixtures.ts';
import { readChat } from './read-chat.ts';

const completion = (message: object, finish_reason: unknown = 'stop', more: object = {}): object => ({
  ...theirs,
  object: 'chat.completion',
  choices: [{ index: 0, message: { role: 'assistant', ...message }, logprobs: null, finish_reason }],
  usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 },
  ...more,
});

const read = (body: unknown, stripReasoning = false) =>
  readChat(Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)), { identity: ours, stripReasoning });

function answered(body: unknown, stripReasoning = false): ChatAnswer {
  const reading = read(body, stripReasoning);
  if (!reading.ok) throw new Error(`not read: ${reading.outcome}`);
  return reading.answer;
}

const messageOf = (body: unknown, stripReasoning = false) => answered(body, stripReasoning).choices[0]?.message;

describe('a whole answer', () => {
  it('is written under our id, time and model, without other fields', () => {
    const body = completion({ content: 'hi', refusal: null, annotations: [] }, 'stop', {
      service_tier: 'x',
      x_groq: {},
    });
    expect(answered(body)).toEqual({
      ...ours,
      object: 'chat.completion',
      system_fingerprint: '',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'hi', refusal: null },
          logprobs: null,
          finish_reason: 'stop',
        },
      ],
    });
  });

  it('has the reported usage and the bytes that it produced', () => {
    const reading = read(completion({ content: 'é', reasoning_content: 'ab' }));
    expect(reading).toMatchObject({ reported: { usage: { promptTokens: 3, completionTokens: 4 } }, producedBytes: 4 });
    expect(read(completion({ content: 'x' }, 'stop', { usage: null }))).toMatchObject({
      ok: true,
      reported: undefined,
    });
    const call = { id: 'c', type: 'function', function: { name: 'née', arguments: '{}' } };
    expect(read(completion({ tool_calls: [call] }, 'tool_calls'))).toMatchObject({ producedBytes: 6 });
  });

  it('is malformed if it has neither a finish reason nor output', () => {
    const malformed = { ok: false, outcome: 'malformed_answer' };
    for (const content of ['', null]) expect(read(completion({ content }, null))).toEqual(malformed);
    expect(answered(completion({ content: 'a' }, null)).choices[0]?.finish_reason).toBe('stop');
  });

  it('keeps content unchanged: empty, absent, escaped', () => {
    expect(messageOf(completion({ content: '' }))?.content).toBe('');
    expect(messageOf(completion({ content: null }))?.content).toBeNull();
    expect(messageOf(completion({ content: '"\\\n🦔\u2028' }))?.content).toBe('"\\\n🦔\u2028');
  });

  it.each([
    ['reasoning_content', { content: 'x', reasoning_content: 'let me see' }],
    ['reasoning', { content: 'x', reasoning: 'let me see' }],
    ['both spellings', { content: 'x', reasoning: 'let me see', reasoning_content: 'let me see' }],
    [
      'thinking parts',
      {
        content: [
          {
            type: 'thinking',
            thinking: [
              { type: 'text', text: 'let me ' },
              { type: 'text', text: 'see' },
            ],
          },
          { type: 'text', text: 'x' },
        ],
      },
    ],
  ])('has its reasoning as one text, from %s, unless the trace is hidden', (_, message) => {
    const said = { role: 'assistant', content: 'x', refusal: null };
    expect(messageOf(completion(message))).toEqual({
      ...said,
      reasoning: 'let me see',
      reasoning_content: 'let me see',
    });
    expect(messageOf(completion(message), true)).toEqual(said);
  });

  it('joins the text parts of a content list and skips other parts', () => {
    const content = [
      { type: 'text', text: 'a' },
      { type: 'reference', reference_ids: [1] },
      7,
      { type: 'text', text: 'b' },
    ];
    expect(messageOf(completion({ content }))?.content).toBe('ab');
  });

  it('carries a refusal and the finish reason', () => {
    const [choice] = answered(completion({ content: null, refusal: 'no' }, 'content_filter')).choices;
    expect(choice).toEqual({
      index: 0,
      message: { role: 'assistant', content: null, refusal: 'no' },
      logprobs: null,
      finish_reason: 'content_filter',
    });
  });

  it('carries tool calls, without fields that providers add', () => {
    const call = { id: 'c1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } };
    const message = { content: null, tool_calls: [{ ...call, index: 0, extra: 1 }] };
    expect(messageOf(completion(message, 'tool_calls'))?.tool_calls).toEqual([call]);
    expect(messageOf(completion({ content: 'x', tool_calls: null }))).not.toHaveProperty('tool_calls');
  });

  it('creates different ids for tool calls without one', () => {
    const bare = { type: 'function', function: { name: 'f', arguments: '{}' } };
    const calls = messageOf(completion({ tool_calls: [bare, { ...bare, id: '' }] }, 'tool_calls'))?.tool_calls ?? [];
    expect(calls.map(({ id }) => id)).toEqual([
      expect.stringMatching(/^call_[\w-]{24}$/),
      expect.stringMatching(/^call_/),
    ]);
    expect(calls[0]?.id).not.toBe(calls[1]?.id);
    expect(calls[0]?.id).not.toContain(ours.id);
  });
});

describe('an invalid answer', () => {
  it.each([
    ['nothing', '', 'malformed_answer'],
    ['a page', '<html>', 'malformed_answer'],
    ['half an answer', JSON.stringify(completion({ content: 'x' })).slice(0, -9), 'malformed_answer'],
    ['a list', '[]', 'malformed_answer'],
    ['an object without choices', {}, 'malformed_answer'],
    ['no choice', { choices: [] }, 'malformed_answer'],
    ['a choice without a message', { choices: [{ finish_reason: 'stop' }] }, 'malformed_answer'],
    ['a choice that failed', completion({ content: 'x' }, 'error'), 'server_error'],
    ['an error under status 200', { error: { message: 'x', code: 429 } }, 'rate_limited'],
    ['an error beside an answer', completion({ content: 'x' }, 'stop', { error: { code: 500 } }), 'server_error'],
    ['an error object', { object: 'error', message: 'x', code: 503 }, 'server_error'],
  ])('is told apart: %s', (_, body, outcome) => {
    expect(read(body)).toEqual({ ok: false, outcome });
  });

  it('treats an `error` of null as absent', () => {
    expect(read(completion({ content: 'x' }, 'stop', { error: null })).ok).toBe(true);
  });
});
