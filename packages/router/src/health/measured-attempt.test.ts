import { describe, expect, it } from 'vitest';
import { type AttemptOutcome, failoverTable } from './failover.ts';
import { type AttemptEnd, type MeasuredOutput, measureAttempt } from './measured-attempt.ts';

type Streamed = Extract<AttemptEnd, { kind: 'streamed' }>;

/** 201 tokens: the first after 300 ms, the others within two seconds. */
const output: MeasuredOutput = { tokens: 201, reasoningTokens: 0, bytes: 804 };
const streamed = (changes: Partial<Omit<Streamed, 'output'>> = {}, produced: Partial<MeasuredOutput> = {}) =>
  measureAttempt({
    ...{ kind: 'streamed', end: 'complete', ttftMs: 300, flowMs: 2000, heldBackMs: 0, ...changes },
    output: { ...output, ...produced },
  });
const whole = (durationMs: number, produced: Partial<MeasuredOutput> = {}) =>
  measureAttempt({ kind: 'whole', durationMs, output: { ...output, ...produced } });

describe('what counts (docs/reference/measurements.md)', () => {
  const outcomes = Object.keys(failoverTable) as AttemptOutcome[];
  const callersOwn: AttemptOutcome[] = [
    ...(['invalid_request', 'unprocessable', 'other_client_error', 'content_refused', 'context_exceeded'] as const),
  ];

  it.each(outcomes.filter((outcome) => !callersOwn.includes(outcome)))('failure: %s before output', (outcome) => {
    expect(measureAttempt({ kind: 'failed', outcome })).toEqual({ success: false });
  });
  it.each(callersOwn)('not at all: %s, which is about the request', (outcome) => {
    expect(measureAttempt({ kind: 'failed', outcome })).toBeUndefined();
  });
  it('success: a stream that came to its end', () => {
    expect(streamed()).toEqual({ success: true, ttftMs: 300, tokensPerSecond: 100, tokensPerByte: 0.25 });
  });
  it('failure: a stream that the provider broke off; its first token was still measured', () => {
    expect(streamed({ end: 'broke' })).toEqual({ success: false, ttftMs: 300 });
  });
  it.each(['client_left', 'broke_while_held_back', 'out_of_time', 'shut_down', 'shut_down_while_held_back'] as const)(
    'not at all: a stream that ended as %s',
    (end) => {
      expect(streamed({ end })).toBeUndefined();
    },
  );
  it('success: a chat answered whole, which has no first token and no speed after it', () => {
    expect(whole(4000)).toEqual({
      ...{ success: true, wholeMs: 4000, wholeTokensPerSecond: 50.25 },
      tokensPerByte: 0.25,
    });
  });
  it('success: vectors and media, with the time to their answer', () => {
    expect(measureAttempt({ kind: 'answered', ttftMs: 80 })).toEqual({ success: true, ttftMs: 80 });
  });
});

describe('speed', () => {
  const speed = (...given: Parameters<typeof streamed>) => streamed(...given)?.tokensPerSecond;

  it('is the tokens after the first by the time after the first', () => {
    expect(speed({ flowMs: 1000 }, { tokens: 51 })).toBe(50);
  });
  it('is undefined for a tiny answer', () => {
    expect(speed({ flowMs: 100 }, { tokens: 10 })).toBeUndefined();
    expect(speed({ flowMs: 100 }, { tokens: 11 })).toBe(100);
    expect(speed({}, { tokens: 0 })).toBeUndefined();
  });
  it('is undefined for a burst', () => {
    expect(speed({ flowMs: 9 })).toBeUndefined();
    expect(speed({ flowMs: 19.9 })).toBeUndefined();
    expect(speed({ flowMs: 20 })).toBe(10_000);
  });
  it('is undefined if the tokens were not reported', () => {
    expect(speed({}, { tokens: undefined })).toBeUndefined();
    expect(whole(4000, { tokens: undefined })?.wholeTokensPerSecond).toBeUndefined();
  });
  it('is undefined if the client set the pace', () => {
    expect(speed({ heldBackMs: 100 })).toBe(100);
    expect(speed({ heldBackMs: 101 })).toBeUndefined();
  });
  it('leaves out reasoning that was billed and not streamed', () => {
    expect(speed({}, { tokens: 5000, reasoningTokens: 4799, bytes: 804 })).toBe(100);
    expect(speed({}, { tokens: 201, reasoningTokens: 150, bytes: 804 })).toBe(100);
  });
});

describe('tokens per byte', () => {
  it('are those of a whole answer that showed all of its output', () => {
    expect(streamed({}, { tokens: 300, bytes: 400 })?.tokensPerByte).toBe(0.75);
    expect(whole(4000, { tokens: 300, bytes: 400 })?.tokensPerByte).toBe(0.75);
  });
  it.each<[string, Partial<MeasuredOutput>]>([
    ['its provider reported no tokens', { tokens: undefined }],
    ['it reasoned', { reasoningTokens: 1 }],
    ['its route may hide reasoning', { mayHide: true }],
    ['it had fewer than ten tokens', { tokens: 9 }],
    ['it had more tokens than bytes', { tokens: 300, bytes: 299 }],
  ])('are unknown if %s', (_, produced) => {
    expect(streamed({}, produced)?.tokensPerByte).toBeUndefined();
    expect(whole(4000, produced)?.tokensPerByte).toBeUndefined();
  });
  it('are unknown if the stream broke', () => {
    expect(streamed({ end: 'broke' })?.tokensPerByte).toBeUndefined();
  });
});
