import { expect, it } from 'vitest';
import type { Answer } from '../kit/answer.ts';
import { costOf, nano, usageOf, usageRows } from '../kit/books.ts';
import { ask, bearer, type Flow } from '../kit/client.ts';
import { monitorRedis } from '../kit/redis-wire.ts';
import { type Act, scripted } from '../kit/scripted-provider.ts';
import { post } from '../kit/send.ts';
import { until } from '../kit/service.ts';
import { catalogOf } from '../kit/stage/models.ts';
import { pricing, scriptedModel } from '../kit/stage/scripted-model.ts';
import type { Stage } from '../kit/stage/stage.ts';
import { describeTwoProcesses } from './two-processes.ts';

const requests = 300;
const monitorLagMs = 300;

function roundTripsSuite(stage: Stage): void {
  /** Counts the Redis commands during a run, by connection and by command. A script is named by its digest. */
  async function commandsOf(run: () => Promise<void>): Promise<Map<string, Map<string, number>>> {
    const counts = new Map<string, Map<string, number>>();
    const url = stage.service.redisUrl ?? '';
    const monitor = await monitorRedis(url, ({ source, words: [command = '', digest = ''] }) => {
      // Commands that a script calls do not cross the network.
      if (source === 'lua') return;
      const bySource = counts.get(source) ?? new Map<string, number>();
      counts.set(source, bySource);
      const kind = command.toLowerCase() === 'evalsha' ? `script ${digest}` : command.toLowerCase();
      bySource.set(kind, (bySource.get(kind) ?? 0) + 1);
    });
    try {
      await run();
      // The last commands are still on their way to the monitor.
      await new Promise((resolve) => setTimeout(resolve, monitorLagMs));
      return counts;
    } finally {
      monitor.close();
    }
  }

  async function send(flow: Flow, from: number): Promise<void> {
    // One after the other, because those of one moment share their calls.
    for (let index = from; index < from + requests; index += 1) {
      const stream = index % 2 === 0;
      const content = scripted({ alpha: { kind: 'answer', usage: usageOf(7, 100) } }, String(index));
      const body = { model: 'm/one', stream, messages: [{ role: 'user', content }] };
      const called = await ask(stage.service, stage.account.inferenceKey, body, { flow });
      expect(called.status).toBe(200);
    }
  }

  // A request needs one round trip before its first attempt and one after it. No other command grows with requests.
  it.each(['compatibility', 'ticket'] as const)(
    'a request costs the broker two round trips to Redis (%s)',
    async (flow) => {
      // Warm up: scripts' sources and records of keys are sent only once.
      await send(flow, 0);
      const startedAt = performance.now();
      const counts = await commandsOf(() => send(flow, requests));
      const elapsedMs = performance.now() - startedAt;
      const idle = await commandsOf(() => new Promise((resolve) => setTimeout(resolve, elapsedMs)));
      // Subtract what each connection sends in idle time: leases, penalties, the catalog, the search for settlements.
      const grown = [...counts].map(([source, kinds]) =>
        [...kinds].map(([kind, count]) => ({ kind, count: count - (idle.get(source)?.get(kind) ?? 0) })),
      );
      // On a busy machine, some commands are sent again, here or in the idle time, because a late reply is in doubt.
      const isEach = (count: number): boolean => count > requests * 0.97 && count < requests * 1.1;
      // The broker alone runs two scripts for each request.
      const isEachScript = ({ kind, count }: (typeof grown)[number][number]) =>
        kind.startsWith('script') && isEach(count);
      const brokers = grown.filter((kinds) => kinds.filter(isEachScript).length > 1);
      expect(brokers).toHaveLength(1);
      const [redeemed = 0, settled = 0, ...others] = (brokers[0] ?? [])
        .map(({ count }) => count)
        .filter((count) => count > requests / 2)
        .sort((x, y) => y - x);
      expect([redeemed, settled].filter(isEach)).toHaveLength(2);
      expect(others).toEqual([]);
    },
  );
}

