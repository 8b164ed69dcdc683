import { afterEach, describe, expect, it, vi } from 'vitest';
import { MessagesStream } from '../anthropic/messages-stream.ts';
import { OpenAiChatStream } from '../openai/chat-stream.ts';
import { event, frame, ours, parseFrames, runStream } from '../testing/fixtures.ts';
import { copyRun, learnTemplate } from './copied-events.ts';

afterEach(() => vi.restoreAllMocks());

const word = (content: string): string => frame(event({ content }));

describe('events that pretend to be text', () => {
  const source = JSON.stringify(event({ content: 'TEXT' }));
  const hostile = (text: string): string => `data: ${source.replace('TEXT', () => text)}\n\n`;
  const known = word('a') + word('b');
  const arrivals = (bad: string): (readonly string[])[] => [
    [known, bad, word('c')],
    [known, bad + word('c')],
    [known + bad + word('c')],
    [known, ...Array.from(bad + word('c'))],
  ];

  it.each([
    ['ends in a backslash', 'abc\\'],
    ['holds an unknown escape', 'abc\\x41'],
    ['holds half an escape', 'abc\\u12'],
    ['holds an escape of no number', 'abc\\u00zz'],
    ['holds a control character', 'abc\u0001'],
    ['holds a tab', 'abc\t'],
    ['holds a line break, by a second data line', 'abc\ndata: def'],
    ['ends our stream, by further data lines', 'abc\ndata: \ndata: data: [DONE]\ndata: \ndata: '],
    ['closes the text too early', 'abc"def'],
    ['closes the text and leaves a rest', 'abc"}}]} '],
  ])('an event whose text %s is malformed, and none of it is sent', (_, text) => {
    for (const pieces of arrivals(hostile(text))) {
      const { reader, text: read, sent } = runStream(pieces);
      expect(reader.failure).toBe('malformed_answer');
      expect(read).toBe('ab');
      expect(sent).not.toMatch(/abc|DONE/);
    }
  });

  it.each([
    ['a finish reason', 'abc"},"finish_reason":"stop"}],"x":[{"y":{"z":"', { isComplete: true, failure: undefined }],
    ['an error', 'abc"}}],"error":{"code":503},"x":[{"y":{"z":"', { failure: 'server_error' }],
    ['usage', 'abc"}}],"usage":{"prompt_tokens":3,"total_tokens":4},"x":[{"y":{"z":"', { failure: undefined }],
    ['a second text', 'no","content":"abc', { failure: undefined }],
    ['reasoning', 'abc","reasoning":"def', { failure: undefined }],
    [
      'a tool call',
      'abc","tool_calls":[{"index":0,"id":"i","function":{"name":"f","arguments":"{}"}}],"z":"',
      { failure: undefined },
    ],
  ])('an event that also has %s is parsed', (what, text, expected) => {
    for (const pieces of arrivals(hostile(text))) {
      const run = runStream(pieces);
      expect(run.reader).toMatchObject(expected);
      expect(run.sent).not.toMatch(/\\"|"z"|"x"|"no"/);
      const [chunk] = run.chunks.filter(({ choices }) => choices[0]?.delta.content === 'abc');
      const choice = chunk?.choices[0];
      if (what === 'an error') expect(choice).toBeUndefined();
      else expect(choice).toBeDefined();
      expect(run.chunks.at(-1)?.choices[0]?.finish_reason ?? null).toBe(what === 'a finish reason' ? 'stop' : null);
      expect(choice?.delta.reasoning).toBe(what === 'reasoning' ? 'def' : undefined);
      expect(choice?.delta.tool_calls?.length).toBe(what === 'a tool call' ? 1 : undefined);
      expect(run.reader.reported?.usage.promptTokens).toBe(what === 'usage' ? 3 : undefined);
    }
  });

  it('an event with a changed envelope is parsed, and our envelope stays the same', () => {
    const changed = frame(event({ content: 'c' }, null, { id: 'chatcmpl-OTHER', model: 'other-SECRET', created: 5 }));
    for (const pieces of arrivals(changed + changed)) {
      const { text, sent } = runStream(pieces);
      expect(text).toBe('abccc');
      expect(sent).not.toMatch(/OTHER|SECRET|THEIRS/);
    }
  });

  it('an event of the same length with a different envelope is parsed', () => {
    for (const finish of ['eos', null]) {
      const same = frame(event({ content: 'ab' }, finish, { error: null }));
      const other = finish === null ? same.replace('"error":null', '"error":"no"') : same;
      for (const pieces of [
        [frame(event({ content: 'a' }, null, { error: null })), ...Array.from(other)],
        [frame(event({ content: 'a' }, null, { error: null })), other + other],
      ]) {
        const { reader, text } = runStream(pieces);
        expect(reader.isComplete).toBe(finish !== null);
        expect(reader.failure).toBe(finish === null ? 'malformed_answer' : undefined);
        expect(text).toContain(finish === null ? 'a' : 'aab');
      }
    }
  });

  it.each([
    ['an open data line', 'data: {"a":1}\n'],
    ['half a line', 'data: {"a":"'],
  ])('an event after %s continues it', (_, open) => {
    const { reader, text } = runStream([known, open, word('c') + word('d')]);
    expect(reader.failure).toBe('malformed_answer');
    expect(text).toBe('ab');
  });

  it.each([
    ['is no string', '5'],
    ['holds an escape', '"a\\u0041"'],
    ['is not closed', '"a'],
    ['brings a finish reason along', '"","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"x":""'],
  ])('an event whose padding %s is parsed', (_, value) => {
    const padded = (content: string, obfuscation: string): string =>
      `data: {"choices":[{"index":0,"delta":{"content":"${content}"},"finish_reason":null}],"obfuscation":${obfuscation}}\n\n`;
    const known = padded('a', '"x"') + padded('b', '"yz"');
    const alone = runStream([padded('c', value)]);
    const after = runStream([known, padded('c', value)]);
    expect(after.reader.failure).toBe(alone.reader.failure);
    expect(after.reader.isComplete).toBe(alone.reader.isComplete);
    expect(after.text).toBe(`ab${alone.text}`);
  });

  it('an event with the line breaks of an earlier one but not its framing is malformed', () => {
    const lines = (content: string, lineBreak: string): string =>
      `data: {${lineBreak}"choices":[{"delta":{"content":"${content}"}}]}\n\n`;
    const { reader, text } = runStream([lines('a', '\ndata: '), lines('b', '\ndata: '), lines('evil', '\n')]);
    expect(reader.failure).toBe('malformed_answer');
    expect(text).toBe('ab');
  });

  it('text that looks like our own probe is forwarded as text', () => {
    const texts = ['SottoProbe7f3a9c', 'aSottoProbe7f3a9cb', 'SottoProbe7f3a9c'];
    expect(runStream(texts.map(word)).text).toBe(texts.join(''));
  });
});

describe('without parsing', () => {
  /** Returns the number of events of a stream that were parsed. */
  const count = (pieces: readonly string[]): number => {
    const reader = new OpenAiChatStream({ identity: ours, stripReasoning: false });
    const parse = vi.spyOn(JSON, 'parse');
    for (const piece of pieces) reader.push(piece);
    expect(reader.failure).toBeUndefined();
    return parse.mock.calls.length;
  };
  const words = Array.from({ length: 300 }, (_, i) => `w${i}`);

  it('copies text in a known envelope, with one event or many in a read', () => {
    expect(count(words.map(word))).toBeLessThan(5);
    expect(count([word('first'), words.map(word).join('')])).toBeLessThan(5);
  });

  it('copies text of providers that repeat the role, which clients get once: some join what is repeated', () => {
    const pieces = words.map((content) => frame(event({ role: 'assistant', content })));
    expect(count(pieces)).toBeLessThan(5);
    const { chunks } = runStream(pieces);
    const roles = chunks.map(({ choices }) => choices[0]?.delta.role ?? '');
    expect([roles[0], roles.join('')]).toEqual(['assistant', 'assistant']);
    expect(chunks.at(-1)?.choices[0]?.delta).toEqual({ content: 'w299' });
  });

  it('copies padded text, and drops the padding', () => {
    const padded = words.map((content, i) =>
      frame(event({ content }, null, { usage: null, obfuscation: 'PADDING'.repeat(i % 5) })),
    );
    expect(count(padded)).toBeLessThan(5);
    expect(count([padded.slice(0, 2).join(''), padded.slice(2).join('')])).toBeLessThan(9);
    const { text, sent } = runStream([padded.join('')]);
    expect(text).toBe(words.join(''));
    expect(sent).not.toContain('PADDING');
  });

  it('copies text and reasoning that alternate', () => {
    expect(
      count(words.map((text, i) => (i % 2 ? word(text) : frame(event({ reasoning_content: text }))))),
    ).toBeLessThan(9);
  });

  it('copies text in an envelope that changes once a second, however long the stream', () => {
    const later = words.map((content, i) => frame(event({ content }, null, { created: Math.floor(i / 10) })));
    expect(count(later)).toBeLessThan(70);
  });

  it('sends frames with one line of JSON each', () => {
    const { sent, text } = runStream([words.map(word).join('')]);
    expect(parseFrames(sent)).toHaveLength(words.length);
    expect(text).toBe(words.join(''));
  });
});

describe('copyRun', () => {
  const first = JSON.stringify(event({ content: 'a' }));
  const frameFor = (_: object, content: string) => frame(event({ content }));
  const template = learnTemplate(first, { fields: ['content'], before: '', frameFor });

  it('copies whole events up to the first that does not match, and reports its position and counts', () => {
    if (template === undefined) throw new Error('nothing was learned');
    const fitting = word('b\n') + word('') + word('cd');
    const run = copyRun(`: ${fitting}${word('e').slice(0, -1)}`, 2, template);
    expect(run).toMatchObject({ end: 2 + fitting.length, events: 3, textBytes: 4 });
    expect(parseFrames(run.frames).map(({ choices }) => choices[0]?.delta.content)).toEqual(['b\n', '', 'cd']);
  });
});

describe('Anthropic’s deltas', () => {
  const delta = (index: number, members: object): string =>
    `event: content_block_delta\ndata: ${JSON.stringify({ type: 'content_block_delta', index, delta: members })}\n\n`;
  const text = (said: string): string => delta(1, { type: 'text_delta', text: said });
  const thought = (said: string): string => delta(0, { type: 'thinking_delta', thinking: said });
  const read = (pieces: readonly string[], stripReasoning = false) => {
    const reader = new MessagesStream({ identity: ours, stripReasoning });
    const parse = vi.spyOn(JSON, 'parse');
    const out = pieces.map((piece) => reader.push(Buffer.from(piece).toString('latin1'))).join('') + reader.end();
    const parsed = parse.mock.calls.length;
    vi.restoreAllMocks();
    const deltas = parseFrames(Buffer.from(out, 'latin1').toString()).map(({ choices }) => choices[0]?.delta);
    return { reader, out, parsed, deltas };
  };
  const words = Array.from({ length: 100 }, (_, i) => `w"${i}\n🦔`);

  it.each([
    ['one event a read', (all: string) => all.split(/(?<=\n\n)/)],
    ['all in one read', (all: string) => [all.slice(0, 200), all.slice(200)]],
  ])('are copied without parsing, thoughts and texts: %s', (_, cut) => {
    const { parsed, deltas, reader } = read(cut(words.map(thought).join('') + words.map(text).join('')));
    expect(parsed).toBeLessThan(10);
    expect(deltas.map((each) => each?.content ?? each?.reasoning)).toEqual([...words, ...words]);
    expect(deltas[50]).toEqual({
      reasoning: words[50],
      reasoning_content: words[50],
      reasoning_details: [{ type: 'reasoning.text', text: words[50], format: 'anthropic-claude-v1', index: 0 }],
    });
    expect(reader.producedBytes).toBe(2 * Buffer.byteLength(words.join('')));
    expect(reader.events).toBe(200);
  });

  it('hidden thoughts are counted and not sent', () => {
    const { deltas, out, reader } = read([words.map(thought).join(''), words.map(text).join('')], true);
    expect(deltas.map((each) => each?.content)).toEqual(words);
    expect(out).not.toContain('reasoning');
    expect(reader.producedBytes).toBe(2 * Buffer.byteLength(words.join('')));
  });

  it('an event of another kind in the same bytes is parsed', () => {
    const call = { type: 'tool_use', id: 'toolu_1', name: 'f', input: {} };
    const start = `event: content_block_start\ndata: ${JSON.stringify({ type: 'content_block_start', index: 2, content_block: call })}\n\n`;
    const json = delta(2, { type: 'input_json_delta', partial_json: '{"text":"x"}' });
    const { deltas } = read([text('a') + text('b') + text('c') + start + json + text('d') + text('e')]);
    expect(deltas.map((each) => each?.content ?? each?.tool_calls?.[0]?.function)).toEqual([
      ...['a', 'b', 'c'],
      { name: 'f', arguments: '' },
      { arguments: '{"text":"x"}' },
      ...['d', 'e'],
    ]);
  });

  it.each([
    ['is cut by an unknown escape', 'abc\\x41'],
    ['holds a control character', 'abc\u0001'],
    ['ends our stream, by further data lines', 'abc\ndata: \ndata: data: [DONE]\ndata: \ndata: '],
    ['closes the text and leaves a rest', 'abc"}} '],
  ])('an event whose text %s is malformed, and none of it is sent', (_, said) => {
    const bad = text('TEXT').replace('TEXT', () => said);
    for (const pieces of [
      [text('a') + text('b'), bad],
      [text('a') + text('b') + bad],
      Array.from(text('a') + text('b') + bad),
    ]) {
      const { reader, deltas, out } = read(pieces);
      expect(reader.failure).toBe('malformed_answer');
      expect(deltas.map((each) => each?.content)).toEqual(['a', 'b']);
      expect(out).not.toMatch(/abc|DONE/);
    }
  });

  it('usage without the output of the whole answer is no report', () => {
    const start = { type: 'message_start', message: { usage: { input_tokens: 3, output_tokens: 1 } } };
    const end = (usage: object | undefined) => ({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage });
    const reported = (usage?: object) => {
      const { reader } = read([frame(start), text('a'), frame(end(usage)), text('late')]);
      expect(reader.isComplete).toBe(true);
      return reader.reported?.usage;
    };
    expect(reported()).toBeUndefined();
    expect(reported({ output_tokens: 2 })).toMatchObject({ promptTokens: 3, completionTokens: 2 });
  });

  it('text after the end is dropped', () => {
    const end = `event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}\n\n`;
    for (const pieces of [[text('a') + text('b') + end + text('late')], [text('a'), text('b'), end, text('late')]]) {
      const { reader, deltas } = read(pieces);
      expect(deltas.map((each) => each?.content)).toEqual(['a', 'b', undefined]);
      expect(reader.isComplete).toBe(true);
    }
  });
});
