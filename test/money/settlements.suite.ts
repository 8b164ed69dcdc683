import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Settlement, shards, signSettlement } from '@sotto/state';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { addSettlement } from '../kit/add-settlement.ts';
import type { Answer } from '../kit/answer.ts';
import {
  costOf,
  expectNothingHeld,
  expectSettled,
  expectSoundLedger,
  operatorAccount,
  usageOf,
  usageRows,
} from '../kit/books.ts';
import { ask } from '../kit/client.ts';
import { lapseLeases, openHolds } from '../kit/redis-holds.ts';
import { type Act, scripted } from '../kit/scripted-provider.ts';
import { type Service, type TestAccount, until } from '../kit/service.ts';
import type { Stage } from '../kit/stage/stage.ts';
import { absurd } from './meter.ts';
import { refOfStranger, settlementMacKey, settlementOf } from './settlement.ts';
import { pricings } from './spec.ts';

const credited = 10_000_000_000n;
const tokens = { prompt: 10, completion: 20 };
const cost = costOf(tokens, pricings['m/one']);
const answer = { kind: 'answer', usage: usageOf(10, 20) } as const satisfies Act;

const asks = (service: Service, key: string, act: Act = answer, more: object = {}): Promise<Answer> =>
  ask(service, key, {
    model: 'm/one',
    messages: [{ role: 'user', content: scripted({ '*': act }, String(Math.random())) }],
    max_completion_tokens: 100,
    ...more,
  });

/** The ledger itself. */
export function ledgerSuite(stage: Stage): void {
  describe('the ledger', () => {
    it('is added to, and never changed', async () => {
      const { service } = stage;
      const { pool } = service;
      const account = await service.createAccount();
      expect((await asks(service, account.inferenceKey)).complete).toBe(true);
      await expectSettled(service, account, credited);
      for (const statement of [
        'update ledger_entries set amount_nusd = amount_nusd + 1',
        'update ledger_entries set ledger_account = ledger_account where false',
        'delete from ledger_entries',
        'truncate ledger_entries cascade',
        "update ledger_transactions set kind = 'refund'",
        'delete from ledger_transactions',
        'truncate ledger_transactions cascade',
      ]) {
        await expect(pool.query(statement), statement).rejects.toThrow(/append-only/);
      }
      await expectSettled(service, account, credited);
    });

    it('takes no transaction that does not balance, and no wallet below nothing', async () => {
      const { pool } = stage.service;
      const id = randomUUID();
      const client = await pool.connect();
      try {
        await client.query('begin');
        await client.query(
          "insert into ledger_transactions (id, kind, reference) values ($1, 'adjustment', 'unbalanced')",
          [id],
        );
        await client.query(
          "insert into ledger_entries (transaction_id, ledger_account, amount_nusd) values ($1, 'revenue', 1)",
          [id],
        );
        await expect(client.query('commit')).rejects.toThrow(/does not balance/);
      } finally {
        client.release();
      }
      await expect(pool.query('update accounts set balance_nusd = -1')).rejects.toThrow(/not_negative/);
      await expectSoundLedger(stage.service);
    });
  });
}

