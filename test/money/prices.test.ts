import { afterAll, beforeAll, expect, it } from 'vitest';
import { catalogWith, pricing, type Stage, setStage } from '../faults/chaos/load.ts';
import { ask, type Called, type Flow } from '../kit/call.ts';
import type { TestRedis } from '../kit/redis.ts';
import { type Act, scripted } from '../kit/scripted-provider.ts';
import { until } from '../kit/service.ts';
import { costOf, nano, usageOf, usageRows } from './world.ts';

let redis: TestRedis | undefined;
let stage: Stage;

beforeAll(async () => {
  const set = await setStage('prices that change');
  if (set === undefined) return;
  stage = set;
  redis = set.redis;
});
afterAll(async () => {
  await stage?.stop();
});

const asks = (flow: Flow, act: Act) =>
  ask(
    stage.service,
    stage.account.inferenceKey,
    flow,
    {
      model: 'm/one',
      messages: [{ role: 'user', content: scripted({ alpha: act }, 'x') }],
      max_completion_tokens: 8000,
    },
    {},
  );
const costIn = ({ text }: Called): bigint => nano(JSON.parse(text).usage?.cost);
const costs = async (): Promise<bigint[]> => (await usageRows(stage.service, stage.account)).map(({ cost }) => cost);

it.each(['compat', 'ticket'] as const)(
  'a catalog that changes never reprices a request that has begun (%s)',
  async (flow) => {
    if (redis === undefined) return;
    const { service, provider, account } = stage;
    const used = { prompt: 10, completion: 100 };
    const dearer = { input: pricing.input * 10, output: pricing.output * 10 };
    const now = () => asks(flow, { kind: 'answer', usage: usageOf(10, 100) });
    provider.open();
    await until(async () => costIn(await now()) === costOf(used, pricing), 'the price is what it is at first');
    const asked = provider.seen.length;
    provider.close();
    const begun = asks(flow, { kind: 'answer', usage: usageOf(10, 100), gated: true });
    await until(() => provider.seen.length > asked, 'the provider has it');
    await service.replaceCatalog(catalogWith(dearer));
    try {
      await until(async () => costIn(await now()) === costOf(used, dearer), 'new requests have the new price');
      provider.open();
      expect(costIn(await begun)).toBe(costOf(used, pricing));
      await service.settled(account);
      expect((await costs()).filter((cost) => cost === costOf(used, dearer)).length).toBeGreaterThan(0);
    } finally {
      provider.open();
      await service.replaceCatalog(catalogWith(pricing));
    }
  },
);

it('a cost that a provider reports itself is never believed', async (context) => {
  if (redis === undefined) return context.skip('no Redis');
  const { service, account } = stage;
  const expected = costOf({ prompt: 10, completion: 100 }, pricing);
  const usage = { ...usageOf(10, 100), cost: 99, total_cost: 99 };
  await until(async () => costIn(await asks('compat', { kind: 'answer', usage })) === expected, 'the price is back');
  await service.settled(account);
  expect((await costs()).every((cost) => cost === expected || cost === 10n * expected)).toBe(true);
});
