import { randomUUID } from 'node:crypto';
import { hashSecret, type State, StateUnavailableError } from '@sotto/state';
import { expect, it } from 'vitest';
import { applyEvent } from '../billing/orders/apply-event.ts';
import { inTransaction } from '../database/in-transaction.ts';
import { creditWithin, ledgerAccounts } from '../ledger/post-transaction.ts';
import { auditLedger } from '../money-audit/audit-ledger.ts';
import type { CreditsDependencies } from './batch.ts';
import { endReservations } from './end-reservations.ts';
import {
  batchOf,
  clock,
  describeWallets,
  died,
  keyIdOf,
  numbers,
  pool,
  refused,
  usd,
  useWallets,
  withdrawCredits,
} from './wallet-world.integration.ts';
import { lotsLeft } from './withdraw-credits.ts';

/** A state beside which control dies once it has reserved. */
const dyingOnceReserved = (state: State): State => ({
  ...state,
  async reserve(request) {
    await state.reserve(request);
    throw died;
  },
});

await useWallets();

describeWallets('a withdrawal', (world) => {
  it('moves 5 USD to the credits of the key, and signs the same batch the same way again', async () => {
    const { accountId, walletId } = await world.account(12);
    const batch = batchOf('code', await world.code(accountId));
    const signatures = await withdrawCredits(world.deps(), batch);
    expect(signatures).toHaveLength(50);
    expect(await withdrawCredits(world.deps(), batch)).toEqual(signatures);
    expect([await world.balance(accountId), await world.available(walletId)]).toEqual([usd(7), usd(7)]);
    expect(await world.notes()).toEqual([]);
    await expect(withdrawCredits(world.deps(), { ...batch, blinded: numbers() })).rejects.toEqual(refused('forbidden'));
  });

  it('leaves what running requests hold and what is not booked', async () => {
    const { accountId, walletId } = await world.account(9);
    const { accountId: other, walletId: otherWallet } = await world.account(10);
    const { rows } = await pool.query<{ id: string }>('select id from workspaces where account_id = $1', [accountId]);
    const keyHash = hashSecret(randomUUID());
    const keyId = randomUUID();
    await pool.query(
      "insert into api_keys (id, account_id, workspace_id, created_by, kind, name, hash, preview) values ($1, $2, $3, $2, 'inference', 'x', $4, '')",
      [keyId, accountId, rows[0]?.id, keyHash],
    );
    await world.projector.key(keyId);
    const owner = { accountId, workspaceId: rows[0]?.id ?? '', keyId, walletId };
    const held = await world.hold({ walletId, keyHash }, usd(4.5));
    await expect(world.withdraw(accountId)).rejects.toEqual(refused('insufficient_balance'));
    await world.settle(owner, held ?? '', { chargeNusd: usd(4.2) });
    await expect(world.withdraw(accountId)).rejects.toEqual(refused('insufficient_balance'));
    await world.book();
    await expect(world.withdraw(accountId)).rejects.toEqual(refused('insufficient_balance'));
    const second = await world.account(0);
    expect(await world.available(second.walletId)).toBe(0n);
    // Requests meanwhile find the money set aside.
    let meanwhile: string | undefined = 'not asked';
    const state: CreditsDependencies['state'] = {
      ...world.state,
      async reserve(request) {
        const reply = await world.state.reserve(request);
        meanwhile = await world.available(otherWallet).then((nusd) => String(nusd));
        return reply;
      },
    };
    await world.withdraw(other, { state });
    expect(meanwhile).toBe(String(usd(5)));
  });

  it('is refused beyond a balance that the state does not have yet', async () => {
    const { accountId } = await world.account(8);
    await inTransaction(pool, (client) =>
      creditWithin(client, {
        ...{
          accountId,
          amountNusd: -usd(4),
          kind: 'adjustment',
          reference: randomUUID(),
          from: ledgerAccounts.funding,
        },
      }),
    );
    await expect(world.withdraw(accountId)).rejects.toEqual(refused('insufficient_balance'));
  });

  it.each([
    ['nothing by crypto', 0, 20, 'insufficient_balance'],
    ['a part by card', 4.99, 20, 'insufficient_balance'],
    ['enough by crypto', 5, 20, undefined],
  ])('takes only money of crypto payments: %s', async (_, crypto, card, problem) => {
    const { accountId } = await world.account(crypto, card);
    if (problem === undefined) expect(await world.withdraw(accountId)).toHaveLength(50);
    else await expect(world.withdraw(accountId)).rejects.toEqual(refused(problem));
    await expect(world.withdraw(accountId)).rejects.toEqual(refused('insufficient_balance'));
  });

  it('counts what requests used against crypto first, so goodwill and card money never leave', async () => {
    const { accountId } = await world.account(10);
    await inTransaction(pool, (client) =>
      creditWithin(client, {
        ...{
          accountId,
          amountNusd: usd(10),
          kind: 'adjustment',
          reference: randomUUID(),
          from: ledgerAccounts.funding,
        },
      }),
    );
    await world.projector.account(accountId);
    await world.withdraw(accountId);
    await world.withdraw(accountId);
    await expect(world.withdraw(accountId)).rejects.toEqual(refused('insufficient_balance'));
  });

  it('is refused while a payment of the account is disputed', async () => {
    const { accountId } = await world.account(50);
    const [id, orders] = [randomUUID(), await world.orders()];
    await pool.query(
      `insert into orders (id, account_id, status, rail, package_id, amount_nusd, fee_nusd, automatic, save_card, created_at, expires_at)
       values ($1, $2, 'paid', 'card', 'x', 1, 0, false, false, now(), now())`,
      [id, accountId],
    );
    const tell = (event: Parameters<typeof applyEvent>[2]) => applyEvent(orders, id, event, { source: 'webhook' });
    const isRefused = () => expect(world.withdraw(accountId)).rejects.toEqual(refused('forbidden'));
    await tell({ type: 'noticed', flag: 'disputed', dispute: 'dp_1' });
    await isRefused();
    await tell({ type: 'noticed', flag: 'refund_failed' });
    await isRefused();
    await tell({ type: 'noticed', flag: 'disputed', dispute: 'dp_2' });
    await tell({ type: 'dispute_won', dispute: 'dp_1' });
    await isRefused();
    await tell({ type: 'dispute_won', dispute: 'dp_2' });
    // Delivered again, late.
    await tell({ type: 'noticed', flag: 'disputed', dispute: 'dp_1' });
    expect(await world.withdraw(accountId)).toHaveLength(50);
  });

  it('is limited to ten batches in 24 hours', async () => {
    const { accountId } = await world.account(100);
    for (let batch = 0; batch < 10; batch += 1) await world.withdraw(accountId);
    await expect(world.withdraw(accountId)).rejects.toEqual(refused('top_up_limit'));
    clock.now += 86_400_001;
    expect(await world.withdraw(accountId)).toHaveLength(50);
  });

  it('is refused for a disabled account, a used or expired code, and unfit numbers', async () => {
    const { accountId } = await world.account(50);
    const code = await world.code(accountId);
    const [number] = numbers();
    for (const blinded of [[number, number], [Buffer.alloc(256)], [Buffer.alloc(256, 255)], [Buffer.alloc(255, 1)]]) {
      const unfit = [...blinded, ...numbers()].slice(0, 50) as Buffer[];
      await expect(withdrawCredits(world.deps(), batchOf('code', code, { blinded: unfit }))).rejects.toEqual(
        refused('invalid_request'),
      );
    }
    // The key of next year signs only near the end of this one.
    const next = batchOf('code', code, { keyId: keyIdOf(1) });
    await expect(withdrawCredits(world.deps(), next)).rejects.toEqual(refused('invalid_request'));
    await pool.query('update accounts set disabled_at = now() where id = $1', [accountId]);
    await expect(withdrawCredits(world.deps(), batchOf('code', code))).rejects.toEqual(refused('forbidden'));
    await pool.query('update accounts set disabled_at = null where id = $1', [accountId]);
    clock.now += 600_001;
    await expect(withdrawCredits(world.deps(), batchOf('code', code))).rejects.toEqual(refused('forbidden'));
    expect(await world.balance(accountId)).toBe(usd(50));
  });

  // The interleavings: two controls have the same batch, and both find no issuance before either has the code's lock; two batches want
  // the last lot of a code. A lot that was counted twice would end the schedule early, and a batch that was paid twice would lose 5 USD.
  it('by two requests with one code happens once: for the same batch both get it, for another as many as lots are left', async () => {
    for (const [isSame, lots, signed] of [
      [true, 1, 2],
      [true, 3, 2],
      [false, 1, 1],
      [false, 3, 2],
    ] as const) {
      const { accountId } = await world.account(50);
      const code = await world.code(accountId, lots);
      const batch = batchOf('code', code);
      const other = isSame ? batch : batchOf('code', code);
      const both = await Promise.allSettled([
        withdrawCredits(world.deps(), batch),
        withdrawCredits(world.deps(), other),
      ]);
      expect(both.filter(({ status }) => status === 'fulfilled')).toHaveLength(signed);
      const paid = isSame ? 1 : signed;
      expect(await world.balance(accountId)).toBe(usd(50 - 5 * paid));
      expect(await lotsLeft(pool, code)).toBe(lots - paid);
      expect(await auditLedger(pool)).toEqual([]);
    }
  });

  // The interleavings: the permission is revoked or replaced before the answer of a purchase has arrived; while a purchase has its lock; and
  // between a refusal and the next try.
  it('by a permission ends when it is used up or revoked; what was paid before is signed all the same', async () => {
    const { accountId } = await world.account(50);
    const code = await world.code(accountId, 2);
    const paid = batchOf('code', code);
    const signatures = await withdrawCredits(world.deps(), paid);
    const { state } = world;
    let revoked: Promise<unknown> = Promise.resolve();
    const revokesMeanwhile = {
      ...state,
      reserve: async (request: Parameters<State['reserve']>[0]) => {
        revoked = pool.query('delete from credit_codes where account_id = $1', [accountId]);
        return state.reserve(request);
      },
    };
    // A refused purchase takes no lot.
    await pool.query('update accounts set disabled_at = now() where id = $1', [accountId]);
    await expect(withdrawCredits(world.deps(), batchOf('code', code))).rejects.toEqual(refused('forbidden'));
    await pool.query('update accounts set disabled_at = null where id = $1', [accountId]);
    expect(await lotsLeft(pool, code)).toBe(1);
    const last = batchOf('code', code);
    const lastSignatures = await withdrawCredits(world.deps({ state: revokesMeanwhile }), last);
    await revoked;
    await expect(withdrawCredits(world.deps(), batchOf('code', code))).rejects.toEqual(refused('forbidden'));
    expect(await world.balance(accountId)).toBe(usd(40));
    // Another permission, of which the repeated requests take no lot.
    const next = await world.code(accountId, 1);
    const by = { paidBy: { kind: 'code', secret: next } } as const;
    expect(await withdrawCredits(world.deps(), { ...paid, ...by })).toEqual(signatures);
    expect(await withdrawCredits(world.deps(), { ...last, ...by })).toEqual(lastSignatures);
    expect([await lotsLeft(pool, next), await world.balance(accountId)]).toEqual([1, usd(40)]);
  });

  it('survives the death of control after each step', async () => {
    const { accountId, walletId } = await world.account(7);
    const code = await world.code(accountId, 3);
    const batch = batchOf('code', code);
    const { state } = world;
    await expect(withdrawCredits(world.deps({ state: dyingOnceReserved(world.state) }), batch)).rejects.toBe(died);
    expect([await world.balance(accountId), await world.available(walletId)]).toEqual([usd(7), usd(2)]);
    expect(await lotsLeft(pool, code)).toBe(3);
    // It cannot be withdrawn twice, and the note goes when its transaction can no longer commit.
    await expect(withdrawCredits(world.deps(), batch)).rejects.toEqual(refused('insufficient_balance'));
    await endReservations(world.deps());
    expect(await world.notes()).toHaveLength(1);
    clock.now += 31_000;
    await endReservations(world.deps());
    expect([await world.available(walletId), await world.notes()]).toEqual([usd(7), []]);

    const diesBefore = { ...state, book: () => Promise.reject(new StateUnavailableError('timeout')) };
    const signatures = await withdrawCredits(world.deps({ state: diesBefore }), batch);
    expect([await world.balance(accountId), await world.available(walletId)]).toEqual([usd(2), usd(2)]);
    // The projector writes the lower balance while the note is still there: too little is available, never too much.
    await world.projector.account(accountId);
    expect(await world.available(walletId)).toBe(-usd(3));
    clock.now += 31_000;
    await endReservations(world.deps());
    expect([await world.available(walletId), await world.notes()]).toEqual([usd(2), []]);
    expect(await withdrawCredits(world.deps(), batch)).toEqual(signatures);
    expect(await lotsLeft(pool, code)).toBe(2);
  });

  // Each statement in turn is the one before which control dies. Then another control gets the same request.
  it('killed between any two statements is paid once, takes one lot and leaves no note', async () => {
    for (let dies = 1, isOver = false; !isOver; dies += 1) {
      const { accountId, walletId } = await world.account(50);
      const code = await world.code(accountId, 2);
      const batch = batchOf('code', code);
      let statements = 0;
      const dying = <T extends object>(target: T): T =>
        new Proxy(target, {
          get: (of, name) => {
            const value: unknown = Reflect.get(of, name);
            if (typeof value !== 'function') return value;
            return (...args: unknown[]) => {
              if (name === 'query') statements += 1;
              if (name === 'query' && statements === dies) throw died;
              const answer: unknown = Reflect.apply(value, of, args);
              return name === 'connect' ? (answer as Promise<object>).then(dying) : answer;
            };
          },
        });
      await withdrawCredits(world.deps({ pool: dying(pool) }), batch).catch((error: unknown) =>
        expect(error).toBe(died),
      );
      isOver = statements < dies;
      expect(await withdrawCredits(world.deps(), batch)).toHaveLength(50);
      clock.now += 31_000;
      await endReservations(world.deps());
      expect(await lotsLeft(pool, code), `killed at statement ${dies}`).toBe(1);
      expect([await world.balance(accountId), await world.available(walletId)]).toEqual([usd(45), usd(45)]);
      expect([await world.notes(), await auditLedger(pool)]).toEqual([[], []]);
    }
  });

  // Interleaving: control dies in a withdrawal, the account is deleted while the state is away, and the reservation ends before the
  // projector writes the deletion. A balance that was written with the deletion's version would stay.
  it('of an account that was deleted meanwhile gives its wallet nothing back', async () => {
    const { accountId, walletId } = await world.account(7);
    const batch = batchOf('code', await world.code(accountId));
    await expect(withdrawCredits(world.deps({ state: dyingOnceReserved(world.state) }), batch)).rejects.toBe(died);
    await pool.query('update accounts set deleted_at = now(), version = version + 1 where id = $1', [accountId]);
    clock.now += 31_000;
    await endReservations(world.deps());
    await world.projector.account(accountId);
    expect([await world.available(walletId), await world.notes()]).toEqual([0n, []]);
  });

  it('of a wallet that Postgres does not know ends, and keeps no other reservation from its end', async () => {
    const { state } = world;
    const ended: unknown[] = [];
    const { walletId } = await world.account(5);
    const notes = ['0'.repeat(32), walletId].map((id) => `reservation:${id}:0:x`);
    const own = {
      ...state,
      readNotes: async (shard: number) => (shard === 0 ? notes : []),
      book: async ({ holdIds }: Parameters<State['book']>[0]) => void ended.push(...holdIds),
      forget: async (_: number, holdIds: readonly string[]) => void ended.push(...holdIds),
    };
    await endReservations(world.deps({ state: own }));
    expect(ended).toEqual(notes);
  });
});
