import type { AttemptOutcome } from '@sotto/router';
import { describe, expect, it } from 'vitest';
import { loadAdapter } from '../load-adapter.ts';
import { message, ours } from '../testing/fixtures.ts';

type Api = 'anthropic' | 'google' | 'bedrock' | 'azure' | 'cohere';

const anthropic = (type: string, text = '') => ({ type: 'error', error: { type, message: text } });
const google = (status: string, reason?: string) => ({
  error: { code: 400, status, message: 'x', details: reason === undefined ? [] : [{ reason }] },
});

describe('a failed answer', () => {
  it.each<[Api, number, unknown, AttemptOutcome]>([
    ['anthropic', 400, anthropic('invalid_request_error', 'messages: bad'), 'invalid_request'],
    [
      'anthropic',
      400,
      anthropic('invalid_request_error', 'Your credit balance is too low to access the API'),
      'quota_exhausted',
    ],
    [
      'anthropic',
      400,
      anthropic('invalid_request_error', 'Output blocked by content filtering policy'),
      'content_refused',
    ],
    ['anthropic', 400, anthropic('x', 'prompt is too long: 208310 tokens > 200000 maximum'), 'context_exceeded'],
    [
      'anthropic',
      400,
      anthropic('x', 'input length and `max_tokens` exceed context limit: 199 + 2 > 200'),
      'context_exceeded',
    ],
    [
      'google',
      400,
      { error: { code: 400, message: 'The input token count (9) exceeds the maximum number of tokens allowed (8).' } },
      'context_exceeded',
    ],
    ['bedrock', 400, { message: 'Input is too long for requested model.' }, 'context_exceeded'],
    ['azure', 400, { error: { code: 'context_length_exceeded', message: 'x' } }, 'context_exceeded'],
    [
      'azure',
      400,
      { object: 'error', message: "This model's maximum context length is 8 tokens." },
      'context_exceeded',
    ],
    [
      'azure',
      422,
      { error: { message: 'Please reduce the length of the messages or completion.' } },
      'context_exceeded',
    ],
    ['azure', 400, { error: { message: 'the request exceeds the available context size' } }, 'context_exceeded'],
    ['azure', 400, { error: "This model's maximum prompt length is 131072 but …" }, 'context_exceeded'],
    ['azure', 400, { error: { message: '`context` must be a string' } }, 'invalid_request'],
    ['anthropic', 401, anthropic('authentication_error'), 'authentication_failed'],
    ['anthropic', 413, anthropic('request_too_large'), 'unprocessable'],
    ['anthropic', 529, anthropic('overloaded_error'), 'server_error'],
    ['google', 400, google('INVALID_ARGUMENT'), 'invalid_request'],
    ['google', 400, google('INVALID_ARGUMENT', 'API_KEY_INVALID'), 'authentication_failed'],
    ['google', 400, google('FAILED_PRECONDITION'), 'other_client_error'],
    ['google', 400, [google('INVALID_ARGUMENT', 'API_KEY_INVALID')], 'authentication_failed'],
    ['google', 429, google('RESOURCE_EXHAUSTED'), 'rate_limited'],
    ['google', 504, google('DEADLINE_EXCEEDED'), 'server_error'],
    ['bedrock', 400, { message: 'Malformed input request' }, 'invalid_request'],
    [
      'bedrock',
      403,
      { message: 'You don’t have access to the model with the specified model ID.' },
      'other_client_error',
    ],
    [
      'bedrock',
      403,
      { Message: 'Authentication failed: Please make sure your API Key is valid.' },
      'authentication_failed',
    ],
    ['bedrock', 403, { message: 'The security token included in the request is expired' }, 'authentication_failed'],
    ['bedrock', 404, { message: 'x' }, 'model_unavailable'],
    ['bedrock', 408, { message: 'x' }, 'timeout'],
    ['bedrock', 424, { message: 'x' }, 'server_error'],
    [
      'azure',
      400,
      { error: { code: 'content_filter', innererror: { code: 'ResponsibleAIPolicyViolation' } } },
      'content_refused',
    ],
    ['cohere', 498, { message: 'x' }, 'content_refused'],
    ['cohere', 429, { message: 'x' }, 'rate_limited'],
    ['cohere', 302, '', 'malformed_answer'],
  ])('of %s with %i %j is %s', async (api, status, body, outcome) => {
    const adapter = await loadAdapter(api);
    expect(adapter.classifyFailure(status, Buffer.from(JSON.stringify(body)))).toBe(outcome);
    for (const odd of ['', 'null', '"x"', '{"error":5}', '<html>']) {
      expect(adapter.classifyFailure(500, Buffer.from(odd))).toBe('server_error');
    }
  });
});

