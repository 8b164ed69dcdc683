import { loadAdapter, type Upstream, type UpstreamHandler } from '@sotto/providers';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { StreamAttempt } from './stream-attempt.ts';

const words = 'data: {"choices":[{"index":0,"delta":{"content":"hi"}}]}\n\n';
const terminator = 'data: [DONE]\n\n';
const headers = { contentType: 'text/event-stream', retryAfter: undefined, isDelimited: true };

const adapter = await loadAdapter('openai');

/** Opens an attempt whose answer has begun, and returns the provider's side of it. */
function begun(first = words) {
  let provider: UpstreamHandler | undefined;
  let isAborted = false;
  let isHeldBack = false;
  const upstream: Pick<Upstream, 'call'> = {
    call(_request, handler) {
      provider = handler;
      const abort = (): void => {
        isAborted = true;
      };
      const hold = (isHeld: boolean) => (): void => {
        isHeldBack = isHeld;
      };
      return { hasBegun: true, abort, pause: hold(true), resume: hold(false) };
    },
  };
  const ends: string[] = [];
  const attempt = new StreamAttempt({
    adapter,
    limits: { firstByteMs: 1000, idleMs: 60_000 },
    reader: adapter.openChatStream({
      identity: { id: 'c', created: 0, model: 'a/b' },
      stripReasoning: false,
    }),
    onStart: () => {},
  });
  attempt.start(upstream as Upstream, { path: '/chat/completions', body: '{}', accept: 'text/event-stream' });
  attempt.flowTo({ write() {}, end: (ending) => ends.push(ending) });
  if (provider === undefined) throw new Error('the provider was not called');
  provider.onResponse(200, headers);
  provider.onBytes(Buffer.from(first));
  return { attempt, provider, ends, isAborted: () => isAborted, isHeldBack: () => isHeldBack };
}

const finish = 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n';
const usageOf = (tokens: number): string =>
  `data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":${tokens}}}\n\n`;
const afterRead = (): Promise<unknown> => new Promise((resolve) => setImmediate(resolve));

describe('an answer that has its finish reason, on a stream that stays open', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('ends for the client five seconds after the last piece', async () => {
    const { attempt, provider, ends, isAborted } = begun();
    provider.onBytes(Buffer.from(finish));
    await afterRead();
    vi.advanceTimersByTime(4_000);
    provider.onBytes(Buffer.from(usageOf(6)));
    await afterRead();
    vi.advanceTimersByTime(4_900);
    await afterRead();
    expect({ ends, isAborted: isAborted() }).toEqual({ ends: [], isAborted: false });
    vi.advanceTimersByTime(100);
    await afterRead();
    expect({ ends, isAborted: isAborted() }).toEqual({ ends: ['complete'], isAborted: true });
    expect(attempt.reported).toMatchObject({ usage: { completionTokens: 6 } });
    expect(vi.getTimerCount()).toBe(0);
  });

  it('ends for the client although comments go on', async () => {
    const { provider, ends } = begun();
    provider.onBytes(Buffer.from(finish));
    for (const afterMs of [0, 4_000, 900, 100]) {
      vi.advanceTimersByTime(afterMs);
      await afterRead();
      provider.onBytes(Buffer.from(': ping\n\n'));
      await afterRead();
    }
    expect(ends).toEqual(['complete']);
  });
});

describe('an answer that has its finish reason, while the client holds the stream back', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('waits for its usage until five seconds after the client goes on', async () => {
    const { attempt, provider, ends } = begun();
    attempt.pause();
    provider.onBytes(Buffer.from(finish));
    await afterRead();
    vi.advanceTimersByTime(300_000);
    await afterRead();
    expect(ends).toEqual([]);
    attempt.resume();
    vi.advanceTimersByTime(4_900);
    provider.onBytes(Buffer.from(usageOf(6) + terminator));
    await afterRead();
    expect(ends).toEqual(['complete']);
    expect(attempt.reported).toMatchObject({ usage: { completionTokens: 6 } });
  });
});