function pricesSuite(stage: Stage): void {
  const asks = (flow: Flow, act: Act) =>
    ask(
      stage.service,
      stage.account.inferenceKey,
      {
        model: 'm/one',
        messages: [{ role: 'user', content: scripted({ alpha: act }, 'x') }],
        max_completion_tokens: 8000,
      },
      { flow },
    );
  const costIn = ({ text }: Answer): bigint => nano(JSON.parse(text).usage?.cost);
  const costs = async (): Promise<bigint[]> => (await usageRows(stage.service, stage.account)).map(({ cost }) => cost);

  it.each(['compatibility', 'ticket'] as const)(
    'a catalog that changes never reprices a request that has begun (%s)',
    async (flow) => {
      const { service, account } = stage;
      const provider = stage.scripted('alpha');
      const used = { prompt: 10, completion: 100 };
      const dearer = { input: pricing.input * 10, output: pricing.output * 10 };
      const now = () => asks(flow, { kind: 'answer', usage: usageOf(10, 100) });
      provider.open();
      await until(async () => costIn(await now()) === costOf(used, pricing), 'the price is what it is at first');
      const asked = provider.seen.length;
      provider.close();
      const begun = asks(flow, { kind: 'answer', usage: usageOf(10, 100), gated: true });
      await until(() => provider.seen.length > asked, 'the provider has it');
      await service.replaceCatalog(catalogOf(scriptedModel({ prices: dearer })));
      try {
        await until(async () => costIn(await now()) === costOf(used, dearer), 'new requests have the new price');
        provider.open();
        expect(costIn(await begun)).toBe(costOf(used, pricing));
        await service.settled(account);
        expect((await costs()).filter((cost) => cost === costOf(used, dearer)).length).toBeGreaterThan(0);
      } finally {
        provider.open();
        await service.replaceCatalog(catalogOf(scriptedModel()));
      }
    },
  );
}

function twoBrokersSuite(stage: Stage): void {
  const requests = 500;
  const keyCount = 8;
  /**
   * Prices are 1 USD per million input tokens and 3 USD per million output tokens. A request of 100 output tokens
   * costs at most 307 micro-USD.
   */
  const limitUsd = 0.004;

  it('500 requests at once on 8 keys of one account, by two brokers, never pass the balance or the limit of a key', async () => {
    const { service } = stage;
    const { baseUrl } = await service.addBroker();
    const account = await service.createAccount({ usd: 0.02 });
    const limited = await Promise.all(
      Array.from({ length: keyCount }, (_, index) => service.createKey(account, index < 4 ? { limitUsd } : {})),
    );
    const act = { kind: 'answer', usage: usageOf(7, 100), delayMs: 150 } as const;
    const body = {
      model: 'm/one',
      messages: [{ role: 'user', content: scripted({ alpha: act }, 'at once') }],
      max_completion_tokens: 100,
    };
    const answers = await Promise.all(
      Array.from({ length: requests }, async (_, index) => {
        const key = limited[index % keyCount] ?? '';
        const base = index % 2 === 0 ? service.baseUrl : baseUrl;
        const answer = await post(`${base}/chat/completions`, body, bearer(key));
        return { key, answer };
      }),
    );
    const served = answers.filter(({ answer }) => answer.status === 200);
    const refused = answers.filter(({ answer }) => answer.status !== 200);
    const poor = refused.filter(({ answer }) => answer.status === 402);
    expect(poor.map(({ answer }) => answer.error?.type)).toEqual(poor.map(() => 'insufficient_balance'));
    // On a busy machine, Redis may answer too late. Those requests must not spend anything either.
    const late = refused.filter(({ answer }) => answer.status !== 402);
    expect(late.map(({ answer }) => answer.error?.type)).toEqual(late.map(() => 'service_unavailable'));
    // Both limits were reached: there is money for some requests, but not for all.
    expect(served.length).toBeGreaterThan(20);
    expect(poor.length).toBeGreaterThan(100);

    const balance = await service.settled(account);
    expect(balance).toBeGreaterThanOrEqual(0n);
    const { rows } = await service.pool.query<{ spent: string; limit: string | null; requests: string }>(
      `select k.spent_nusd as spent, k.credit_limit_nusd as limit, (select count(*) from usage u where u.key_id = k.id) as requests
   from api_keys k where k.account_id = $1`,
      [account.accountId],
    );
    const spent = rows.reduce((sum, row) => sum + BigInt(row.spent), 0n);
    expect(spent).toBe(20_000_000n - balance);
    expect(rows.reduce((sum, row) => sum + Number(row.requests), 0)).toBe(served.length);
    for (const row of rows) {
      if (row.limit !== null) expect(BigInt(row.spent)).toBeLessThanOrEqual(BigInt(row.limit));
    }
    const shortfall = await service.pool.query("select 1 from ledger_entries where ledger_account = 'shortfall'");
    expect(shortfall.rowCount).toBe(0);
    expect(await service.runControl(['audit'])).toMatchObject({ code: 0 });
  });
}

// The last suite adds a broker, which would disturb the count of round trips.
await describeTwoProcesses('money between two processes', roundTripsSuite, pricesSuite, twoBrokersSuite);
