import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { operatorAccount, usageOf } from '../../kit/books.ts';
import { expectFair, startLoad } from '../../kit/load.ts';
import { peopleOf } from '../../kit/people.ts';
import { scripted } from '../../kit/scripted-provider.ts';
import { get, post } from '../../kit/send.ts';
import { type BalancedStage, setBalancedStage } from './balanced-stage.ts';
import { secretRounds } from './secret-rounds.ts';

describe('the rotation of secrets', () => {
  let stage: BalancedStage | undefined;

  beforeAll(async () => {
    stage = await setBalancedStage('secrets that are exchanged under load');
  });
  afterAll(async () => {
    await stage?.stop();
  });

  /** Control refreshes its projection every five seconds, a page at a time. Here all records fit on one page. */
  const refreshedMs = 12_000;

  it('every secret is rotated in three rounds under load, and no client is affected', async (context) => {
    if (stage === undefined) return context.skip('no Redis, or no HAProxy');
    const { service, account, brokers, controls, roll } = stage;
    const rounds = secretRounds(service, async (changes) => {
      expect(await roll(brokers, { changes: changes.broker })).toEqual([0, 0]);
      expect(await roll(controls, { changes: changes.control })).toEqual([0, 0]);
    });
    const { url, signUp } = peopleOf(stage);
    const { session } = await signUp();
    const statusOfSession = async (): Promise<number> => (await get(url('/keys'), session)).status;
    const load = startLoad(stage, { everyMs: 80, sendsAgain: true });
    await load.reach(10);

    await rounds.accept();
    const early = await Promise.all(
      Array.from({ length: 10 }, () => service.mintTicket(account.inferenceKey, { model: 'm/one' })),
    );
    await rounds.use();
    for (const [index, { ticket }] of early.entries()) {
      const act = { kind: 'answer', usage: usageOf(7, 40 + index) } as const;
      const messages = [{ role: 'user', content: scripted({ '*': act }, `early ${index}`) }];
      const body = { model: 'm/one', messages, max_completion_tokens: 100 };
      const answered = await post(`${service.baseUrl}/chat/completions`, body, { 'x-router-ticket': ticket });
      expect(answered.status, answered.text).toBe(200);
    }
    expect(await statusOfSession()).toBe(200);
    await pause(refreshedMs);
    await rounds.forget();
    expect(await statusOfSession()).toBe(401);
    await load.reach(load.begun + 20);
    const sent = await load.stop();

    expect(
      sent
        .filter(({ called }) => !called.complete)
        .map(({ index, called }) => `${index}: ${called.status} ${called.text.slice(-200)}`),
    ).toEqual([]);
    await expectFair(stage, sent);
    const { rows } = await service.pool.query('select count(*)::int as count from rejected_settlements');
    expect(rows).toEqual([{ count: 0 }]);
    expect(await operatorAccount(service, 'suspense')).toBe(0n);
    await service.settled(account);
    expect(await service.runControl(['audit'])).toMatchObject({ code: 0 });
  }, 360_000);
});
