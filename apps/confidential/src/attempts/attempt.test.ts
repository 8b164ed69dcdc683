import { stat } from 'node:fs';
import type { Adapter, AnswerReader, Upstream, UpstreamHandler } from '@sotto/providers';
import { describe, expect, it } from 'vitest';
import { beginWhole } from './begin-attempt.ts';

const request = { path: '/', body: '{}', accept: 'application/json' };
const reader: AnswerReader<string> = {
  push() {},
  end: () => ({ ok: true, answer: 'answer', reported: undefined, producedBytes: 0 }),
};
const limits = { firstByteMs: 1, idleMs: 1 };

/** Begins an attempt whose provider is `provider`, with limits of 1 ms. */
const begin = (provider: (handler: UpstreamHandler) => void) => {
  const call = (_request: unknown, handler: UpstreamHandler) => {
    provider(handler);
    return { hasBegun: true, abort() {}, pause() {}, resume() {} };
  };
  const upstream = { call } as unknown as Upstream;
  return beginWhole({
    ...{ adapter: {} as Adapter, upstream, request, limits, reader, maxBytes: 100 },
    success: ({ answer }) => answer,
  });
};

/** Stops this process, as parsing a large body does. Others go on. */
const block = (ms: number): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

describe('the time limits of an attempt', () => {
  it('do not blame a provider whose answer came while the process was blocked', async () => {
    const { result } = begin((handler) => {
      // Like a socket, this is read after the timers of a turn have run.
      stat('.', () => {
        handler.onResponse(200, { contentType: 'application/json', retryAfter: undefined, isDelimited: true });
        handler.onBytes(Buffer.from('{}'));
        handler.onEnd();
      });
    });
    block(300);
    expect(await result).toMatchObject({ ok: true, success: 'answer' });
  });

  it.each(['nothing', 'headers', 'a piece'])('end one that sends %s and then is silent', async (sent) => {
    const { result } = begin((handler) => {
      if (sent === 'nothing') return;
      stat('.', () => {
        handler.onResponse(200, { contentType: 'application/json', retryAfter: undefined, isDelimited: true });
        if (sent === 'a piece') handler.onBytes(Buffer.from('{'));
      });
    });
    block(300);
    expect(await result).toMatchObject({ ok: false, outcome: 'timeout' });
  });
});

// A client that leaves then has cost nothing, so it pays nothing.
it('a provider works for a request from the time when it was sent until a failure comes', async () => {
  let provider: UpstreamHandler | undefined;
  const sent = { hasBegun: false, abort() {}, pause() {}, resume() {} };
  const call = (_request: unknown, handler: UpstreamHandler) => {
    provider = handler;
    return sent;
  };
  const upstream = { call } as unknown as Upstream;
  const { hasBegun, abort } = beginWhole({
    ...{ adapter: {} as Adapter, upstream, request, limits, reader, maxBytes: 100 },
    success: ({ answer }) => answer,
  });
  expect(hasBegun?.()).toBe(false);
  sent.hasBegun = true;
  expect(hasBegun?.()).toBe(true);
  provider?.onResponse(503, { contentType: 'application/json', retryAfter: undefined, isDelimited: true });
  expect(hasBegun?.()).toBe(false);
  abort();
});
