import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { hashSecret } from '@sotto/state';
import { expect, it } from 'vitest';
import { auditLedger } from '../money-audit/audit-ledger.ts';
import {
  credit,
  credits,
  describeWallets,
  keyIdOf,
  orderWallet,
  pool,
  refused,
  usd,
  useWallets,
  withoutTransactions,
} from './wallet-world.integration.ts';

await useWallets();

describeWallets('a deposit', (world) => {
  it('makes a wallet with 5 USD, whose key opens no compatibility mode, and is accepted again', async () => {
    await world.fund();
    const tokens = credits(50);
    const wallet = await world.wallet({ tokens });
    expect(await world.available(wallet.walletId)).toBe(usd(5));
    expect(await world.hold(wallet, usd(5))).toBeDefined();
    const again = await world.wallet({ tokens: tokens.toReversed(), keyHash: wallet.keyHash, secret: wallet.secret });
    expect(again.accountId).toBe(wallet.accountId);
    const { rows } = await pool.query('select openai_compatible from api_keys where id = $1', [wallet.keyId]);
    expect(rows).toEqual([{ openai_compatible: false }]);
    await expect(world.wallet({ tokens })).rejects.toEqual(
      expect.objectContaining({ type: 'credits_spent', param: Array.from({ length: 50 }, (_, at) => at).join(',') }),
    );
    await expect(world.wallet({ keyHash: wallet.keyHash })).rejects.toEqual(refused('conflict'));
  });

  it('that is refused, or was accepted before, opens no transaction, and neither does such an order', async () => {
    await world.fund();
    const tokens = credits(50);
    const { accountId, ...own } = await world.wallet({ tokens });
    const database = withoutTransactions();
    await expect(world.wallet({ tokens, database })).rejects.toMatchObject({ type: 'credits_spent' });
    expect((await world.wallet({ tokens, ...own, database })).accountId).toBe(accountId);
    for (const taken of [{ keyHash: own.keyHash }, { secret: own.secret }]) {
      await expect(world.wallet({ ...taken, database })).rejects.toEqual(refused('conflict'));
    }
    const asked = { keyHash: own.keyHash, closeHash: hashSecret(randomUUID()), packageId: 'usd-10' };
    const ordered = orderWallet({ ...(await world.orders()), pool: database }, asked);
    await expect(ordered).rejects.toEqual(refused('conflict'));
    await expect(world.wallet({ database })).rejects.toThrow('a transaction');
  });

  it('repeated at once gets the same wallet each time', async () => {
    await world.fund();
    const own = { tokens: credits(50), keyHash: hashSecret(randomUUID()), secret: randomUUID() as string };
    const made = await Promise.all(Array.from({ length: 12 }, () => world.wallet(own)));
    expect(new Set(made.map(({ accountId }) => accountId)).size).toBe(1);
  });

  it('of credits that another deposit has, in another order and at once, succeeds for one of them', async () => {
    await world.fund(2);
    const common = credits(13);
    const tokens = [...common, ...credits(37)];
    const other = [...credits(37), ...common.toReversed()];
    const both = await Promise.allSettled([world.wallet({ tokens }), world.wallet({ tokens: other })]);
    const [lost] = both.filter((each) => each.status === 'rejected');
    expect(both.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect((lost as PromiseRejectedResult).reason).toMatchObject({ type: 'credits_spent' });
    expect((lost as PromiseRejectedResult).reason.param.split(',')).toHaveLength(13);
    await world.close('x').catch(() => {});
    // The refused deposit spent nothing.
    const left = (both[0]?.status === 'rejected' ? tokens : other).filter((token) => !common.includes(token));
    expect(await world.wallet({ tokens: [...left, ...credits(13)] })).toBeDefined();
  });

  it('refuses forged credits, of another issuer, repeated or of unknown keys, before it looks at any', async () => {
    const forged = credit();
    forged[353] = (forged[353] ?? 0) ^ 1;
    const unknown = credit({ key: generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey });
    const [one] = credits(1);
    for (const bad of [[forged], [credit({ issuerName: 'planted.example' })], [one, one], [unknown]]) {
      const tokens = [...bad, ...credits(50)].slice(0, 50) as Buffer[];
      await expect(world.wallet({ tokens })).rejects.toEqual(refused('invalid_request'));
    }
  });

  it('takes credits of two keys, and stops a key of which more are deposited than were signed', async () => {
    await world.fund();
    const before = await pool.query(
      'select coalesce(sum(issued - spent), 0)::int as left from credit_keys where key_id = $1',
      [keyIdOf()],
    );
    const spare = before.rows[0]?.left as number;
    // Somebody else has the key of next year, of which nothing was signed.
    await expect(world.wallet({ tokens: [...credits(25), ...credits(25, 1)] })).rejects.toEqual(refused('conflict'));
    expect(world.findings).toHaveLength(1);
    await expect(world.wallet({ tokens: credits(50, 1) })).rejects.toEqual(refused('conflict'));
    expect(world.findings).toHaveLength(1);
    expect(await auditLedger(pool)).toEqual([expect.objectContaining({ id: keyIdOf(1) })]);
    await pool.query('update credit_keys set stopped_at = null');
    // The other key goes on.
    const after = await pool.query('select (issued - spent)::int as left from credit_keys where key_id = $1', [
      keyIdOf(),
    ]);
    expect(after.rows[0]?.left).toBe(spare);
    expect(await world.wallet()).toBeDefined();
  });
});
