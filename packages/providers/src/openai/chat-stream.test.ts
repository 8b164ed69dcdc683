import { describe, expect, it } from 'vitest';
import { event, frame, ours, parseFrames, runStream, theirs } from '../testing/fixtures.ts';
import { OpenAiChatStream } from './chat-stream.ts';

const word = (content: string): string => frame(event({ content }));
const done = frame('[DONE]');
const stop = frame(event({}, 'stop'));

describe('a stream of the plain OpenAI shape', () => {
  it('arrives under our id, time and model, without the provider’s own names in any chunk', () => {
    const role = event({ role: 'assistant', content: '', refusal: null }, null, {
      service_tier: 'x',
      obfuscation: 'y',
    });
    const { chunks, sent } = runStream([frame(role), word('Hel'), word('lo'), word('!'), stop, done]);
    expect(chunks).toHaveLength(5);
    for (const { id, created, model, object } of chunks) {
      expect({ id, created, model }).toEqual(ours);
      expect(object).toBe('chat.completion.chunk');
    }
    expect(chunks[0]?.choices).toEqual([{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }]);
    for (const name of [...Object.values(theirs).map(String), 'service_tier', 'obfuscation', 'logprobs']) {
      expect(sent).not.toContain(name);
    }
  });

  it('is forwarded as it arrives: each event with its last byte, copied or parsed', () => {
    const reader = new OpenAiChatStream({ identity: ours, stripReasoning: false });
    for (const content of ['a', 'b', 'c']) {
      const piece = word(content);
      expect(reader.push(piece.slice(0, -1))).toBe('');
      expect(parseFrames(reader.push(piece.slice(-1)))[0]?.choices[0]?.delta).toMatchObject({ content });
    }
  });

  it('holds usage back for the meter and leaves the terminator to the caller', () => {
    const usage = { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 };
    const { reader, sent } = runStream([word('a'), stop, frame({ ...theirs, choices: [], usage }), done]);
    expect(reader.reported?.usage).toMatchObject({ promptTokens: 5, completionTokens: 2 });
    expect(sent).not.toMatch(/usage|DONE/);
  });

  it('reads usage beside the finish reason, with its cached tokens', () => {
    const usage = {
      prompt_tokens: 50,
      completion_tokens: 2,
      total_tokens: 52,
      prompt_tokens_details: { cached_tokens: 40 },
    };
    const { reader, chunks } = runStream([word('a'), frame(event({ content: '' }, 'stop', { usage })), done]);
    expect(reader.reported?.usage).toMatchObject({ promptTokens: 50, cachedTokens: 40 });
    expect(chunks.at(-1)?.choices[0]?.finish_reason).toBe('stop');
  });

  it('reads cached tokens from a last event without choices, after usage without them', () => {
    const plain = { prompt_tokens: 50, completion_tokens: 1, total_tokens: 51 };
    const cached = { ...plain, prompt_tokens_details: { cached_tokens: 40 } };
    const last = { ...event({}, null), choices: [], usage: cached };
    const { reader } = runStream([word('a'), frame(event({}, 'stop', { usage: plain })), frame(last), done]);
    expect(reader.reported?.usage).toMatchObject({ promptTokens: 50, cachedTokens: 40, completionTokens: 1 });
  });

  it.each([
    ['in a field of Groq’s', { x_groq: { usage: { prompt_tokens: 5, completion_tokens: 7 } } }],
    [
      'in the choice, as Moonshot does',
      { choices: [{ index: 0, delta: {}, finish_reason: 'stop', usage: { prompt_tokens: 5, completion_tokens: 7 } }] },
    ],
  ])('reads usage that is %s alone', (_name, more) => {
    const { reader } = runStream([word('a'), frame({ ...event({}, 'stop'), ...more }), done]);
    expect(reader.reported?.usage).toMatchObject({ promptTokens: 5, completionTokens: 7 });
  });

  it.each([
    ['beside the finish reason', (call: object, usage: object) => [call, event({}, 'tool_calls', { usage })]],
    [
      'after the finish reason',
      (call: object, usage: object) => [call, event({}, 'tool_calls'), { ...theirs, choices: [], usage }],
    ],
    [
      'before calls that follow the finish reason',
      (call: object, usage: object) => [event({ content: 'a' }, 'tool_calls', { usage }), call],
    ],
    ['beside the call', (call: object, usage: object) => [{ ...call, usage }, event({}, 'tool_calls')]],
  ])('counts a call without arguments in usage that comes %s', (_name, events) => {
    const call = event({ tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name: 'now' } }] });
    const usage = { prompt_tokens: 5, completion_tokens: 5000 };
    const { reader, chunks } = runStream([...events(call, usage).map((each) => frame(each)), done]);
    expect(chunks.at(-1)?.choices[0]?.finish_reason).toBe('tool_calls');
    expect(reader.reported?.usage.completionTokens).toBe(5000);
    expect(reader.reportedAtBytes).toBe(reader.producedBytes);
  });

  it('uses the last usage if every event repeats it', () => {
    const at = (n: number) => ({ usage: { prompt_tokens: 5, completion_tokens: n, total_tokens: 5 + n } });
    const { reader, text } = runStream([1, 2, 3].map((n) => frame(event({ content: 'x' }, null, at(n)))));
    expect(reader.reported?.usage.completionTokens).toBe(3);
    expect(text).toBe('xxx');
  });

  it('reports the bytes produced before usage arrived, and in total', () => {
    const early = frame(event({ content: 'ab' }, null, { usage: { prompt_tokens: 5, total_tokens: 6 } }));
    const { reader } = runStream([word('é'), early, word('cd'), word('ef') + word('gh')]);
    expect(reader).toMatchObject({ reportedAtBytes: 4, producedBytes: 10 });
  });

  it('counts the bytes of text, reasoning and tool calls, whether copied or parsed, escaped or not', () => {
    const escaped = word('AAAA').replace('AAAA', '\\u65e5\\u672c \\ud83e\\udd94\\n');
    const size = Buffer.byteLength('日本 🦔\n');
    expect(runStream([word('x'), escaped, escaped]).reader.producedBytes).toBe(1 + 2 * size);
    expect(runStream([word('x') + escaped + escaped]).reader.producedBytes).toBe(1 + 2 * size);
    const both = frame(event({ content: 'a', reasoning: 'zz' }));
    expect(runStream([both, both, both]).reader.producedBytes).toBe(9);
    const call = { tool_calls: [{ index: 0, id: 'c', function: { name: 'née', arguments: '{}' } }] };
    expect(runStream([frame(event({ reasoning: 'ü' })), frame(event(call))]).reader.producedBytes).toBe(2 + 6);
  });
});

