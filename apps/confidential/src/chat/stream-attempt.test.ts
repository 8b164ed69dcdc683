import { loadAdapter, type Upstream, type UpstreamHandler } from '@sotto/providers';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { StreamAttempt } from './stream-attempt.ts';

const words = 'data: {"choices":[{"index":0,"delta":{"content":"hi"}}]}\n\n';
const terminator = 'data: [DONE]\n\n';
const headers = { contentType: 'text/event-stream', retryAfter: undefined, isDelimited: true };

const adapter = await loadAdapter('openai');

/** Opens an attempt whose answer has begun, and returns the provider's side of it. */
function begun() {
  let provider: UpstreamHandler | undefined;
  let isAborted = false;
  const upstream: Pick<Upstream, 'call'> = {
    call(_request, handler) {
      provider = handler;
      const abort = (): void => {
        isAborted = true;
      };
      return { abort, pause() {}, resume() {} };
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
  provider.onBytes(Buffer.from(words));
  return { provider, ends, isAborted: () => isAborted };
}

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
