import { beforeAll, describe, expect, it } from 'vitest';
import type { Answer, Body, ToolCall } from '../../kit/answer.ts';
import { ask } from '../../kit/client.ts';
import { sendJson } from '../../kit/provider.ts';
import { createAccounts } from '../../kit/scenes/accounts.ts';
import * as sse from '../../kit/scenes/events.ts';
import type { TestAccount } from '../../kit/service.ts';
import type { Suite } from '../../kit/stage/suites.ts';

/** Text that must arrive unchanged, in pieces. It includes every special case of JSON, UTF-8 and event streams. */
const awkward = [
  'He said "yes", twice: ""',
  'a \\ b \\\\ c \\',
  '\\',
  '"',
  '"content":"fake","delta":{"content":"',
  '{"error":{"message":"not one"}}',
  'line one\nline two\r\n\ttabbed\b\f',
  'data: [DONE]\n\ndata: {"choices":[]}\n\n',
  '\u2028 and \u2029 and \u0085 and \u0000 and \u001f and \u007f',
  'é ü ß ñ — “quotes” …',
  '漢字かな交じり文 한국어 العربية עברית',
  '🙂👩‍👩‍👧‍👦🇨🇭 𝒳 𐍈',
  '\uFEFF\u200B',
  '</script><!-- & &amp; %41 +',
  ' leading and trailing ',
  '}',
  ']}',
  '',
  ': comment',
  '\\u0041\\n',
  'null',
  'SottoProbe',
];

/** The JSON of a text with every character beyond ASCII escaped, as Python writes it by default. */
const ascii = (json: string): string =>
  json.replace(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);

/**
 * The same JSON with spaces after its separators, as Python writes it. Use it only for events whose text has no
 * separators.
 */
const spaced = (json: string): string => json.replaceAll('":', '": ').replaceAll(',"', ', "');