describe('dialects', () => {
  it.each([
    ['reasoning_content', [{ reasoning_content: 'let me' }, { content: null, reasoning_content: ' see' }]],
    ['reasoning', [{ reasoning: 'let me' }, { reasoning: ' see' }]],
    [
      'both spellings at once',
      [
        { reasoning: 'let me', reasoning_content: 'let me' },
        { reasoning: ' see', reasoning_content: ' see' },
      ],
    ],
    [
      'thinking parts',
      ['let me', ' see'].map((text) => ({ content: [{ type: 'thinking', thinking: [{ type: 'text', text }] }] })),
    ],
  ])('reads reasoning as %s, and the content after it', (_, deltas) => {
    const answer = [
      { content: 'forty' },
      { content: [{ type: 'text', text: '-two' }] },
      { content: '.', reasoning: null },
    ];
    const run = runStream([...deltas, ...answer].map((delta) => frame(event(delta))));
    expect(run.reasoning).toBe('let me see');
    expect(run.text).toBe('forty-two.');
    expect(run.reader.failure).toBeUndefined();
  });

  it('hides the reasoning trace on request, but counts it as output', () => {
    const thoughts = ['a', 'b', 'c'].map((reasoning) => frame(event({ reasoning })));
    const { sent, reader } = runStream(thoughts, { stripReasoning: true });
    expect(sent).toBe('');
    expect(reader.hasOutput).toBe(true);
    expect(reader.producedBytes).toBe(3);
    const answer = frame(event({ content: 'x', reasoning: 'secret' }, 'stop'));
    const run = runStream([...thoughts, answer], { stripReasoning: true });
    expect(run.text).toBe('x');
    expect(run.sent).not.toMatch(/secret|reasoning/);
  });

  it('drops the empty ids and names that later pieces of a tool call repeat', () => {
    const piece = (id: string, name: string, args: string) =>
      frame(
        event({ content: null, tool_calls: [{ index: 0, id, type: 'function', function: { name, arguments: args } }] }),
      );
    const { chunks } = runStream([
      piece('call_1', 'weather', ''),
      piece('', '', '{"a"'),
      piece('', '', ':1}'),
      frame(event({}, 'tool_calls')),
    ]);
    const pieces = chunks.flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? []);
    expect(pieces.map(({ id, function: called }) => [id, called?.name])).toEqual([
      ['call_1', 'weather'],
      [undefined, undefined],
    ]);
    expect(pieces.map((call) => call.function?.arguments).join('')).toBe('{"a":1}');
    expect(chunks.at(-1)?.choices[0]?.finish_reason).toBe('tool_calls');
  });

  it('creates an id for each tool call without one, so that a client can answer it', () => {
    const piece = (index: number, more: object) => frame(event({ tool_calls: [{ index, ...more }] }));
    const { chunks } = runStream([
      piece(0, { id: '', function: { name: 'f', arguments: '' } }),
      piece(0, { function: { arguments: '{}' } }),
      piece(1, { function: { name: 'g', arguments: '{}' } }),
    ]);
    const [first, second] = chunks.flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? []);
    expect(first).toMatchObject({ index: 0, type: 'function', id: expect.stringMatching(/^call_[\w-]{24}$/) });
    expect(second?.id).toMatch(/^call_/);
    expect(second?.id).not.toBe(first?.id);
  });

  it.each([
    ...['stop', 'length', 'content_filter', 'tool_calls'].map((reason) => [reason, reason]),
    ['function_call', 'tool_calls'],
    ['model_length', 'length'],
    ['MAX_TOKENS', 'length'],
    ['tool_use', 'tool_calls'],
    ['sensitive', 'content_filter'],
    ['eos', 'stop'],
  ])('shows the finish reason %s as %s: OpenAI’s clients only know its names', (said, shown) => {
    const { chunks, reader } = runStream([word('a'), frame(event({}, said))]);
    expect(chunks.at(-1)?.choices[0]?.finish_reason).toBe(shown);
    expect(reader.isComplete).toBe(true);
  });

  it.each(['error', 'abort', 'network_error', 'insufficient_system_resource'])(
    'treats the finish reason %s as a failure',
    (reason) => {
      const { reader, text } = runStream([word('a'), frame(event({}, reason)), done]);
      expect(text).toBe('a');
      expect(reader.failure).toBe('server_error');
    },
  );

  it.each(['', 'null', 'constructor', 'soon'])('treats the finish reason "%s" as absent', (reason) => {
    const { reader, text } = runStream([
      frame(event({ content: 'a' }, reason)),
      frame(event({ content: 'b' }, reason)),
    ]);
    expect([text, reader.isComplete]).toEqual(['ab', false]);
  });

  it('carries a refusal', () => {
    const { chunks, reader } = runStream([frame(event({ refusal: 'I will not.' }))]);
    expect(chunks[0]?.choices[0]?.delta).toEqual({ role: 'assistant', refusal: 'I will not.' });
    expect(reader.hasOutput).toBe(true);
  });

  it('reads only the first choice', () => {
    const two = {
      ...theirs,
      choices: [
        { index: 1, delta: { content: 'no' } },
        { index: 0, delta: { content: 'yes' } },
      ],
    };
    expect(runStream([frame(two)]).text).toBe('yes');
  });
});

