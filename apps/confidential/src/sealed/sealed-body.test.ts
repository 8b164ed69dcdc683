import { relayRules, ServiceError } from '@sotto/wire';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readSealedBody } from './sealed-body.ts';

const { near, tinfoil, chutes } = relayRules;
const overhead = 72;
const sealed = (bytes: number): string => 'ab'.repeat(overhead + bytes);
const announced = { stream: false, reasoning: {}, rule: near, variant: near.variants[0] };
const chat = (more: object = {}): object => ({
  model: 'their/model',
  messages: [{ role: 'user', content: sealed(5) }],
  stream: false,
  max_tokens: 100,
  ...more,
});
const read = (body: string | object, what: Partial<typeof announced> = {}) =>
  readSealedBody(Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)), { ...announced, ...what });

describe('a body that is sealed field by field', () => {
  it('yields its model, its sizes and its ceiling, in any spacing and order', () => {
    const expected = { plaintextBytes: 5, maxOutputTokens: 100, chat: chat() };
    expect(read(chat())).toEqual(expected);
    expect(read(JSON.stringify(chat(), null, 2))).toEqual(expected);
    expect(
      read(
        `{"max_tokens" : 1e2, "stream":false,"messages":[{"content":"${sealed(5)}","role":"user"}],"model":"their\\/model"}`,
      ),
    ).toEqual(expected);
  });

  it('is rejected if any of its names occurs twice, at any depth', () => {
    const whole = JSON.stringify(chat({ temperature: 0.5 }));
    const names = ['"model":"x",', '"stream":false,', '"max_tokens":9,', '"messages":[],', '"temperature":1,'];
    const within = ['"role":"user",', '"content":"in clear",'];
    const doubled = fc.oneof(
      fc.constantFrom(...names).map((name) => whole.replace('{', `{${name}`)),
      fc.constantFrom(...within).map((name) => whole.replace('[{', `[{${name}`)),
    );
    fc.assert(
      fc.property(doubled, (body) => {
        expect(() => read(body)).toThrow(/twice/);
      }),
    );
    // A name with an escape is still the same name.
    expect(() => read(whole.replace('{', '{"\\u006dodel":"x",'))).toThrow(ServiceError);
    expect(() => read(whole.replace('{', '{"__proto__":{},'))).toThrow(ServiceError);
  });
});

describe('a body that is sealed whole', () => {
  const frame = (bytes: number): Buffer => {
    const all = Buffer.alloc(4 + 16 + bytes, 1);
    all.writeUInt32BE(16 + bytes);
    return all;
  };
  const framed = (body: Buffer) => readSealedBody(body, { ...announced, rule: tinfoil, variant: tinfoil.variants[0] });

  it('yields the length of its plaintext', () => {
    expect(framed(Buffer.concat([frame(10), Buffer.alloc(4), frame(3)]))).toEqual({ plaintextBytes: 13 });
  });

  it.each([
    ['nothing', Buffer.alloc(0)],
    ['a frame that is cut', frame(10).subarray(0, -1)],
    ['half a length', Buffer.concat([frame(10), Buffer.alloc(2)])],
    ['frames without content', Buffer.concat([Buffer.alloc(4), frame(0)])],
    ['text', Buffer.from('{"model":"m"}')],
  ])('is rejected as %s', (_, body) => {
    expect(() => framed(body)).toThrow(ServiceError);
  });

  it('yields no length if it was packed', () => {
    const body = Buffer.from([1, 2, 3]);
    expect(readSealedBody(body, { ...announced, rule: chutes, variant: chutes.variants[0] })).toEqual({
      plaintextBytes: 0,
    });
  });
});
