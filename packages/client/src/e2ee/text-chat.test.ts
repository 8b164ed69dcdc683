import { describe, expect, it } from 'vitest';
import { ClientError } from '../errors.ts';
import { readTextChat } from './text-chat.ts';

const hello = { role: 'user', content: 'Hello' };
const chat = (extra: object = {}) => ({ model: 'acme/small', messages: [hello], ...extra });
const withMessage = (message: unknown) => chat({ messages: [hello, message] });

function refusalOf(body: unknown): { code: string; param: string | undefined } {
  try {
    readTextChat(body);
  } catch (error) {
    if (error instanceof ClientError) return { code: error.code, param: error.param };
  }
  throw new Error('was not refused');
}

describe('a text chat', () => {
  it('keeps texts, roles and settings', () => {
    const messages = (['system', 'user', 'assistant', 'system'] as const).map((role) => ({ role, content: role }));
    const settings = { temperature: 0.2, top_p: 0.9, seed: 7, frequency_penalty: 1, presence_penalty: -1 };
    expect(readTextChat(chat({ messages, ...settings, max_completion_tokens: 9 }))).toEqual({
      model: 'acme/small',
      messages,
      stream: false,
      includeUsage: false,
      settings: { ...settings, max_completion_tokens: 9 },
    });
  });

  it('has one system message at the start, which holds the developer messages there', () => {
    const messages = [
      { role: 'system', content: 'a' },
      { role: 'developer', content: [{ type: 'text', text: 'b' }] },
      hello,
      { role: 'developer', content: 'c' },
    ];
    expect(readTextChat(chat({ messages })).messages).toEqual([
      { role: 'system', content: 'a\n\nb' },
      hello,
      { role: 'system', content: 'c' },
    ]);
  });

  it('treats null as absent, and drops routing settings and ignored fields', () => {
    const ignored = { provider: { only: ['acme'] }, plugins: ['x'], transforms: [], logprobs: true, n: 1 };
    const absent = { tools: null, stop: null, user: null, stream: null, temperature: null };
    expect(readTextChat(chat({ ...ignored, ...absent }))).toEqual(readTextChat(chat()));
  });

  it('reads the two spellings of an effort as one', () => {
    const effort = (extra: object) => readTextChat(chat(extra)).settings.reasoning_effort;
    expect(effort({ reasoning_effort: 'high' })).toBe('high');
    expect(effort({ reasoning: { effort: 'high', enabled: true } })).toBe('high');
    expect(effort({ reasoning: { effort: 'high' }, reasoning_effort: 'high' })).toBe('high');
    expect(refusalOf(chat({ reasoning: { effort: 'low' }, reasoning_effort: 'high' })).param).toBe('reasoning.effort');
  });

  it('asks for usage if the caller does', () => {
    expect(readTextChat(chat({ stream: true, stream_options: { include_usage: true } })).includeUsage).toBe(true);
  });
});

describe('a field that end-to-end encryption does not carry', () => {
  it.each([
    [chat({ tools: [] }), 'tools'],
    [chat({ tools: [{ type: 'function' }] }), 'tools'],
    [chat({ tool_choice: 'auto' }), 'tool_choice'],
    [chat({ functions: [] }), 'functions'],
    [chat({ response_format: { type: 'json_object' } }), 'response_format'],
    [chat({ stop: 'END' }), 'stop'],
    [chat({ user: 'me' }), 'user'],
    [chat({ metadata: {} }), 'metadata'],
    [chat({ models: ['acme/large'] }), 'models'],
    [chat({ acme_parameters: { strip_thinking_response: true } }), 'acme_parameters'],
    [chat({ attachments: [] }), 'attachments'],
    [chat({ reasoning: { enabled: false } }), 'reasoning.enabled'],
    [chat({ stream_options: { note: 'x' } }), 'stream_options.note'],
    [withMessage({ role: 'tool', content: 'x', tool_call_id: 'y' }), 'messages.1.tool_call_id'],
    [withMessage({ role: 'tool', content: 'x' }), 'messages.1.role'],
    [withMessage({ role: 'user', content: 'x', name: 'Ann' }), 'messages.1.name'],
    [withMessage({ role: 'user', content: 'x', attachments: ['y'] }), 'messages.1.attachments'],
    [withMessage({ role: 'assistant', content: 'x', tool_calls: [{}] }), 'messages.1.tool_calls'],
    [withMessage({ role: 'assistant', content: 'x', refusal: 'no' }), 'messages.1.refusal'],
    [withMessage({ role: 'user', content: [{ type: 'image_url', image_url: {} }] }), 'messages.1.content.0'],
    [withMessage({ role: 'user', content: [{ type: 'text', text: 'x', cache: 1 }] }), 'messages.1.content.0.cache'],
  ])('is refused by name: %j', (body, param) => {
    expect(refusalOf(body)).toEqual({ code: 'e2ee_request_unsupported', param });
  });

  it.each([
    [null, ''],
    ['text', ''],
    [{ messages: [hello] }, 'model'],
    [{ model: 'm', messages: [] }, 'messages'],
    [{ model: 'm', messages: 'Hello' }, 'messages'],
    [chat({ n: 2 }), 'n'],
    [chat({ stream: 'yes' }), 'stream'],
    [chat({ temperature: '1' }), 'temperature'],
    [chat({ temperature: Number.NaN }), 'temperature'],
    [chat({ max_tokens: 0 }), 'max_tokens'],
    [chat({ max_tokens: 1, max_completion_tokens: 2 }), 'max_completion_tokens'],
    [chat({ reasoning_effort: 'a secret word' }), 'reasoning_effort'],
    [withMessage('Hello'), 'messages.1'],
    [withMessage({ role: 'my secret', content: 'x' }), 'messages.1.role'],
    [withMessage({ role: 'user' }), 'messages.1.content'],
    [withMessage({ role: 'user', content: [] }), 'messages.1.content'],
    [withMessage({ role: 'user', content: { text: 'x' } }), 'messages.1.content'],
    [withMessage({ role: 'user', content: '\ud800' }), 'messages.1.content'],
  ])('is reported as malformed with its path: %j', (body, param) => {
    expect(refusalOf(body)).toEqual({ code: 'e2ee_request_invalid', param });
  });

  it('is not named in the error if its name may be content', () => {
    expect(refusalOf(chat({ 'what I ask': 1 }))).toEqual({ code: 'e2ee_request_unsupported', param: '' });
    expect(refusalOf(withMessage({ ...hello, 'what I ask': 1 })).param).toBe('messages.1');
  });
});
