import { hashSecret } from '@sotto/state';
import { withRedis } from '@sotto/test-servers';
import { beforeAll, expect, it } from 'vitest';
import { usageOf } from '../kit/books.ts';
import { ask } from '../kit/client.ts';
import { scripted } from '../kit/scripted-provider.ts';
import { until } from '../kit/service.ts';
import { describeTwoProcesses } from './two-processes.ts';

await describeTwoProcesses('the audit of the shared state', (stage) => {
  beforeAll(async () => {
    for (let index = 0; index < 20; index += 1) {
      const content = scripted({ alpha: { kind: 'answer', usage: usageOf(7, 100 + index) } }, String(index));
      const body = { model: 'm/one', messages: [{ role: 'user', content }] };
      const flow = index % 2 === 0 ? 'compatibility' : 'ticket';
      const called = await ask(stage.service, stage.account.inferenceKey, body, { flow });
      expect(called.status).toBe(200);
    }
    await stage.service.settled(stage.account);
  });

  const audit = () => stage.service.runControl(['audit']);

  it('reports no problem when the money is right, and reports what it examined', async () => {
    const { code, output } = await audit();
    expect(output).toMatch(
      /ledger: 1 account, 21 transactions, 20 settlements\nstate: 1 account compared\nclean: to the nano-dollar/,
    );
    expect(code).toBe(0);
  });

  /** Each falsifies one number and restores it afterwards. */
  const falsifications: readonly {
    readonly what: string;
    readonly says: RegExp;
    readonly sql?: readonly [falsify: string, mend: string];
    readonly redis?: readonly [kind: 'wallet' | 'key', field: 'funds' | 'held' | 'unbooked'];
  }[] = [
    {
      what: 'a balance',
      says: /the balance of an account is not the sum of its entries/,
      sql: [
        'update accounts set balance_nusd = balance_nusd + 1',
        'update accounts set balance_nusd = balance_nusd - 1',
      ],
    },
    {
      what: 'a settlement',
      says: /a settlement is not in the ledger with its charge/,
      sql: [
        "insert into settlements (id, charge_nusd) values ('forged', 1)",
        "delete from settlements where id = 'forged'",
      ],
    },
    {
      what: 'what a key has spent',
      says: /what a key has spent is not the sum of its usage by day/,
      sql: [
        "update api_keys set spent_nusd = spent_nusd + 1 where kind = 'inference'",
        "update api_keys set spent_nusd = spent_nusd - 1 where kind = 'inference'",
      ],
    },
    {
      what: 'a daily sum',
      says: /the daily sums of a key are not those of its usage/,
      sql: [
        'update usage_daily set cost_nusd = cost_nusd + 1 where ctid = (select ctid from usage_daily limit 1)',
        'update usage_daily set cost_nusd = cost_nusd - 1 where ctid = (select max(ctid) from usage_daily)',
      ],
    },
    { what: 'the funds of a wallet in Redis', says: /the funds of a wallet differ/, redis: ['wallet', 'funds'] },
    { what: 'what is held of a wallet', says: /what is held of a wallet is not the sum/, redis: ['wallet', 'held'] },
    {
      what: 'what is unbooked of a key',
      says: /what is unbooked of a key is not the sum/,
      redis: ['key', 'unbooked'],
    },
  ];

  it('finds one nano-dollar wherever it is: in a balance, a settlement, a key, a sum, or in Redis', async () => {
    const falsify = async (by: 1 | -1): Promise<void> => {
      for (const { sql, redis: place } of falsifications) {
        if (sql !== undefined) await stage.service.pool.query(sql[by === 1 ? 0 : 1]);
        if (place === undefined) continue;
        await withRedis(stage.service.redisUrl ?? '', async (connection) => {
          const [kind, field] = place;
          // A single change would also move the ledger's balance, so that both sums would still agree.
          const amount = field === 'funds' ? 2 * by : by;
          for (const name of await connection.keys(`sotto:{*}:${kind}:*`))
            await connection.hincrby(name, field, amount);
        });
      }
    };
    await falsify(1);
    try {
      const { code, output } = await audit();
      for (const { what, says } of falsifications) expect(output, what).toMatch(says);
      expect(output).toMatch(/not clean: \d+ findings/);
      expect(code).toBe(1);
    } finally {
      await falsify(-1);
    }
  });

  it('is clean again', async () => {
    expect(await audit()).toMatchObject({ code: 0 });
  });

  // A replica that was behind took over, and the control process that had told Redis died. No process remembers the
  // step.
  it('a revocation that Redis forgot after it was told is sent again automatically', async () => {
    const { service, account } = stage;
    const key = await service.createKey(account);
    await service.pool.query(
      `update api_keys set revoked_at = now(), generation = generation + 1, projected_generation = generation + 1
   where hash = $1`,
      [hashSecret(key)],
    );
    const status = async (): Promise<number> =>
      (await fetch(`${service.baseUrl}/models`, { headers: { authorization: `Bearer ${key}` } })).status;
    await until(async () => (await status()) === 401, 'the key is refused');
  });
});
