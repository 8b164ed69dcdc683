import { relayRules } from '@sotto/wire';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { openSealedMeter, type SealedMeter } from './sealed-meter.ts';

const overhead = 72;
const { near, tinfoil, chutes } = relayRules;
const sealed = (bytes: number): string => 'ab'.repeat(overhead + bytes);
const event = (payload: unknown): string =>
  `data: ${typeof payload === 'string' ? payload : JSON.stringify(payload)}\n\n`;
const chunk = (delta: object, more: object = {}): string => event({ choices: [{ index: 0, delta, ...more }] });
const finish = chunk({}, { finish_reason: 'stop' });
const done = event('[DONE]');

const streamMeter = (): SealedMeter => openSealedMeter(near, near.variants[0], true);
const wholeMeter = (): SealedMeter => openSealedMeter(near, near.variants[0], false);

function measured(meter: SealedMeter, text: string | Buffer, cuts: readonly number[] = []) {
  const bytes = Buffer.from(text);
  const at = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  for (const [i, start] of [0, ...at].entries()) meter.push(bytes.subarray(start, at[i] ?? bytes.length));
  return { isWhole: meter.end(), producedBytes: meter.producedBytes, isTerminated: meter.isTerminated };
}

describe('the meter of a stream of sealed fields', () => {
  it('counts the same for every split of the bytes', () => {
    const pieces = fc.array(fc.nat({ max: 60 }), { maxLength: 20 });
    fc.assert(
      fc.property(pieces, fc.array(fc.nat()), (lengths, cuts) => {
        const text = `: ping\n\n${lengths.map((bytes) => chunk({ content: sealed(bytes) })).join('')}${finish}${done}`;
        expect(measured(streamMeter(), text, cuts)).toEqual({
          isWhole: true,
          producedBytes: lengths.reduce((sum, bytes) => sum + bytes, 0),
          isTerminated: true,
        });
      }),
    );
  });

  it.each([
    ['a finish reason', finish, true],
    ['a terminator', done, true],
    ['neither', chunk({ content: sealed(5) }), false],
    ['an error, whatever follows', event({ error: { message: 'x' } }) + done, false],
    ['nothing', '', false],
    ['what is no JSON', event('{') + event('null') + event('[null]') + event({ choices: [null] }), false],
  ])('judges whether an answer is whole by %s', (_, text, isWhole) => {
    expect(measured(streamMeter(), text).isWhole).toBe(isWhole);
  });

  it('gives up on an event without end', () => {
    const meter = streamMeter();
    const piece = Buffer.alloc(1024 * 1024, 'a');
    const taken = Array.from({ length: 8 }, () => meter.push(piece));
    expect(taken).toContain(false);
  });

  it('ignores the reported usage', () => {
    const usage = { prompt_tokens: 1, completion_tokens: 100_000 };
    expect(measured(streamMeter(), finish + event({ choices: [], usage }) + done).producedBytes).toBe(0);
  });
});

describe('the meter of a whole answer of sealed fields', () => {
  it('counts the content once all of it is there', () => {
    const answer = JSON.stringify({ choices: [{ message: { content: sealed(7), reasoning_content: sealed(4) } }] });
    expect(measured(wholeMeter(), answer, [3, 200])).toMatchObject({ isWhole: true, producedBytes: 11 });
    expect(measured(wholeMeter(), answer.slice(0, -1)).isWhole).toBe(false);
  });

  it('counts reasoning once if it has two names, even if one is empty', () => {
    for (const reasoning of [{ reasoning: null }, { reasoning: '' }, { reasoning: sealed(4) }, {}]) {
      const answer = JSON.stringify({ choices: [{ message: { ...reasoning, reasoning_content: sealed(4) } }] });
      expect(measured(wholeMeter(), answer).producedBytes).toBe(4);
    }
  });

  it.each(['', '[]', 'null', '{}', '{"choices":[]}', '{"error":{}}'])('is not whole: %s', (answer) => {
    expect(measured(wholeMeter(), answer).isWhole).toBe(false);
  });
});

describe('the meter of frames', () => {
  const frame = (plaintextBytes: number): Buffer => {
    const bytes = Buffer.alloc(4 + plaintextBytes + 16, 1);
    bytes.writeUInt32BE(plaintextBytes + 16);
    return bytes;
  };
  const framed = (isStream: boolean): SealedMeter => {
    const meter = openSealedMeter(tinfoil, tinfoil.variants[0], !isStream);
    meter.begin?.(isStream ? 'text/event-stream; charset=utf-8' : 'application/json');
    return meter;
  };

  it('counts a stream by its bytes, whatever its framing and whatever was announced', () => {
    for (const lengths of [[256, 256, 256, 256], [1024], [1000, 24]]) {
      const bytes = Buffer.concat([Buffer.alloc(4), ...lengths.map(frame)]);
      expect(measured(framed(true), bytes, [1, 5, 300])).toMatchObject({ isWhole: true, producedBytes: 16 });
    }
  });

  it('counts a whole answer without its envelope', () => {
    expect(measured(framed(false), frame(912)).producedBytes).toBe(400);
    expect(measured(framed(false), frame(100)).producedBytes).toBe(0);
  });

  it('tells the least output that they can hold', () => {
    const stream = framed(true);
    stream.push(Buffer.concat([frame(2560), frame(1)]));
    expect(stream.leastTokens).toBe(11);
    const whole = framed(false);
    whole.push(frame(512 + 43));
    expect(whole.leastTokens).toBe(10);
    expect(streamMeter().leastTokens).toBeUndefined();
  });

  it('is not whole within a frame', () => {
    for (const cut of [1, 3, 5, 50]) expect(measured(framed(true), frame(100).subarray(0, cut)).isWhole).toBe(false);
  });
});

describe('the meter of packed answers', () => {
  it('counts no output and sees no terminator', () => {
    const meter = openSealedMeter(chutes, chutes.variants[0], true);
    expect(measured(meter, 'data: [DONE]\n\n')).toEqual({ isWhole: true, producedBytes: 0, isTerminated: false });
  });

  it.each([
    ['text/event-stream', 1536],
    ['application/octet-stream', 8],
  ])('tells the least output that they can hold, by their bytes alone (%s)', (contentType, bytes) => {
    const meter = openSealedMeter(chutes, chutes.variants[0], true);
    meter.begin?.(contentType);
    for (let at = 0; at < 3; at += 1) meter.push(Buffer.alloc(bytes));
    meter.push(Buffer.alloc(bytes - 1));
    expect(meter.leastTokens).toBe(3);
  });
});