describe('output', () => {
  it.each([
    ['a role', frame(event({ role: 'assistant', content: '' }))],
    ['an empty delta', frame(event({}))],
    ['empty text', word('')],
    ['a comment', ': OPENROUTER PROCESSING\n\n'],
    ['usage', frame({ choices: [], usage: { prompt_tokens: 1, total_tokens: 1 } })],
    ['an event without data', frame('')],
  ])('is not %s', (_, piece) => {
    const { reader } = runStream([piece, piece, piece]);
    expect(reader.hasOutput).toBe(false);
    expect(reader.failure).toBeUndefined();
  });

  it('ends with its finish reason: later events are neither copied nor parsed', () => {
    const { text, chunks } = runStream([word('a'), word('b'), stop, word('more'), word('more') + word('more'), done]);
    expect(text).toBe('ab');
    expect(chunks).toHaveLength(3);
  });

  it('ends with the terminator', () => {
    expect(runStream([word('a'), word('b'), done, word('c') + word('d')]).text).toBe('ab');
  });

  it('shares nothing with the next attempt', () => {
    runStream([word('a'), word('b'), 'data: {"half":']);
    expect(runStream([word('x'), stop]).text).toBe('x');
  });
});

describe('framing', () => {
  const expected = { text: 'Grüße, 🦔' };
  const events = [
    event({ role: 'assistant' }),
    event({ content: 'Grüße' }),
    event({ content: ', 🦔' }),
    event({}, 'stop'),
  ];
  const lines = (make: (data: string) => string): string =>
    [...events.map((it) => JSON.stringify(it)), '[DONE]'].map(make).join('');
  it.each([
    ['CRLF', lines((data) => `data: ${data}\r\n\r\n`)],
    ['CR', lines((data) => `data: ${data}\r\r`)],
    ['no space after the colon', lines((data) => `data:${data}\n\n`)],
    ['comments in between', lines((data) => `: ping\n\ndata: ${data}\n\n`)],
    ['ids, names and retry fields', lines((data) => `id: 1\nevent: chunk\nretry: 5\ndata: ${data}\n\n`)],
    ['fields that nobody knows', lines((data) => `x-trace: abc\ndata: ${data}\n\n`)],
    ['events of several data lines', lines((data) => `data: ${data.replaceAll(',"', ',\ndata: "')}\n\n`)],
    ['`choices: []` in between', lines((data) => `data: {"choices":[]}\n\ndata: ${data}\n\n`)],
    ['spaces around the terminator', lines((data) => `data: ${data}\n\n`).replace('[DONE]', ' [DONE] ')],
    ['a last event without a blank line', lines((data) => `data: ${data}\n\n`).slice(0, -2)],
    ['a byte order mark', `\ufeff${lines((data) => `data: ${data}\n\n`)}`],
  ])('tolerates %s, in any split', (_, source) => {
    const whole = Buffer.from(source);
    for (const pieces of [[whole], Array.from(whole, (byte) => Buffer.from([byte]))]) {
      const { text, reader } = runStream(pieces);
      expect(text).toBe(expected.text);
      expect(reader).toMatchObject({ failure: undefined, isComplete: true, isTerminated: true });
    }
  });

  it('rejects an endless event instead of buffering it', () => {
    const endless = 'x'.repeat(1024 * 1024);
    const { reader } = runStream([`data: {"a":"${endless}`, endless, endless, endless, endless]);
    expect(reader.failure).toBe('malformed_answer');
  });
});

