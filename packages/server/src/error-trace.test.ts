import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { exitMessage, traceOf } from './error-trace.ts';

const secret = 'a-secret-of-somebody';
/** As many lookalike lines as a stack can have. */
const lookalikes = Array.from({ length: Error.stackTraceLimit }, () => `    at ${secret} (x.ts:1:1)`).join('\n');

describe('the trace of an unexpected error', () => {
  it('has its name, its code and the place where it was thrown', () => {
    const error = Object.assign(new TypeError(secret), { code: 'ERR_INVALID_ARG_TYPE' });
    const trace = traceOf(error);
    expect(trace).toMatchObject({ name: 'TypeError', code: 'ERR_INVALID_ARG_TYPE' });
    expect(trace.at).toMatch(/^at .*error-trace\.test\.ts:\d+:\d+\)?$/);
    expect(exitMessage('broker', error)).toBe(
      `broker: ended by an unexpected TypeError ERR_INVALID_ARG_TYPE ${trace.at}\n`,
    );
  });

  it('has a place for errors that Node throws, too', () => {
    const thrown = [() => Buffer.alloc('x' as never), () => new URL(secret), () => JSON.parse(secret)].map((run) => {
      try {
        return run();
      } catch (error) {
        return traceOf(error);
      }
    });
    for (const trace of thrown) expect(trace).toMatchObject({ at: expect.stringMatching(/^at .*:\d+:\d+\)?$/) });
    expect(JSON.stringify(thrown)).not.toContain(secret);
  });

  it.each<readonly [string, unknown]>([
    ['a message', new Error(secret)],
    ['a message whose lines look like places', new Error(`no\n    at ${secret} (${secret}.ts:1:1)\n    at x:1:1`)],
    ['a parser that quotes', parseFailure(`{"a": ${secret}}`)],
    ['a name', Object.assign(new Error('no'), { name: `${secret}!` })],
    ['a code', Object.assign(new Error('no'), { code: secret })],
    ['a cause', new Error('no', { cause: new Error(secret) })],
    ['further fields', Object.assign(new Error('no'), { detail: secret, where: secret })],
    ['a message that was changed later', Object.assign(new Error(`    at ${secret} (x:1:1)`), { message: 'no' })],
    ['a message that was cut later', Object.assign(new Error(`no\n${lookalikes}`), { message: 'no' })],
    ['a message that was taken away later', Object.assign(new Error(`no\n${lookalikes}`), { message: '' })],
    ['errors within', new AggregateError([new Error(secret)], 'no')],
    ['a text', secret],
    ['an object', { message: secret, stack: `    at ${secret} (x:1:1)` }],
    ['a stack of its own', Object.assign(new Error('no'), { stack: { at: secret } })],
  ])('does not contain %s', (_, error) => {
    expect(exitMessage('broker', error)).not.toContain(secret);
    expect(Object.values(traceOf(error)).join(' ')).not.toContain(secret);
  });

  it('never contains any part of the message', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary', minLength: 0, maxLength: 30 })), (lines) => {
        const text = lines.map((line) => `    at ${line} (${secret}.ts:1:1)`).join('\n');
        const { at } = traceOf(new Error(text));
        expect(at).not.toContain(secret);
        expect(at).toContain('error-trace.test.ts');
      }),
      { numRuns: 50 },
    );
  });
});

function parseFailure(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    return error;
  }
}