const options = { identity: ours, stripReasoning: false };
const frame = (payload: unknown): string => `data: ${JSON.stringify(payload)}\n\n`;
const exception = (type: string): string =>
  message({ ':message-type': 'exception', ':exception-type': type }, '{"message":"x"}').toString('latin1');

describe('a stream that reports a failure', () => {
  it.each<[Api, string, AttemptOutcome]>([
    ['anthropic', frame(anthropic('overloaded_error')), 'server_error'],
    ['anthropic', frame(anthropic('rate_limit_error')), 'rate_limited'],
    ['anthropic', frame(anthropic('invalid_request_error')), 'malformed_answer'],
    ['anthropic', frame(anthropic('constructor')), 'malformed_answer'],
    ['anthropic', `${JSON.stringify(anthropic('overloaded_error'))}\n`, 'server_error'],
    ['anthropic', 'noise\n', 'malformed_answer'],
    ['google', frame({ error: { code: 503 } }), 'server_error'],
    ['google', frame({ error: { code: 429 } }), 'rate_limited'],
    ['google', frame({ error: { code: 400 } }), 'malformed_answer'],
    ['google', frame({ promptFeedback: { blockReason: 'SAFETY' } }), 'content_refused'],
    ['google', frame({ candidates: [{ finishReason: 'MALFORMED_FUNCTION_CALL' }] }), 'malformed_answer'],
    ['bedrock', exception('throttlingException'), 'rate_limited'],
    ['bedrock', exception('modelStreamErrorException'), 'server_error'],
    ['bedrock', exception('validationException'), 'malformed_answer'],
    ['bedrock', exception('constructor'), 'malformed_answer'],
    ['bedrock', message({ ':message-type': 'error', ':error-code': 'x' }, '').toString('latin1'), 'malformed_answer'],
    ['bedrock', 'HTTP is no event stream at all', 'malformed_answer'],
  ])('of %s, %j, is %s, and none of it is sent', async (api, bytes, outcome) => {
    const reader = (await loadAdapter(api)).openChatStream(options);
    expect(reader.push(bytes) + reader.end()).toBe('');
    expect(reader).toMatchObject({ failure: outcome, hasOutput: false });
  });
});

describe('a failure after the finish reason', () => {
  const stopped = JSON.stringify({ stopReason: 'end_turn' });
  const finish = {
    anthropic: frame({ type: 'message_delta', delta: { stop_reason: 'end_turn' } }),
    google: frame({ candidates: [{ finishReason: 'STOP' }] }),
    bedrock: message({ ':message-type': 'event', ':event-type': 'messageStop' }, stopped).toString('latin1'),
    azure: frame({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }),
  };

  it.each<[keyof typeof finish, string]>([
    ['anthropic', frame(anthropic('overloaded_error'))],
    ['google', frame({ error: { code: 503 } })],
    ['google', frame({ candidates: [{ finishReason: 'MALFORMED_FUNCTION_CALL' }] })],
    ['bedrock', exception('modelStreamErrorException')],
    ['bedrock', 'HTTP is no event stream at all'],
    ['azure', frame({ error: { code: 503 } })],
    ['azure', frame({ choices: [{ index: 0, delta: {}, finish_reason: 'error' }] })],
  ])('of %s, %j, does not spoil the answer', async (api, late) => {
    const reader = (await loadAdapter(api)).openChatStream(options);
    for (const piece of [finish[api], late]) reader.push(piece);
    reader.end();
    expect(reader).toMatchObject({ failure: undefined, isComplete: true });
  });
});

