import { operationPaths } from '@sotto/wire';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { model, standIn } from '../enclave/testing/stand-in-client.ts';
import type { Exchange } from '../private/private-exchange.ts';
import { Placeholders } from './placeholders.ts';
import { redactChats } from './redact-exchange.ts';
import { AnswerRestorer } from './restore-answer.ts';

const { signal } = new AbortController();
const askOver = async (exchange: Exchange, body: object): Promise<string> => {
  const answer = await exchange.ask({
    method: 'POST',
    path: operationPaths.chat,
    header: () => undefined,
    body: JSON.stringify(body),
    signal,
  });
  return answer.toResponse().text();
};

describe('redaction', () => {
  it.each([false, true])(
    'comes before end-to-end encryption: the enclave hears placeholders (stream: %s)',
    async (stream) => {
      const at = standIn('tinfoil');
      const said: string[] = [];
      at.spies(async () => undefined);
      const exchange = redactChats(
        {
          async ask(asked) {
            said.push(asked.body);
            return at.exchange.ask(asked);
          },
        },
        { known: [], note: () => undefined },
      );
      const content = 'Write to Maria Schneider at maria.schneider@example.com';
      const provider = { minimum_privacy: 'e2ee' };
      const answer = await askOver(exchange, { model, provider, stream, messages: [{ role: 'user', content }] });
      expect(said[0]).toMatch(/Write to NAME_\w{6}_\w{8} at EMAIL_\w{6}_\w{8}"/);
      const words = stream
        ? [...answer.matchAll(/"content":"([^"]*)"/g)].map(([, word]) => word).join('')
        : (JSON.parse(answer) as { choices: { message: { content: string } }[] }).choices[0]?.message.content;
      expect(words).toBe(`You said: ${content}`);
      // The broker saw ciphertext alone.
      expect(at.chats()).toHaveLength(1);
      expect(at.chats()[0]?.body.toString('latin1')).not.toMatch(/Schneider|NAME_/);
    },
  );
});

/** Texts that a restored answer may have: values with all that JSON escapes. */
const value = fc
  .string({ minLength: 1, maxLength: 12, unit: 'binary' })
  .filter((text) => !/[\ud800-\udfff]/.test(text));

describe('the restorer of a stream', () => {
  it('gives the same text as that of a whole answer, wherever the chunks are cut', () => {
    const placeholders = new Placeholders(Buffer.alloc(32, 1), 'a conversation');
    fc.assert(
      fc.property(
        fc.array(
          fc.oneof(
            value,
            value.map((text) => ({ text })),
          ),
          { maxLength: 6 },
        ),
        fc.array(fc.nat(200), { maxLength: 12 }),
        (parts, cuts) => {
          const sent = parts
            .map((part) => (typeof part === 'string' ? part : placeholders.of({ kind: 'SECRET', value: part.text })))
            .join('N');
          const meant = parts.map((part) => (typeof part === 'string' ? part : part.text)).join('N');
          const at = [0, ...cuts.map((cut) => cut % (sent.length + 1)).sort((one, other) => one - other), sent.length];
          const pieces = at.slice(1).map((end, place) => sent.slice(at[place], end));
          const restorer = new AnswerRestorer(placeholders, false);
          const chunks = pieces.map((content, place) => {
            const finish_reason = place === pieces.length - 1 ? 'stop' : null;
            return JSON.parse(
              restorer.restore(JSON.stringify({ choices: [{ index: 0, delta: { content }, finish_reason }] })),
            );
          });
          expect(chunks.map(({ choices }) => choices[0].delta.content).join('')).toBe(meant);
        },
      ),
    );
  });

  it('does not mix the texts of two choices, two calls and the reasoning', () => {
    const placeholders = new Placeholders(Buffer.alloc(32, 2), 'a conversation');
    const name = placeholders.of({ kind: 'NAME', value: 'Ann "A" Lee' });
    const [one, other] = [name.slice(0, 9), name.slice(9)];
    const restorer = new AnswerRestorer(placeholders, false);
    const call = (index: number, args: string) => ({ index, function: { arguments: args } });
    const chunk = (index: number, delta: object, finish_reason: string | null = null) =>
      JSON.parse(restorer.restore(JSON.stringify({ choices: [{ index, delta, finish_reason }] }))).choices[0].delta;
    expect(chunk(0, { content: `a ${one}`, reasoning: `b ${one}` })).toEqual({ content: 'a ', reasoning: 'b ' });
    expect(chunk(1, { content: other })).toEqual({ content: other });
    expect(chunk(0, { tool_calls: [call(0, `{"x":"${one}`), call(1, `{"y":"${one}`)] })).toEqual({
      tool_calls: [call(0, '{"x":"'), call(1, '{"y":"')],
    });
    expect(chunk(0, { content: other, reasoning: other })).toEqual({
      content: 'Ann "A" Lee',
      reasoning: 'Ann "A" Lee',
    });
    // Within arguments, the value is JSON in a string. What never became a placeholder comes at the end.
    expect(chunk(0, { tool_calls: [call(1, `${other}"}`)] })).toEqual({ tool_calls: [call(1, 'Ann \\"A\\" Lee"}')] });
    expect(chunk(0, {}, 'tool_calls')).toEqual({ tool_calls: [call(0, one)] });
  });
});
