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

describe('a run with a cap', () => {
  // The bound is that of a chat in clear. For an encrypted one, the broker sets more aside, and no answer states the cost.
  it('sends no encrypted chat', async () => {
    const { status, text, chats } = await asked({ minimum_privacy: 'e2ee' });
    expect([status, chats]).toEqual([403, 0]);
    expect(text).toContain('what an encrypted chat (minimum_privacy \\"e2ee\\") costs cannot be bounded');
  });

  it('sends a chat in clear', async () => {
    expect(await asked({ minimum_privacy: 'tee' })).toMatchObject({ status: 200, chats: 1 });
  });
});