describe('the provider’s connection, after the terminator', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('is closed by the broker if the provider leaves it open', async () => {
    const { provider, ends, isAborted } = begun();
    provider.onBytes(Buffer.from(terminator));
    await new Promise((resolve) => setImmediate(resolve));
    expect(ends).toEqual(['complete']);
    expect(isAborted()).toBe(false);
    vi.advanceTimersByTime(1000);
    expect(isAborted()).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('is read to its end, although the client holds back what came with the terminator', async () => {
    const { attempt, provider, ends, isHeldBack } = begun();
    attempt.pause();
    expect(isHeldBack()).toBe(true);
    provider.onBytes(Buffer.from(terminator));
    await afterRead();
    expect([ends, isHeldBack()]).toEqual([['complete'], false]);
  });

  // A timer keeps the attempt in memory, with its request and answer. At a thousand streams a second, that is many
  // megabytes.
  it.each([
    ['afterwards', true],
    ['in the same read', false],
    ['by breaking off', 'breaks'],
  ])('leaves no timer once it has ended %s', async (_name, how) => {
    const { provider, ends, isAborted } = begun();
    provider.onBytes(Buffer.from(terminator));
    if (how !== false) await new Promise((resolve) => setImmediate(resolve));
    if (how === 'breaks') provider.onFailure('network_failure');
    else provider.onEnd();
    expect(ends).toEqual(['complete']);
    expect(vi.getTimerCount()).toBe(0);
    expect(isAborted()).toBe(false);
  });
});

describe('a client that leaves', () => {
  it('has taken what was received until then, and the usage is awaited', async () => {
    const { attempt, provider, ends } = begun();
    provider.onBytes(Buffer.from(words));
    expect(attempt.clientLeft()).toBe(true);
    provider.onBytes(Buffer.from(words + finish));
    await afterRead();
    expect(attempt.reported).toBeUndefined();
    provider.onBytes(Buffer.from(usageOf(6) + terminator));
    await afterRead();
    expect(attempt).toMatchObject({ takenBytes: 4, reported: { usage: { completionTokens: 6 } } });
    expect(attempt.reader.reportedAtBytes).toBe(6);
    expect(ends).toEqual(['complete']);
  });

  it('after the finish reason has taken all of the answer', async () => {
    const { attempt, provider } = begun();
    provider.onBytes(Buffer.from(finish));
    expect(attempt.clientLeft()).toBe(true);
    expect(attempt.takenBytes).toBeUndefined();
  });

  it('is not waited for where the usage is known, even if the provider goes on', async () => {
    const { attempt, provider } = begun();
    provider.onBytes(Buffer.from(usageOf(1)));
    expect(attempt.clientLeft()).toBe(false);
    expect(attempt).toMatchObject({ takenBytes: 2, reported: { usage: { completionTokens: 1 } } });
  });

  // Encrypted reasoning has no bytes of text, so by bytes the usage that came with it covers all of it.
  it('after encrypted reasoning is waited for, if the usage beside it has no output', async () => {
    const delta = { reasoning_details: [{ type: 'reasoning.encrypted', data: 'AAAA' }] };
    const usage = { prompt_tokens: 100_000, completion_tokens: 0 };
    const { attempt, provider, ends } = begun(`data: ${JSON.stringify({ choices: [{ index: 0, delta }], usage })}\n\n`);
    expect(attempt.clientLeft()).toBe(true);
    expect(attempt).toMatchObject({ takenBytes: 0, reported: undefined });
    provider.onBytes(Buffer.from(usageOf(6)));
    await afterRead();
    expect(attempt).toMatchObject({ takenBytes: 0, reported: { usage: { completionTokens: 6 } } });
    expect(ends).toEqual(['complete']);
  });

  it('ends the provider’s work as soon as a usage covers what it took', async () => {
    const { attempt, provider, ends, isAborted } = begun();
    expect(attempt.clientLeft()).toBe(true);
    provider.onBytes(Buffer.from(words + usageOf(2)));
    await afterRead();
    expect(attempt).toMatchObject({ takenBytes: 2, reported: { usage: { completionTokens: 2 } } });
    expect({ ends, isAborted: isAborted() }).toEqual({ ends: ['complete'], isAborted: true });
  });

  it('is not waited for beyond 8 KiB of text that it did not take', async () => {
    const { attempt, provider, ends, isAborted } = begun();
    expect(attempt.clientLeft()).toBe(true);
    const piece = (text: string): string =>
      `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: text } }] })}\n\n`;
    provider.onBytes(Buffer.from(piece('a'.repeat(8 * 1024))));
    await afterRead();
    expect(ends).toEqual([]);
    provider.onBytes(Buffer.from(piece('b')));
    await afterRead();
    expect({ ends, isAborted: isAborted() }).toEqual({ ends: ['complete'], isAborted: true });
    expect(attempt.reported).toBeUndefined();
  });
});