describe('a stream that fails', () => {
  it.each([
    ['an error with a status', { error: { message: 'RAW', code: 503 } }, 'server_error'],
    ['an error with a status as text', { error: { message: 'RAW', code: '429' } }, 'rate_limited'],
    ['an error without a status', { error: { message: 'RAW', type: 'weird' } }, 'malformed_answer'],
    ['an error that is only a string', { error: 'RAW' }, 'malformed_answer'],
    ['an error beside text', event({ content: 'RAW' }, null, { error: { code: 500 } }), 'server_error'],
    ['vLLM’s error object', { object: 'error', message: 'RAW', code: 500 }, 'server_error'],
  ])('is recognised by %s, which is not sent to the client', (_, payload, outcome) => {
    const { reader, sent, text } = runStream([word('a'), word('b'), frame(payload), word('c'), done]);
    expect(reader.failure).toBe(outcome);
    expect(text).toBe('ab');
    expect(sent).not.toContain('RAW');
    expect(reader.isTerminated).toBe(false);
  });

  it.each([
    ['a JSON error body without framing', '{"error":{"message":"RAW","code":429}}', 'rate_limited'],
    ['the same over several lines', '{\n  "error": {\n    "code": 429\n  }\n}', 'malformed_answer'],
    ['a page', '<html><body>RAW: down</body></html>\n', 'malformed_answer'],
    ['a sentence', 'upstream connect error or disconnect. reset reason: overflow', 'malformed_answer'],
    ['an error field', 'error: {"message":"RAW"}\n\n', 'malformed_answer'],
    ['an event that is no JSON', 'data: RAW\n\n', 'malformed_answer'],
    ['an event that is no object', 'data: ["RAW"]\n\n', 'malformed_answer'],
  ])('is malformed if it is not a stream: %s', (_, body, outcome) => {
    for (const pieces of [[body], [word('a'), word('b'), body]]) {
      const { reader, sent } = runStream(pieces);
      expect(reader.failure).toBe(outcome);
      expect(sent).not.toContain('RAW');
    }
  });

  it('is not complete if it closes without a finish reason or the terminator', () => {
    expect(runStream([word('a'), word('b')]).reader.isComplete).toBe(false);
  });

  it('is malformed if it breaks off inside an event', () => {
    const { reader, text } = runStream([word('a'), word('b'), word('c').slice(0, 40)]);
    expect(reader).toMatchObject({ failure: 'malformed_answer', isComplete: false });
    expect(text).toBe('ab');
  });

  it('is complete if it breaks off after the finish reason', () => {
    const { reader } = runStream([word('a'), stop, 'data: {"choices":[],"usage":{"prompt_to']);
    expect(reader).toMatchObject({ failure: undefined, isComplete: true, reported: undefined });
  });
});
