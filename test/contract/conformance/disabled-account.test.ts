import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { ask } from '../../kit/client.ts';
import { type Concept, describeConformance } from '../../kit/conformance.ts';
import { expectError } from '../../kit/expect-error.ts';
import { until } from '../../kit/service.ts';

const model = 'acme/small';

/** Disables an account while its key is in use. */
const disabledAccount: Concept = (suite) => {
  it('stops under traffic, keeps its money, and goes on when it is enabled', async () => {
    const account = suite.spareAccount();
    const other = suite.spareAccount();
    const { service } = suite;
    const clients = Array.from({ length: 4 }, (): number[] => []);
    let isOver = false;
    const traffic = clients.map(async (statuses) => {
      while (!isOver) statuses.push((await ask(service, account.inferenceKey, { model })).status);
    });
    const each = (holds: (statuses: readonly number[]) => boolean) => () => clients.every(holds);
    await until(
      each((statuses) => statuses.length > 3),
      'there is traffic',
    );
    expect((await service.runControl(['account', 'disable', account.accountId])).code).toBe(0);
    await until(
      each((statuses) => statuses.at(-1) === 401),
      'its key is refused',
    );
    const soFar = clients.map(({ length }) => length);
    await until(() => clients.every(({ length }, index) => length > (soFar[index] ?? 0) + 5), 'the traffic goes on');
    isOver = true;
    await Promise.all(traffic);
    for (const statuses of clients) {
      const served = statuses.indexOf(401);
      expect(statuses).toEqual(statuses.map((_, index) => (index < served ? 200 : 401)));
    }
    expectError(await ask(service, account.inferenceKey, { model }), 401, 'invalid_api_key');
    await expect(service.mintTicket(account.inferenceKey, { model })).rejects.toThrow('invalid_api_key');
    expect((await ask(service, other.inferenceKey, { model })).status).toBe(200);

    expect((await service.runControl(['account', 'enable', account.accountId])).code).toBe(0);
    await until(
      async () => (await ask(service, account.inferenceKey, { model })).status === 200,
      'its key works again',
    );
    expect(await service.settled(account)).toBeGreaterThan(9_000_000_000n);
    expect((await service.runControl(['account', 'disable', randomUUID()])).code).toBe(1);
  });
};

await describeConformance('a disabled account', [disabledAccount], { accounts: 2 });
