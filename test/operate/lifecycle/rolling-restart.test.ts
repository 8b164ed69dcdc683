import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Answer } from '../../kit/answer.ts';
import { usageOf } from '../../kit/books.ts';
import { bearer } from '../../kit/client.ts';
import { expectFair, startLoad, untilThereIsTime } from '../../kit/load.ts';
import { scripted } from '../../kit/scripted-provider.ts';
import { post } from '../../kit/send.ts';
import { type BalancedStage, setBalancedStage } from './balanced-stage.ts';

describe('a rolling restart', () => {
  let stage: BalancedStage | undefined;

  beforeAll(async () => {
    stage = await setBalancedStage('a rolling restart of two brokers and two controls behind HAProxy');
  });
  afterAll(async () => {
    await stage?.stop();
  });

  it('two brokers and two controls are restarted one by one under load: no request and no stream is lost', async (context) => {
    if (stage === undefined) return context.skip('no Redis, or no HAProxy');
    const { service, account, brokers, controls, roll } = stage;
    const other = await service.createAccount({ usd: 10 });
    const long: Promise<Answer>[] = [];
    const usage = usageOf(7, 30);
    /** Begins streams of nine seconds, which a terminating plane must let finish. */
    const beginStreams = (): void => {
      for (let index = 0; index < 4; index += 1) {
        const act = { kind: 'answer', usage, pieces: 30, pieceMs: 300 } as const;
        const messages = [{ role: 'user', content: scripted({ '*': act }, `long ${long.length}`) }];
        const body = { model: 'm/one', stream: true, messages, max_completion_tokens: 100 };
        long.push(
          untilThereIsTime(() => post(`${service.baseUrl}/chat/completions`, body, bearer(other.inferenceKey))),
        );
      }
    };

    const load = startLoad(stage, { everyMs: 60, sendsAgain: true });
    await load.reach(20);
    const codes = [
      ...(await roll(brokers, { beforeEach: beginStreams })),
      ...(await roll(controls)),
      ...(await roll(brokers, { beforeEach: beginStreams })),
    ];
    const sent = await load.stop();

    expect(codes).toEqual([0, 0, 0, 0, 0, 0]);
    const told = ({ status, ended, text }: Answer): string => `${status} ${ended} ${text.slice(-200)}`;
    expect(
      sent.filter(({ called }) => !called.complete).map(({ index, called }) => `${index}: ${told(called)}`),
    ).toEqual([]);
    expect((await Promise.all(long)).filter(({ complete }) => !complete).map(told)).toEqual([]);
    expect(sent.length).toBeGreaterThan(300);
    await expectFair(stage, sent);
    // Each of the long streams costs the same.
    expect(await service.settled(other)).toBe(10n ** 10n - BigInt(long.length) * (7n * 1000n + 30n * 3000n));
    expect(await service.settled(account)).toBeGreaterThan(0n);
    expect(await service.runControl(['audit'])).toMatchObject({ code: 0 });
  }, 240_000);
});
