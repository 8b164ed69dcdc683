import { describe, expect, it } from 'vitest';
import { type AnswerHead, WatchedAnswer } from '../../kit/openai/watched-answer.ts';

const ours = ['x-request-id', 'req_0123456789abcdef'] as const;
const json = ['content-type', 'application/json; charset=utf-8'] as const;
const stream = ['content-type', 'text/event-stream; charset=utf-8'] as const;

const message = { role: 'assistant', content: 'hi', refusal: null };
const chat = {
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'acme/small',
  choices: [{ index: 0, message, logprobs: null, finish_reason: 'stop' }],
};
const chunkOf = (finish: string | null): object => ({
  ...chat,
  object: 'chat.completion.chunk',
  choices: [{ index: 0, delta: { content: 'hi' }, finish_reason: finish }],
});
const frameOf = (value: object): string => `data: ${JSON.stringify(value)}\n\n`;
const error = { message: 'No.', type: 'not_found', code: 'not_found', param: null, request_id: 'req_1' };

/** Returns the problems of an answer that arrives byte by byte. */
function problemsOf(text: string, head: Partial<AnswerHead> = {}): readonly string[] {
  const whole = { path: '/v1/chat/completions', status: 200, headers: new Map([ours, json]), isSealed: false };
  const answer = new WatchedAnswer({ ...whole, ...head });
  for (const byte of Buffer.from(text)) answer.take(Uint8Array.of(byte));
  return answer.end();
}

describe("the check of every answer against OpenAI's schema", () => {
  it('accepts whole answers, streams and errors with all their fields', () => {
    expect(problemsOf(JSON.stringify(chat))).toEqual([]);
    const text = `${frameOf(chunkOf(null))}${frameOf(chunkOf('stop'))}data: [DONE]\n\n`;
    expect(problemsOf(text, { headers: new Map([ours, stream]) })).toEqual([]);
    expect(problemsOf(JSON.stringify({ error }), { status: 404 })).toEqual([]);
  });

  it('reports a missing field', () => {
    const [choice] = chat.choices;
    const { logprobs: _, ...withoutLogprobs } = { ...choice };
    expect(problemsOf(JSON.stringify({ ...chat, choices: [withoutLogprobs] }))).toHaveLength(1);
    const { code: _code, ...withoutCode } = error;
    expect(problemsOf(JSON.stringify({ error: withoutCode }), { status: 404 })[0]).toContain("'code'");
  });

  it("reports a value outside OpenAI's schema, and an error in a stream without its fields", () => {
    const headers = new Map([ours, stream]);
    expect(problemsOf(frameOf(chunkOf('eos')), { headers })[0]).toContain('finish_reason');
    expect(problemsOf(frameOf({ ...chunkOf('error'), error }), { headers })).toEqual([]);
    expect(problemsOf(frameOf({ ...chunkOf('error'), error: { message: 'No.' } }), { headers })).toHaveLength(1);
  });

  it('skips stand-ins for the service, and answers that only an enclave can read', () => {
    expect(problemsOf('{}', { headers: new Map([json]) })).toEqual([]);
    expect(problemsOf('{}', { isSealed: true })).toEqual([]);
  });
});
