import { operationPaths } from '@sotto/wire';
import { describe, expect, it } from 'vitest';
import type { AskedRequest } from '../private/private-exchange.ts';
import { RunMeter } from './run-meter.ts';
import { writtenAnswer } from './serve-translation.ts';

const { signal } = new AbortController();
const answer = (body: object) =>
  writtenAnswer({ status: 200, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
const pricing = { input: 1, output: 1 };
const listed = { id: 'acme/small', provider_routes: [{ provider: 'acme', pricing }], context_length: 100 };

/** The status of a chat under a cap, the reason, and how many chats were sent. */
async function asked(provider: unknown) {
  let chats = 0;
  const exchange = {
    async ask({ path }: AskedRequest) {
      if (path === '/v1/models') return answer({ object: 'list', data: [listed] });
      chats += 1;
      return answer({ usage: { cost: 0 } });
    },
  };
  const body = JSON.stringify({ model: 'acme/small', messages: [], provider });
  const meter = new RunMeter(exchange, { cap: 1_000_000_000n });
  const answered = await meter.ask({
    method: 'POST',
    path: operationPaths.chat,
    header: () => undefined,
    body,
    signal,
  });
  return { status: answered.status, text: await answered.toResponse().text(), chats };
}

/** A run with a cap, at a service whose price may change. */
function runAt(cap: bigint) {
  const service = { price: 1, now: 0, lists: 0 };
  const exchange = {
    async ask({ path }: AskedRequest) {
      const pricing = { input: service.price, output: service.price };
      if (path !== '/v1/models') {
        const usage = { prompt_tokens: 50, completion_tokens: 50, cost: service.price / 10_000 };
        return answer({ id: 'chatcmpl-1', model: 'acme/small', usage });
      }
      service.lists += 1;
      return answer({ data: [{ ...listed, provider_routes: [{ provider: 'acme', pricing }] }] });
    },
  };
  const meter = new RunMeter(exchange, { cap, now: () => service.now });
  const body = JSON.stringify({ model: 'acme/small', messages: [{ role: 'user', content: 'x'.repeat(100) }] });
  const ask = async (): Promise<number> => {
    const asked = { method: 'POST', path: operationPaths.chat, header: () => undefined, body, signal };
    const { status, body: pieces } = await meter.ask(asked);
    for await (const _ of pieces);
    return status;
  };
  return { service, ask };
}

// A chat can cost 200,000 nano-dollars, for 100 tokens each way, and costs half of it. At twice the price, it is 400,000.
describe('a price that doubles in the middle of a run with a cap', () => {
  it('counts for the next chat after an answer that cost more', async () => {
    const { service, ask } = runAt(650_000n);
    expect(await ask()).toBe(200);
    service.price = 2;
    expect(await ask()).toBe(200);
    // 350,000 are left.
    expect([await ask(), service.lists]).toEqual([402, 2]);
  });

  it('counts a minute later, although no answer has shown it', async () => {
    const { service, ask } = runAt(450_000n);
    expect(await ask()).toBe(200);
    service.price = 2;
    service.now = 60_000;
    expect([await ask(), service.lists]).toEqual([402, 2]);
  });

  it('is not asked for again while nothing speaks for a change', async () => {
    const { service, ask } = runAt(1_000_000n);
    for (let chat = 0; chat < 3; chat += 1) expect(await ask()).toBe(200);
    expect(service.lists).toBe(1);
  });
});

describe('a run with a cap', () => {
  // The bound is that of a chat in clear. For an encrypted one, the broker sets more aside, and no answer states the cost.
  it('sends no encrypted chat', async () => {
    const { status, text, chats } = await asked({ minimum_privacy: 'e2ee' });
    expect([status, chats]).toEqual([403, 0]);
    expect(text).toContain('what an encrypted chat (minimum_privacy \\"e2ee\\") costs cannot be bounded');
  });

  // Both read what is left before either has stated its cost. One may cost 200,000 nano-dollars.
  it('sends no second chat beside a running one if they could exceed it together', async () => {
    const { ask } = runAt(300_000n);
    expect((await Promise.all([ask(), ask()])).sort()).toEqual([200, 402]);
  });

  it('sends a chat in clear', async () => {
    expect(await asked({ minimum_privacy: 'tee' })).toMatchObject({ status: 200, chats: 1 });
  });
});
