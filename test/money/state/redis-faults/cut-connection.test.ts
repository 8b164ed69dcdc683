import { setTimeout as sleep } from 'node:timers/promises';
import { StateUnavailableError } from '@sotto/state';
import { describe, expect, test } from 'vitest';
import { eventually, outcome } from '../fixtures.ts';
import { shard, useRedisToBreak, walletId } from './stage.ts';

const redis = useRedisToBreak();
const { answers, executions, held, redeem, settle, throughProxy } = redis;

describe('a connection that is cut before the reply', () => {
  test('leaves a redeem carried out once, never sent again, and undone by a cancel', async () => {
    const network = await throughProxy();
    for (const holdId of ['sent as source', 'sent as digest']) {
      const [before, connections] = [await executions(), network.connections];
      network.cutNextReply();
      await expect(redeem({ holdId })).rejects.toThrow(StateUnavailableError);
      await eventually(answers);
      await sleep(100);
      expect(network.connections).toBeGreaterThan(connections);
      expect(await executions()).toBe(before + 1);
      expect(await held()).toBe(10n);
      await redis.state.cancel(shard, holdId);
      expect(await held()).toBe(0n);
      expect(await redeem({ holdId: `after ${holdId}` })).toMatchObject({ result: 'admitted' });
      await redis.state.cancel(shard, `after ${holdId}`);
    }
  });

  test('leaves a settlement that can be sent again: charged once', async () => {
    const { cutNextReply } = await throughProxy();
    await redeem();
    cutNextReply();
    await expect(settle(4n)).rejects.toThrow(StateUnavailableError);
    await eventually(answers);
    await settle(4n);
    expect(await redis.state.readWallet(shard, walletId)).toMatchObject({ heldNusd: 0n, unbookedNusd: 4n });
  });

  test('counts measurements once, though they are sent again', async () => {
    const { cutNextReply } = await throughProxy();
    const share = () => redis.state.shareMeasurements({ hour: 7, source: 'one', records: new Map([['a', '1;1;;;;']]) });
    cutNextReply();
    await expect(share()).rejects.toThrow(StateUnavailableError);
    await eventually(answers);
    await sleep(100);
    await share();
    const { records } = await redis.state.readMeasurements(7, undefined);
    expect(records).toEqual([{ source: 'one', routeId: 'a', record: '1;1;;;;' }]);
  });

  test('measurements that Redis has lost and made anew are read from the beginning', async () => {
    const share = (routeId: string) =>
      redis.state.shareMeasurements({ hour: 7, source: 'one', records: new Map([[routeId, '1;1;;;;']]) });
    await share('a');
    await share('b');
    const { cursor } = await redis.state.readMeasurements(7, undefined);
    await redis.raw.del('sotto:{measurements}:7', 'sotto:{measurements}:7:changes');
    for (const routeId of ['c', 'd', 'e']) await share(routeId);
    const { records } = await redis.state.readMeasurements(7, cursor);
    expect(records.map(({ routeId }) => routeId)).toEqual(['c', 'd', 'e']);
  });

  test('while many are under way fails them all, and repeats none', async () => {
    const { cutNextReply } = await throughProxy();
    const before = await executions();
    cutNextReply();
    const outcomes = await Promise.all(
      Array.from({ length: 50 }, (_, index) => outcome(redeem({ holdId: `hold-${index}` }))),
    );
    expect(outcomes.filter((each) => 'answer' in each)).toEqual([]);
    await eventually(answers);
    await sleep(100);
    expect(await executions()).toBeLessThanOrEqual(before + 50);
    for (let index = 0; index < 50; index += 1) await redis.state.cancel(shard, `hold-${index}`);
    expect(await held()).toBe(0n);
  });
});