/** Settlements that reach the settler through Redis late, twice, forged, or without a known account. */
export function settlementsSuite(stage: Stage): void {
  describe('settlements', () => {
    let redis: Redis;
    beforeAll(() => {
      redis = new Redis(stage.service.redisUrl ?? '');
    });
    afterAll(() => redis?.disconnect());

    const streamOf = (shard: number): string => `sotto:{w${shard}}:stream`;
    const add = (shard: number, payload: string, mac: string): Promise<void> =>
      addSettlement(redis, shard, { payload, mac });
    const drained = (): Promise<void> =>
      until(async () => {
        const lengths = await Promise.all(shards.map((shard) => redis.xlen(streamOf(shard))));
        return lengths.every((length) => length === 0);
      }, 'every stream is read and trimmed');

    /** Runs an action while control hangs, so that the test can examine the appended entries. */
    async function whileControlHangs<T>(act: () => Promise<T>): Promise<T> {
      process.kill(stage.service.control.pid, 'SIGSTOP');
      try {
        return await act();
      } finally {
        process.kill(stage.service.control.pid, 'SIGCONT');
      }
    }

    interface Appended {
      readonly shard: number;
      readonly payload: string;
      readonly mac: string;
    }
    async function appended(): Promise<Appended[]> {
      const found: Appended[] = [];
      for (const shard of shards) {
        for (const [, [, payload = '', , mac = '']] of await redis.xrange(streamOf(shard), '-', '+')) {
          found.push({ shard, payload, mac });
        }
      }
      return found;
    }

    /**
     * Makes one charge for an account. Returns it as its broker wrote it. It is booked by now and can be sent again.
     */
    async function charge(account: TestAccount): Promise<Appended> {
      await drained();
      const found = await whileControlHangs(async () => {
        expect((await asks(stage.service, account.inferenceKey)).complete).toBe(true);
        await until(async () => (await appended()).length > 0, 'it is appended');
        return appended();
      });
      const [one, ...others] = found;
      if (one === undefined || others.length > 0) throw new Error(`${found.length} settlements`);
      await drained();
      return one;
    }

    it('charges once what is sent again, later or in the same batch', async () => {
      const { service } = stage;
      const account = await service.createAccount();
      const { shard, payload, mac } = await charge(account);
      expect(await expectSettled(service, account, credited)).toBe(credited - cost);

      for (let times = 0; times < 3; times += 1) await add(shard, payload, mac);
      await drained();
      const fresh = await whileControlHangs(async () => {
        expect((await asks(service, account.inferenceKey)).complete).toBe(true);
        await until(async () => (await appended()).length > 0, 'it is appended');
        const [one] = await appended();
        for (let times = 0; times < 3; times += 1) await add(one?.shard ?? 0, one?.payload ?? '', one?.mac ?? '');
        await add(shard, payload, mac);
        return one;
      });
      await drained();
      // On another shard it is still the same settlement.
      const elsewhere = (shard + 1) % shards.length;
      await add(elsewhere, payload, mac);
      await add(elsewhere, fresh?.payload ?? '', fresh?.mac ?? '');
      await drained();
      expect(await expectSettled(service, account, credited)).toBe(credited - 2n * cost);
      expect(await usageRows(service, account)).toHaveLength(2);
    });

    it('charges no account, and blocks no other settlement, when the MAC is wrong', async () => {
      const { service } = stage;
      const account = await service.createAccount();
      const { shard, payload, mac } = await charge(account);
      const rejectedBefore = await rejected(service);
      const dearer = JSON.stringify({ ...JSON.parse(payload), id: 'another', chargeNusd: '5000000000' });
      const forged: [string, string][] = [
        [dearer, mac],
        [dearer, ''],
        [dearer, 'not base64 at all \u0000'],
        [payload.replace(/"id":"[^"]+"/, '"id":"replayed-under-another-id"'), mac],
        [payload, Buffer.from(mac, 'base64url').fill(0).toString('base64url')],
        [payload, signSettlement(randomBytes(32), JSON.parse(payload)).mac],
        ['', ''],
        ['not json', mac],
        // A NUL, which a Postgres text cannot hold.
        ['nothing \u0000 at all', mac],
        ['half a pair \ud800', mac],
        ['x'.repeat(1_000_000), mac],
      ];
      for (const [forgedPayload, forgedMac] of forged) await add(shard, forgedPayload, forgedMac);
      await redis.xadd(streamOf(shard), '*', 'something', 'else');
      await redis.xadd(streamOf(shard), '*', 'p', payload, 'm', mac, 'more', 'fields');
      // A valid charge behind them, on the same shard.
      expect((await asks(service, account.inferenceKey)).complete).toBe(true);
      await drained();
      expect(await expectSettled(service, account, credited)).toBe(credited - 2n * cost);
      expect((await rejected(service)) - rejectedBefore).toBe(forged.length + 1);
    });

    const rejected = async ({ pool }: Service): Promise<number> =>
      Number((await pool.query<{ count: string }>('select count(*) from rejected_settlements')).rows[0]?.count);

    it.each([
      ['attempts that no column holds', { attempts: 2 ** 40 }],
      ['a time that no column holds', { at: Number.MAX_SAFE_INTEGER }],
      ['a text that no column holds', { model: 'm/\u0000' }],
      ['tokens that no sum holds', { promptTokens: absurd, completionTokens: absurd, reasoningTokens: absurd }],
    ])('books a charge whatever else its settlement says: %s', async (_name, changes) => {
      const { service } = stage;
      const account = await service.createAccount();
      const { shard, payload } = await charge(account);
      const { accountRef } = JSON.parse(payload) as Settlement;
      // Enough to overflow a sum of 63 bits.
      for (let times = 0; times < 1100; times += 1) {
        const odd = signSettlement(settlementMacKey, settlementOf({ accountRef, ...changes, chargeNusd: '1000' }));
        await add(shard, odd.payload, odd.mac);
      }
      await drained();
      expect(await expectSettled(service, account, credited)).toBe(credited - cost - 1_100_000n);
    });

    it('sets aside what it cannot book though it is signed, goes on, and says so in its audit', async () => {
      const { service } = stage;
      const account = await service.createAccount();
      const { shard, payload } = await charge(account);
      const { accountRef } = JSON.parse(payload) as Settlement;
      const rejectedBefore = await rejected(service);
      const poison = signSettlement(settlementMacKey, settlementOf({ accountRef, id: 'no text \u0000' }));
      await whileControlHangs(async () => {
        await add(shard, poison.payload, poison.mac);
        expect((await asks(service, account.inferenceKey)).complete).toBe(true);
      });
      await drained();
      expect((await rejected(service)) - rejectedBefore).toBe(1);
      const audited = await service.runControl(['audit']);
      expect(audited.output).toMatch(/a settlement was set aside.*expected booked, found unbookable/);
      expect(audited.code).toBe(1);
      const listed = await service.runControl(['rejected', 'list']);
      const [id] = /^[0-9a-f-]{36}(?=.* unbookable {2}0\.000001 USD)/m.exec(listed.output) ?? [];
      const dismissed = await service.runControl(['rejected', 'dismiss', id ?? '', '--why', 'made by a test']);
      expect(dismissed).toMatchObject({ code: 0, output: expect.stringContaining('dismissed ') });
      expect(await service.runControl(['rejected', 'dismiss', id ?? '', '--why', 'again'])).toMatchObject({ code: 1 });
      expect(await expectSettled(service, account, credited)).toBe(credited - 2n * cost);
    });

    // The broker's MAC is of a key that control does not have any more. No account will pay the charge, so the note of it must not
    // lower the balance for good. Interleaving: the note is placed with the entry, and nothing that books names it any more.
    it('a charge that is set aside and dismissed does not stay held against its wallet', async () => {
      const { service } = stage;
      await drained();
      const account = await service.createAccount();
      const before = await rejected(service);
      await whileControlHangs(async () => {
        expect((await asks(service, account.inferenceKey)).complete).toBe(true);
        await until(async () => (await appended()).length === 1, 'it is appended');
        for (const { shard, payload } of await appended()) {
          const [[streamId = ''] = []] = await redis.xrange(streamOf(shard), '-', '+');
          await redis.xdel(streamOf(shard), streamId);
          await add(shard, payload, signSettlement(randomBytes(32), JSON.parse(payload)).mac);
        }
      });
      await until(async () => (await rejected(service)) === before + 1, 'it is set aside');
      await drained();
      const { rows } = await service.pool.query<{ id: string }>(
        'select id from rejected_settlements order by created_at desc limit 1',
      );
      const dismissed = await service.runControl(['rejected', 'dismiss', rows[0]?.id ?? '', '--why', 'made by a test']);
      expect(dismissed.code, dismissed.output).toBe(0);
      expect(await service.settled(account)).toBe(credited);
      await expectNothingHeld(service.redisUrl ?? '');
    });

    it('books a charge without a known account to suspense', async () => {
      const { service } = stage;
      const before = await operatorAccount(service, 'suspense');
      const strangers = [
        settlementOf({ chargeNusd: '1000' }),
        settlementOf({ chargeNusd: '200', accountRef: 'nothing that opens' }),
        settlementOf({ chargeNusd: '30', accountRef: '' }),
        settlementOf({ chargeNusd: '4', accountRef: refOfStranger(randomBytes(32)) }),
      ];
      for (const stranger of strangers) {
        const { payload, mac } = signSettlement(settlementMacKey, stranger);
        await add(3, payload, mac);
        await add(3, payload, mac);
      }
      await drained();
      expect((await operatorAccount(service, 'suspense')) - before).toBe(-1234n);
      await expectSoundLedger(service);
    });

    // The account reference cannot be opened, because the key that sealed it was changed. The ledger books the charge
    // to suspense. Redis must then drop its note of the hold. Otherwise the money would stay unavailable to an account
    // that was never charged.
    it('a charge in suspense does not stay held against its wallet', async () => {
      const { service } = stage;
      const account = await service.createAccount();
      const key = await service.createKey(account);
      const refOf = async (name: string): Promise<string | undefined> =>
        (JSON.parse((await redis.hget(name, 'rec')) ?? '{}') as { accountRef?: string }).accountRef;
      const foreign = refOfStranger(randomBytes(32));
      let names: readonly string[] = [];
      // Control may still be writing a key that is new, and would undo the change.
      await until(async () => {
        names = [];
        for (const name of await redis.keys('sotto:{*}:key:*')) {
          if ((await refOf(name)) === undefined) continue;
          const record = JSON.parse((await redis.hget(name, 'rec')) ?? '{}') as object;
          await redis.hset(name, 'rec', JSON.stringify({ ...record, accountRef: foreign }));
          names = [...names, name];
        }
        await sleep(1000);
        return (await Promise.all(names.map(refOf))).every((ref) => ref === foreign);
      }, 'the change stays');
      expect(names.length).toBeGreaterThan(0);
      // The list of models reads the record of the key again.
      const listed = await fetch(`${service.baseUrl}/models`, { headers: { authorization: `Bearer ${key}` } });
      expect(listed.status).toBe(200);
      await listed.body?.cancel();
      const before = await operatorAccount(service, 'suspense');
      expect((await asks(service, key)).complete).toBe(true);
      await until(async () => (await operatorAccount(service, 'suspense')) === before - cost, 'it is booked');
      expect(await service.settled(account)).toBe(credited);
      await expectNothingHeld(service.redisUrl ?? '');
    });

    describe('a hold that was reaped', () => {
      /** Makes the leases of all brokers with holds lapse, and waits until they are reaped. */
      const reapAll = () => until(async () => (await lapseLeases(redis)) === 0, 'the holds are reaped');

      /**
       * Retries on 503: a broker whose lease lapsed begins a new incarnation and asks clients to try again meanwhile.
       */
      async function again(call: () => Promise<Answer>): Promise<Answer> {
        for (;;) {
          const called = await call();
          if (called.status !== 503) return called;
        }
      }

      it('is charged by its settlement all the same', async () => {
        const { service } = stage;
        stage.scripted('alpha').close();
        const account = await service.createAccount();
        const asking = asks(service, account.inferenceKey, { ...answer, gated: true }, { stream: true });
        await until(async () => (await openHolds(redis)).length === 1, 'it is held');
        await reapAll();
        expect(await service.settled(account)).toBe(credited);
        stage.scripted('alpha').open();
        expect((await asking).complete).toBe(true);
        await until(async () => (await usageRows(service, account)).length === 1, 'it is booked');
        expect(await expectSettled(service, account, credited)).toBe(credited - cost);
      });

      it('takes what is left if its money is gone: the operator pays the rest, and no wallet falls below zero', async () => {
        const { service } = stage;
        stage.scripted('alpha').close();
        const before = await operatorAccount(service, 'shortfall');
        // Enough money for one request, not for two.
        const account = await service.createAccount({ usd: 0.0003 });
        const dear: Act = { kind: 'answer', usage: usageOf(10, 100), gated: true };
        const dearCost = costOf({ prompt: 10, completion: 100 }, pricings['m/one']);
        const first = asks(service, account.inferenceKey, dear);
        await until(async () => (await openHolds(redis)).length === 1, 'it is held');
        expect((await asks(service, account.inferenceKey, dear)).status).toBe(402);
        await reapAll();
        const second = again(() => asks(service, account.inferenceKey, dear));
        await until(async () => (await openHolds(redis)).length === 1, 'it is held');
        stage.scripted('alpha').open();
        expect([(await first).complete, (await second).complete]).toEqual([true, true]);
        await until(async () => (await usageRows(service, account)).length === 2, 'both are booked');
        expect(await service.settled(account)).toBe(0n);
        expect((await operatorAccount(service, 'shortfall')) - before).toBe(300_000n - 2n * dearCost);
        await expectSoundLedger(service);
        await expectNothingHeld(service.redisUrl ?? '');
      });
    });

    it('a charge that is written while control is away is booked when it is back', async () => {
      const { service } = stage;
      stage.scripted('alpha').open();
      const account = await service.createAccount();
      await service.control.kill9();
      const called = await Promise.all(Array.from({ length: 30 }, () => asks(service, account.inferenceKey)));
      expect(called.every(({ complete }) => complete)).toBe(true);
      await service.control.restart();
      expect(await expectSettled(service, account, credited)).toBe(credited - 30n * cost);
      expect(await usageRows(service, account)).toHaveLength(30);
    });
  });
}
