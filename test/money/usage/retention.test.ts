import { usageDailyAnswerSchema, usagePageSchema } from '@sotto/contract/control/usage';
import { bookSettlements } from '@sotto/control/testing';
import { until } from '@sotto/test-servers';
import pg from 'pg';
import { expect, it } from 'vitest';
import { bearer } from '../../kit/client.ts';
import { expectError } from '../../kit/expect-error.ts';
import { get } from '../../kit/send.ts';
import { describeStage } from '../../kit/stage/describe-stage.ts';
import { oneModel } from '../../kit/stage/one-model.ts';
import { ownerOf, settlementOf } from '../settlement.ts';

/** The first instant of the UTC month so many months from now. */
const month = (from: number): Date => {
  const today = new Date();
  return new Date(Date.UTC(today.getUTCFullYear(), today.getUTCMonth() + from));
};

const later = (at: Date): string => new Date(at.getTime() + 3_600_000).toISOString();

/** Makes the first partition end a month ago, as in a deployment that has been upgraded long since. */
async function age(databaseUrl: string): Promise<void> {
  const client = new pg.Client(databaseUrl);
  await client.connect();
  try {
    await client.query('alter table usage detach partition usage_first');
    await client.query(
      `alter table usage attach partition usage_first for values from (minvalue) to ('${month(-1).toISOString()}')`,
    );
  } finally {
    await client.end();
  }
}

await describeStage(
  'a retention of one month',
  async ({ databaseUrl }) => {
    await age(databaseUrl);
    return { ...oneModel, environment: { USAGE_RETENTION_MONTHS: '1' } };
  },
  (stage) => {
    it('lists the last month and this one, sums all of them, and the audit accepts it', async () => {
      const { service } = stage;
      const account = await service.createAccount();
      const credential = bearer(account.managementKey);
      const page = async () => usagePageSchema.parse((await get(`${service.controlUrl}/usage`, credential)).json);
      await until(async () => (await page()).kept_from === month(-1).toISOString(), 'the old months are dropped');

      const owner = await ownerOf(service, account);
      const times = [month(-2), month(-1), month(0)];
      await bookSettlements(
        service.pool,
        times.map((at) => ({ owner, settlement: settlementOf({ at: at.getTime() }) })),
      );
      // A booking of a dropped month is listed at most until the next run of the task, an hour later.
      const kept = (await page()).data.filter(({ at }) => at >= month(-1).toISOString());
      expect(kept.map(({ at }) => at)).toEqual([month(0).toISOString(), month(-1).toISOString()]);
      const { rows: stored } = await service.pool.query<{ name: string }>(
        'select tableoid::regclass::text as name from usage order by at',
      );
      const nameOf = (at: Date): string => `usage_${at.toISOString().slice(0, 7).replace('-', '_')}`;
      expect(stored.map(({ name }) => name)).toEqual(['usage_other', nameOf(month(-1)), nameOf(month(0))]);
      const daily = await get(`${service.controlUrl}/usage/daily?from=${month(-3).toISOString()}`, credential);
      expect(usageDailyAnswerSchema.parse(daily.json).total.requests).toBe(3);
      // Hours of deleted rows are not told as empty.
      const hourly = (at: Date) =>
        get(`${service.controlUrl}/usage/daily?group_by=hour&from=${at.toISOString()}&to=${later(at)}`, credential);
      const refused = await hourly(month(-2));
      expectError(refused, 400, 'invalid_request', 'from');
      expect(refused.text).toContain(`requests before ${month(-1).toISOString()}`);
      expect(usageDailyAnswerSchema.parse((await hourly(month(-1))).json).total.requests).toBe(1);
      // The state does not know of these bookings, but the ledger must agree with itself.
      const { output } = await service.runControl(['audit']);
      expect(output).toMatch(/ledger: .* 3 settlements/);
      expect(output).not.toMatch(/daily sums|usage/);
    });
  },
);
