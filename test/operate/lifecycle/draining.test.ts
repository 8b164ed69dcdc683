import { until } from '@sotto/test-servers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Answer } from '../../kit/answer.ts';
import { usageOf } from '../../kit/books.ts';
import { bearer } from '../../kit/client.ts';
import { type Act, scripted } from '../../kit/scripted-provider.ts';
import { post } from '../../kit/send.ts';
import { type OwnStage, startOwnStage } from '../../kit/stage/own-stage.ts';

describe('a broker that is terminated', () => {
  let stage: OwnStage | undefined;

  beforeAll(async () => {
    stage = await startOwnStage('a broker that is terminated', {
      environment: { DRAIN_DELAY_S: '1', DRAIN_TIMEOUT_S: '20' },
      limitMs: 60_000,
    });
  });
  afterAll(async () => {
    await stage?.stop();
  });

  it('a terminating plane says so while it still serves, and asks its clients to reconnect elsewhere', async (context) => {
    if (stage === undefined) return context.skip('no Redis');
    const direct = await stage.service.addBroker();
    const origin = new URL(direct.baseUrl).origin;
    const models = (): Promise<Response> =>
      fetch(`${direct.baseUrl}/models`, { headers: bearer(stage?.account.inferenceKey ?? '') });
    // Terminates slowly enough for the test to look on a busy machine.
    await direct.process.terminate();
    await direct.process.restart({ DRAIN_DELAY_S: '6' });
    expect((await models()).headers.get('connection')).not.toBe('close');
    const ended = direct.process.terminate();
    await until(async () => (await fetch(`${origin}/readyz`)).status === 503, 'it says that it goes', 3000);
    const ready = await fetch(`${origin}/readyz`);
    expect([ready.status, await ready.json()]).toEqual([503, { status: 'not_ready' }]);
    expect(ready.headers.get('connection')).toBe('close');
    const served = await models();
    expect([served.status, served.headers.get('connection')]).toEqual([200, 'close']);
    expect(await ended).toBe(0);
    await expect(models()).rejects.toThrow();
  });

  it('a broker says once that it serves, with what it can call', async (context) => {
    if (stage === undefined) return context.skip('no Redis');
    const { logs } = stage.service;
    const direct = await stage.service.addBroker();
    const { port } = new URL(direct.baseUrl);
    const said = () =>
      logs().match(new RegExp(`\\{[^\\n]*"port":${port},"providers":1,"models":1,"msg":"serving"\\}`, 'g'));
    await until(() => said() !== null, 'it says so');
    expect(await direct.process.terminate()).toBe(0);
    expect(said()).toHaveLength(1);
  });

  it('a stream that outlasts the drain delay ends whole', async (context) => {
    if (stage === undefined) return context.skip('no Redis');
    const { account } = stage;
    const direct = await stage.service.addBroker();
    const ask = (pieceMs: number): Promise<Answer> => {
      const act = { kind: 'answer', usage: usageOf(7, 8), pieces: 10, pieceMs } as const;
      const messages = [{ role: 'user', content: scripted({ '*': act }, `kept ${pieceMs}`) }];
      const body = { model: 'm/one', stream: true, messages, max_completion_tokens: 100 };
      return post(`${direct.baseUrl}/chat/completions`, body, bearer(account.inferenceKey));
    };
    const running = ask(700);
    await new Promise((resolve) => setTimeout(resolve, 200));
    const ended = direct.process.terminate();
    const answered = await running;
    expect(answered.complete, answered.text.slice(-300)).toBe(true);
    expect(answered.error).toBeUndefined();
    expect(await ended).toBe(0);
  });

  it('a request that still runs when the drain time is over ends with an error message, and free', async (context) => {
    if (stage === undefined) return context.skip('no Redis');
    const { service } = stage;
    const account = await service.createAccount({ usd: 10 });
    const direct = await service.addBroker();
    await direct.process.terminate();
    await direct.process.restart({ DRAIN_DELAY_S: '0', DRAIN_TIMEOUT_S: '2' });
    const ask = (act: Act, stream: boolean): Promise<Answer> => {
      const messages = [{ role: 'user', content: scripted({ '*': act }, `cut ${stream}`) }];
      const body = { model: 'm/one', stream, messages, max_completion_tokens: 1000 };
      return post(`${direct.baseUrl}/chat/completions`, body, bearer(account.inferenceKey));
    };
    const { seen } = stage.provider;
    const before = seen.length;
    const usage = usageOf(7, 300);
    const streaming = ask({ kind: 'answer', usage, pieces: 300, pieceMs: 100 }, true);
    const silent = [true, false].map((stream) => ask({ kind: 'answer', usage, delayMs: 60_000 }, stream));
    await until(() => seen.length === before + 3, 'the provider is asked by all');
    const code = await direct.process.terminate();

    const broken = await streaming;
    expect([broken.status, broken.complete, broken.ended]).toEqual([200, false, 'broken']);
    expect(broken.error).toMatchObject({
      type: 'service_unavailable',
      message: expect.stringContaining('restarted'),
    });
    for (const { status, headers, text } of await Promise.all(silent)) {
      expect([status, JSON.parse(text).error.type]).toEqual([503, 'service_unavailable']);
      // The provider may have begun to work, so a retry may make it work twice.
      expect([headers.get('retry-after'), headers.get('x-should-retry')]).toEqual(['1', 'false']);
    }
    expect(code).toBe(0);
    expect(await service.settled(account)).toBe(10n ** 10n);
    expect(await service.runControl(['audit'])).toMatchObject({ code: 0 });
  });
});