export const streamDialectsSuite: Suite = {
  name: 'the dialects of streams',
  spec: {
    copies: 100,
    providers: { alpha: {} },
    models: { talker: { routes: { alpha: { pricing: [1, 2], capabilities: { tools: true } } } } },
  },
  tests(stage) {
    let account: TestAccount;
    beforeAll(async () => {
      ({ account } = await createAccounts(stage.service, { account: {} }));
    });

    async function streams(...pieces: (string | Buffer)[]): Promise<Answer> {
      stage.reset();
      stage.on('alpha', sse.stream(...pieces));
      const answer = await ask(stage.service, account.inferenceKey, {
        model: stage.model('talker'),
        stream: true,
      });
      expect(answer).toMatchObject({ status: 200, error: undefined, done: true });
      expect(stage.called).toEqual(['alpha']);
      expect(answer.text).not.toMatch(/provider-own|fp_secret/);
      expect(new Set(answer.chunks.map(({ id, model }) => `${id} ${model}`)).size).toBe(1);
      return answer;
    }

    const deltas = (answer: Answer): NonNullable<NonNullable<Body['choices']>[0]['delta']>[] =>
      answer.chunks.flatMap(({ choices }) => choices?.map(({ delta }) => delta ?? {}) ?? []);
    const joined = (answer: Answer, field: 'reasoning' | 'refusal'): string =>
      deltas(answer)
        .map((delta) => delta[field] ?? '')
        .join('');
    const finishes = (answer: Answer): unknown[] =>
      answer.chunks.flatMap(({ choices }) => choices?.map(({ finish_reason }) => finish_reason) ?? []).filter(Boolean);

    const words = ['Hello', ' there', ', how', ' are', ' you', '?'];
    const spoken = words.join('');
    const plain = [sse.role, ...words.map((word) => sse.text(word)), sse.finish, sse.usage, sse.done];
    const each = (change: (frame: string) => string): string[] => plain.map(change);

    it.each<[string, string[]]>([
      ['as it is', plain],
      ['in one read', [plain.join('')]],
      ['twenty events a read', [plain.slice(0, 4).join(''), plain.slice(4).join('')]],
      ['line ends of CRLF', each((frame) => frame.replaceAll('\n', '\r\n'))],
      ['line ends of CR', each((frame) => frame.replaceAll('\n', '\r'))],
      ['mixed line ends', plain.map((frame, index) => (index % 2 ? frame.replaceAll('\n', '\r\n') : frame))],
      ['data: without a space', each((frame) => frame.replace('data: ', 'data:'))],
      ['comments', each((frame) => `: PROCESSING\n\n:\n${frame}`)],
      ['comments within events', each((frame) => `: a\n${frame.replace(/\n\n$/, '\n: b\n\n')}`)],
      ['many blank lines', each((frame) => `\n\n${frame}\n\n`)],
      ['event, id and retry fields', each((frame) => `event: message\nid: 7\nretry: 10\n${frame}`)],
      ['unknown fields of the event stream', each((frame) => `x-trace: 1\nmeta: {}\n${frame}`)],
      ['a byte order mark', ['\uFEFF', ...plain]],
      ['choices that are empty', each((frame) => `${sse.frame('{"choices":[]}')}${frame}`)],
      ['no choices at all', each((frame) => `${sse.frame('{"object":"ping"}')}${frame}`)],
      ['events without data', each((frame) => `event: ping\n\ndata:\n\n${frame}`)],
      ['spaces in the JSON', each(spaced)],
      ['a last event without its blank line', [...plain.slice(0, -1), 'data: [DONE]']],
      ['a last line without any end', [...plain.slice(0, -3), sse.finish.trimEnd()]],
      ['an event of several data lines', each((frame) => frame.replace(',"choices"', ',\ndata: "choices"'))],
    ])('%s: is read, and does not end the stream', async (_, pieces) => {
      const answer = await streams(...pieces);
      expect(answer.content).toBe(spoken);
      expect(finishes(answer)).toEqual(['stop']);
    });

    it('unknown members are ignored anywhere, and do not end the stream', async () => {
      const odd = { choice: { logprobs: { content: [] }, odd: 1 }, more: { odd: [1], obfuscation: 'x', error: null } };
      const answer = await streams(
        sse.role,
        ...words.map((content) => sse.frame(sse.chunk({ content, odd: { a: 1 }, tool_calls: null }, odd))),
        sse.ending,
      );
      expect(answer.content).toBe(spoken);
      expect(answer.text).not.toMatch(/odd|obfuscation/);
    });

    it('other choices than the first are not mixed in', async () => {
      const other = sse.chunk({ content: 'OTHER' }, { choice: { index: 1 } });
      const answer = await streams(...words.flatMap((word) => [sse.text(word), sse.frame(other)]), sse.ending);
      expect(answer.content).toBe(spoken);
    });

    it("output after the provider's end is ignored", async () => {
      const late = await streams(...plain.slice(0, -2), sse.text(' LATE'), sse.text(' LATE'), sse.usage, sse.done);
      expect(late.content).toBe(spoken);
      const after = await streams(...plain, sse.text(' LATE'), sse.frame('{"error": {"message": "LATE"}}'));
      expect(after.content).toBe(spoken);
    });

    it('the last text may come with the finish reason', async () => {
      const answer = await streams(
        sse.text('a'),
        sse.text('b'),
        sse.text('c', { finish: 'length' }),
        sse.usage,
        sse.done,
      );
      expect(answer.content).toBe('abc');
      expect(finishes(answer)).toEqual(['length']);
    });

    it.each(['stop', 'length', 'tool_calls', 'content_filter'])('the finish reason %s arrives', async (finish) => {
      const answer = await streams(sse.text('a'), sse.frame(sse.chunk({}, { finish })), sse.done);
      expect(finishes(answer)).toEqual([finish]);
    });

    describe('text arrives unchanged', () => {
      const many = Array.from({ length: 20 }, () => awkward).flat();
      const asIs = (content: string): string => sse.chunk({ content });

      it.each<[string, (content: string) => string]>([
        ['as it is', asIs],
        ['escaped to ASCII', (content) => ascii(asIs(content))],
        ['with escaped slashes', (content) => asIs(content).replaceAll('/', '\\/')],
      ])('through hundreds of chunks, one event a read, %s', async (_, write) => {
        const answer = await streams(sse.role, ...many.map((content) => sse.frame(write(content))), sse.ending);
        expect(answer.content).toBe(many.join(''));
        expect(deltas(answer).map(({ content }) => content)).toEqual(expect.arrayContaining(awkward));
      });

      it('through hundreds of chunks, many events a read', async () => {
        const answer = await streams([sse.role, ...many.map((content) => sse.text(content)), sse.ending].join(''));
        expect(answer.content).toBe(many.join(''));
      });

      it.each(['\n', '\r\n'])(
        'in reads of every size, which cut events and characters anywhere (%j)',
        async (lineEnd) => {
          const calls = awkward.map((argument, index) => ({
            index: 0,
            ...(index === 0 ? { id: 'call_0', type: 'function' } : {}),
            function: { ...(index === 0 ? { name: 'tool_0' } : {}), arguments: argument },
          }));
          const frames = [
            sse.role,
            ...awkward.flatMap((content, index) => [
              sse.text(content),
              sse.frame(sse.chunk({ reasoning: content })),
              sse.frame(sse.chunk({ tool_calls: [calls[index]] })),
              ': alive\n\n',
            ]),
            sse.ending,
          ];
          const whole = Buffer.from(frames.join('').replaceAll('\n', lineEnd));
          const expected = deltas(await streams(whole));
          expect(expected.map(({ content }) => content ?? '').join('')).toBe(awkward.join(''));
          for (const size of [1, 2, 3, 7, 61, 257, 1021]) {
            const reads: Buffer[] = [];
            for (let at = 0; at < whole.length; at += size) reads.push(whole.subarray(at, at + size));
            expect(deltas(await streams(...reads)), `${size} bytes a read`).toEqual(expected);
          }
        },
      );

      it('if a provider splits a surrogate pair between two events', async () => {
        const halves = ['{"content":"\\ud83d"}', '{"content":"\\ude42"}'];
        const split = halves.map((delta) => sse.frame(sse.chunk({ content: 'X' }).replace('{"content":"X"}', delta)));
        const answer = await streams(sse.text('a'), sse.text('b'), ...split, ...split, sse.ending);
        expect(answer.content).toBe('ab🙂🙂');
      });

      it('if one event is large', async () => {
        const large = `${'x"\\é🙂'.repeat(20_000)}end`;
        const answer = await streams(sse.role, sse.text('a'), sse.text(large), sse.text('b'), sse.ending);
        expect(answer.content).toBe(`a${large}b`);
      });
    });

    it('reasoning arrives unchanged, before, between and beside the text', async () => {
      const reasoning = awkward.map((reasoning) => sse.frame(sse.chunk({ reasoning })));
      const content = awkward.map((content) => sse.text(content));
      const both = sse.frame(sse.chunk({ content: 'both', reasoning: 'of them' }));
      const mixed = reasoning.flatMap((frame, index) => [frame, content[index] ?? '']);
      const answer = await streams(sse.role, ...reasoning, ...content, ...mixed, both, ...content, sse.ending);
      const once = awkward.join('');
      expect(answer.content).toBe(`${once}${once}both${once}`);
      expect(joined(answer, 'reasoning')).toBe(`${once}${once}of them`);
    });

    it('reasoning under its other name arrives as reasoning, and not as text', async () => {
      const reasoning = awkward.map((reasoning_content) => sse.frame(sse.chunk({ reasoning_content, content: null })));
      const answer = await streams(sse.role, ...reasoning, sse.text('so'), sse.ending);
      expect(answer.content).toBe('so');
      expect(joined(answer, 'reasoning')).toBe(awkward.join(''));
    });

    it('refusals arrive unchanged', async () => {
      const refusal = awkward.map((refusal) => sse.frame(sse.chunk({ refusal })));
      const answer = await streams(sse.role, ...refusal, sse.ending);
      expect(joined(answer, 'refusal')).toBe(awkward.join(''));
    });

    it('tool calls arrive unchanged, several at a time, between text', async () => {
      const call = (index: number, more: object): string => sse.frame(sse.chunk({ tool_calls: [{ index, ...more }] }));
      const open = (index: number): string =>
        call(index, { id: `call_${index}`, type: 'function', function: { name: `tool_${index}`, arguments: '' } });
      const piece = (index: number, argument: string): string => call(index, { function: { arguments: argument } });
      const answer = await streams(
        sse.role,
        sse.text('a'),
        sse.text('b'),
        open(0),
        ...awkward.map((argument) => piece(0, argument)),
        open(1),
        ...awkward.flatMap((argument) => [piece(1, argument), piece(0, '.')]),
        sse.text('c'),
        sse.frame(sse.chunk({}, { finish: 'tool_calls' })),
        sse.done,
      );
      const pieces: ToolCall[] = deltas(answer).flatMap(({ tool_calls }) => tool_calls ?? []);
      const argumentsOf = (index: number): string =>
        pieces
          .filter((each) => each.index === index)
          .map((each) => each.function.arguments ?? '')
          .join('');
      expect(argumentsOf(0)).toBe(`${awkward.join('')}${'.'.repeat(awkward.length)}`);
      expect(argumentsOf(1)).toBe(awkward.join(''));
      expect(pieces.filter(({ id }) => id !== undefined)).toMatchObject([
        { index: 0, id: 'call_0', type: 'function', function: { name: 'tool_0' } },
        { index: 1, id: 'call_1', type: 'function', function: { name: 'tool_1' } },
      ]);
      expect(answer.content).toBe('abc');
      expect(finishes(answer)).toEqual(['tool_calls']);
    });

    it.each(awkward)('a whole answer arrives unchanged: %j', async (piece) => {
      const call = { id: 'call_0', type: 'function', function: { name: 'tool_0', arguments: piece } };
      const message = { role: 'assistant', content: piece, reasoning: piece, refusal: piece, tool_calls: [call] };
      stage.on('alpha', (_request, response) => {
        sendJson(response, 200, { ...sse.envelope, choices: [{ index: 0, message, finish_reason: 'tool_calls' }] });
      });
      const answer = await ask(stage.service, account.inferenceKey, { model: stage.model('talker') });
      // Clients parse arguments as JSON, so a call without arguments gets those of an empty object.
      const parsable = { ...call, function: { ...call.function, arguments: piece || '{}' } };
      const shown = { ...message, tool_calls: [parsable] };
      expect(answer.body.choices).toMatchObject([{ index: 0, message: shown, finish_reason: 'tool_calls' }]);
      expect(answer.text).not.toMatch(/provider-own|fp_secret/);
    });
  },
};