describe('a stream with lines that its format does not define', () => {
  const streams: Record<'anthropic' | 'google', readonly string[]> = {
    anthropic: [
      frame({ type: 'message_start', message: { usage: { input_tokens: 3, output_tokens: 1 } } }),
      frame({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
      frame({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'hello' } }),
      frame({ type: 'content_block_stop', index: 0 }),
      frame({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } }),
      frame({ type: 'message_stop' }),
    ],
    google: [
      frame({ candidates: [{ content: { role: 'model', parts: [{ text: 'hello' }] } }] }),
      frame({
        candidates: [{ finishReason: 'STOP' }],
        usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2 },
      }),
    ],
  };
  const between = [
    'x-proxy: 1\n',
    'foo: bar\n\n',
    'data:\n\n',
    'data: \n\n',
    ': kept alive\n\n',
    'retry: 10\n\n',
    '\n\n',
  ];
  const pairs = (['anthropic', 'google'] as const).flatMap((api) => between.map((extra) => [api, extra] as const));

  it.each(pairs)('of %s continues after %j, wherever it is', async (api, extra) => {
    const read = async (parts: readonly string[]): Promise<string> => {
      const reader = (await loadAdapter(api)).openChatStream(options);
      const text = parts.map((part) => reader.push(part)).join('') + reader.end();
      expect(reader).toMatchObject({ failure: undefined, hasOutput: true });
      return text;
    };
    const plain = await read(streams[api]);
    expect(plain).toContain('hello');
    expect(await read([extra, ...streams[api].flatMap((part) => [part, extra])])).toBe(plain);
  });
});

describe('a whole answer that reports a failure', () => {
  it.each<[Api, unknown, AttemptOutcome]>([
    ['anthropic', anthropic('overloaded_error'), 'server_error'],
    ['anthropic', { content: [{ type: 'text', text: 'cut' }] }, 'malformed_answer'],
    ['anthropic', { content: [{ type: 'tool_use', name: 'f' }], stop_reason: 'tool_use' }, 'malformed_answer'],
    ['google', { error: { code: 503 } }, 'server_error'],
    ['google', { promptFeedback: { blockReason: 'SAFETY' } }, 'content_refused'],
    ['google', { candidates: [{ content: { parts: [{ text: 'cut' }] } }] }, 'malformed_answer'],
    ['google', { candidates: [{ finishReason: 'UNEXPECTED_TOOL_CALL' }] }, 'malformed_answer'],
    [
      'google',
      {
        candidates: [
          { content: { parts: [{ functionCall: { name: 'f', willContinue: true } }] }, finishReason: 'STOP' },
        ],
      },
      'malformed_answer',
    ],
    ['bedrock', { output: { message: { content: [{ text: 'cut' }] } } }, 'malformed_answer'],
    ['bedrock', { output: { message: { content: [] } }, stopReason: 'malformed_tool_use' }, 'malformed_answer'],
    ['cohere', { text: 'no conversations here' }, 'malformed_answer'],
  ])('of %s, %j, is %s', async (api, body, outcome) => {
    const adapter = await loadAdapter(api);
    expect(adapter.readChat(Buffer.from(JSON.stringify(body)), options)).toEqual({ ok: false, outcome });
    for (const odd of ['', 'null', '[]', '{"x":']) {
      expect(adapter.readChat(Buffer.from(odd), options)).toEqual({ ok: false, outcome: 'malformed_answer' });
    }
  });
});

it.each(['OTHER', 'constructor'])('the finish reason %s of google is shown as stop', async (said) => {
  const answer = { candidates: [{ content: { parts: [{ text: 'x' }] }, finishReason: said }] };
  const reading = (await loadAdapter('google')).readChat(Buffer.from(JSON.stringify(answer)), options);
  expect(reading).toMatchObject({ ok: true, answer: { choices: [{ finish_reason: 'stop' }] } });
});
