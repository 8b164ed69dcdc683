import { describe, expect, it } from 'vitest';
import { brokenOff } from '../chat-failure.ts';
import { answer, deltasOf, failedChunk, frames, models, payloads, type SaidMessage } from '../testing/answers.ts';
import { runStream } from '../testing/run-stream.ts';
import { UnwritableAnswer } from '../translation.ts';
import { geminiFailure } from './errors.ts';
import { translateGemini } from './translate.ts';

const ask = (sse: boolean, thinkingConfig: object = {}) =>
  translateGemini(
    { contents: [{ parts: [{ text: 'hi' }] }], generationConfig: { thinkingConfig } },
    { model: 'acme/small', method: 'streamGenerateContent', sse },
    models,
  );
const call = (text: string) => ({
  id: 'call_0',
  type: 'function' as const,
  function: { name: 'read', arguments: text },
});
const thinking: SaidMessage = { content: null, reasoning: 'Hm.', tool_calls: [call('{"path":"a"}')] };

describe('an answer of the Gemini API', () => {
  it('has the counts as Google counts them, and the reason of its end', () => {
    expect(ask(true).whole(answer({ content: 'Hi.' }, 'length'))).toEqual({
      candidates: [{ content: { role: 'model', parts: [{ text: 'Hi.' }] }, finishReason: 'MAX_TOKENS', index: 0 }],
      usageMetadata: {
        promptTokenCount: 100,
        candidatesTokenCount: 13,
        thoughtsTokenCount: 7,
        cachedContentTokenCount: 60,
        totalTokenCount: 120,
      },
      modelVersion: 'acme/small',
      responseId: 'chatcmpl-a1',
    });
  });

  it('shows thoughts only if asked, and always keeps them in the signature of what follows', () => {
    const parts = (config: object) =>
      (ask(true, config).whole(answer(thinking)) as { candidates: { content: { parts: object[] } }[] }).candidates[0]
        ?.content.parts;
    const called = { functionCall: { id: 'call_0', name: 'read', args: { path: 'a' } } };
    const signed = { ...called, thoughtSignature: expect.stringMatching(/^sotto\.1\./) };
    expect(parts({})).toEqual([signed]);
    expect(parts({ includeThoughts: true })).toEqual([{ text: 'Hm.', thought: true }, signed]);
  });

  it('keeps the connection alive by an empty line, which Google’s SDKs can read', () => {
    expect(ask(true).stream().keepAlive()).toBe('\n');
  });

  it('leaves out a call that was cut off, and fails for another call that is no object', () => {
    const stream = (finish: string, args = '{"path":') =>
      runStream(ask(true).stream(), [
        Buffer.from(frames(payloads(deltasOf({ content: 'x', tool_calls: [call(args)] }), finish))),
      ]);
    expect(stream('length')).not.toContain('functionCall');
    expect(stream('content_filter')).not.toContain('functionCall');
    expect(stream('length', '')).not.toContain('functionCall');
    expect(() => stream('tool_calls')).toThrow(UnwritableAnswer);
  });

  it('reports a failure within a stream as Google’s SDKs look for it', () => {
    const bytes = Buffer.from(frames([...payloads([{ content: 'Hi' }]).slice(0, 1), failedChunk]));
    const error = { code: 502, message: 'provider_error: It failed.', status: 'UNKNOWN' };
    expect(JSON.parse(runStream(ask(true).stream(), [bytes]).split('\n\n')[1] ?? '')).toMatchObject({ error });
    expect(JSON.parse(runStream(ask(false).stream(), [bytes]))).toMatchObject([{}, { error }]);
    expect(JSON.parse(runStream(ask(false).stream(), []))).toMatchObject([{ error: { status: 'UNKNOWN' } }]);
  });
});

describe('an error of the Gemini API', () => {
  const written = (more: object) => JSON.parse(geminiFailure({ ...brokenOff, ...more }).body) as { error: object };

  it('has Google’s shape, and says when to come back', () => {
    const { error } = written({
      status: 429,
      code: 'rate_limited',
      message: 'Wait.',
      retryAfter: '3',
      requestId: 'r1',
    });
    expect(error).toMatchObject({ code: 429, status: 'RESOURCE_EXHAUSTED', message: 'rate_limited: Wait.' });
    expect(error).toMatchObject({
      details: [{ reason: 'rate_limited', metadata: { requestId: 'r1' } }, { retryDelay: '3s' }],
    });
  });

  it('says how much too long a conversation is in Google’s words', () => {
    const overflow = { promptTokens: 150, limit: 84 };
    expect(written({ status: 400, code: 'context_too_large', overflow }).error).toMatchObject({
      status: 'INVALID_ARGUMENT',
      message: expect.stringContaining('input token count (150) exceeds the maximum number of tokens allowed (84)'),
    });
  });
});
