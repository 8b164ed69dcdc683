import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { expectFair, startLoad } from '../../faults/chaos/load.ts';
import { bearer, type Called, call, errorOf } from '../../kit/call.ts';
import { type Act, scripted } from '../../kit/scripted-provider.ts';
import { until } from '../../kit/until.ts';
import { usageOf } from '../../money/world.ts';
import { type BalancedStage, roll, setBalancedStage } from './balanced.ts';

let stage: BalancedStage | undefined;

beforeAll(async () => {
  stage = await setBalancedStage('a rolling restart of two brokers and two controls behind HAProxy');
});
afterAll(async () => {
  await stage?.stop();
});

it('two brokers and two controls are restarted one by one under load: no request and no stream is lost', async (context) => {
  if (stage === undefined) return context.skip('no Redis, or no HAProxy');
  const { service, account, brokers, controls } = stage;
  const other = await service.createAccount({ usd: 10 });
  const long: Promise<Called>[] = [];
  const usage = usageOf(7, 30);
  /** Streams of three seconds, which a plane that goes must let end. */
  const beginStreams = (): void => {
    for (let index = 0; index < 4; index += 1) {
      const act = { kind: 'answer', usage, pieces: 30, pieceMs: 100 } as const;
      const messages = [{ role: 'user', content: scripted({ '*': act }, `long ${long.length}`) }];
      const body = { model: 'm/one', stream: true, messages, max_completion_tokens: 100 };
      long.push(call(`${service.baseUrl}/chat/completions`, bearer(other.inferenceKey), body));
    }
  };

  const load = startLoad(stage, { everyMs: 30 });
  await load.reach(20);
  const codes = [
    ...(await roll(brokers, { beforeEach: beginStreams })),
    ...(await roll(controls)),
    ...(await roll(brokers, { beforeEach: beginStreams })),
  ];
  const sent = await load.stop();

  expect(codes).toEqual([0, 0, 0, 0, 0, 0]);
  const told = ({ status, ended, text }: Called): string => `${status} ${ended} ${text.slice(-200)}`;
  expect(sent.filter(({ called }) => !called.complete).map(({ index, called }) => `${index}: ${told(called)}`)).toEqual(
    [],
  );
  expect((await Promise.all(long)).filter(({ complete }) => !complete).map(told)).toEqual([]);
  expect(sent.length).toBeGreaterThan(300);
  await expectFair(stage, sent);
  // Each of the long ones costs the same.
  expect(await service.settled(other)).toBe(10n ** 10n - BigInt(long.length) * (7n * 1000n + 30n * 3000n));
  expect(await service.settled(account)).toBeGreaterThan(0n);
  expect(await service.runControl(['audit'])).toMatchObject({ code: 0 });
}, 240_000);

it('a plane that goes says so while it still serves, and asks its clients to come back elsewhere', async (context) => {
  if (stage === undefined) return context.skip('no Redis, or no HAProxy');
  const direct = await stage.service.addBroker();
  const origin = new URL(direct.baseUrl).origin;
  const models = (): Promise<Response> =>
    fetch(`${direct.baseUrl}/models`, { headers: bearer(stage?.account.inferenceKey ?? '') });
  // Long enough to be looked at on a busy machine.
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

it('what comes on a connection that is kept is served while streams end, and nothing is cut', async (context) => {
  if (stage === undefined) return context.skip('no Redis, or no HAProxy');
  const { account } = stage;
  const direct = await stage.service.addBroker();
  const ask = (pieceMs: number): Promise<Called> => {
    const act = { kind: 'answer', usage: usageOf(7, 8), pieces: 10, pieceMs } as const;
    const messages = [{ role: 'user', content: scripted({ '*': act }, `kept ${pieceMs}`) }];
    const body = { model: 'm/one', stream: true, messages, max_completion_tokens: 100 };
    return call(`${direct.baseUrl}/chat/completions`, bearer(account.inferenceKey), body);
  };
  const running = ask(340);
  await new Promise((resolve) => setTimeout(resolve, 200));
  const ended = direct.process.terminate();
  const answered = await running;
  expect(answered.complete, answered.text.slice(-300)).toBe(true);
  expect(errorOf(answered)).toBeUndefined();
  expect(await ended).toBe(0);
});

it('what still runs when the time to go is over ends in words, and free', async (context) => {
  if (stage === undefined) return context.skip('no Redis, or no HAProxy');
  const { service } = stage;
  const account = await service.createAccount({ usd: 10 });
  const direct = await service.addBroker();
  await direct.process.terminate();
  await direct.process.restart({ DRAIN_DELAY_S: '0', DRAIN_TIMEOUT_S: '2' });
  const ask = (act: Act, stream: boolean): Promise<Called> => {
    const messages = [{ role: 'user', content: scripted({ '*': act }, `cut ${stream}`) }];
    const body = { model: 'm/one', stream, messages, max_completion_tokens: 1000 };
    return call(`${direct.baseUrl}/chat/completions`, bearer(account.inferenceKey), body);
  };
  const usage = usageOf(7, 300);
  const streaming = ask({ kind: 'answer', usage, pieces: 300, pieceMs: 100 }, true);
  const silent = [true, false].map((stream) => ask({ kind: 'answer', usage, delayMs: 60_000 }, stream));
  await pause(500);
  const code = await direct.process.terminate();

  const broken = await streaming;
  expect([broken.status, broken.complete, broken.ended]).toEqual([200, false, 'answered']);
  const last = JSON.parse(
    broken.text
      .trim()
      .split('\n\n')
      .at(-1)
      ?.replace(/^data: /, '') ?? '',
  );
  expect(last).toMatchObject({
    object: 'chat.completion.chunk',
    choices: [{ finish_reason: 'error' }],
    error: { type: 'service_unavailable', message: expect.stringContaining('restarted') },
  });
  for (const { status, headers, text } of await Promise.all(silent)) {
    expect([status, JSON.parse(text).error.type]).toEqual([503, 'service_unavailable']);
    // The provider may have begun to work: whoever asks again may have it work twice.
    expect([headers['retry-after'], headers['x-should-retry']]).toEqual(['1', 'false']);
  }
  expect(code).toBe(0);
  expect(await service.settled(account)).toBe(10n ** 10n);
  expect(await service.runControl(['audit'])).toMatchObject({ code: 0 });
});
