import { beforeAll, describe, expect, it } from 'vitest';
import { ask, bearer, type Called, call, errorOf, type Flow, mint } from '../kit/call.ts';
import { scripted } from '../kit/scripted-provider.ts';
import { until } from '../kit/service.ts';
import { costOf, expectSettled, type MoneyStage, nano, operatorAccount, pricings, usageOf } from './world.ts';

const asked = 200;
const affordable = 20;
// Nearly all that is held, so that the next one is soon unaffordable.
const usage = usageOf(10, 1000);
const cost = costOf({ prompt: 10, completion: 1000 }, pricings['m/one']);
const flows: readonly Flow[] = ['compat', 'ticket'];

const body = (index: number, stream = index % 2 === 0) => ({
  model: 'm/one',
  stream,
  max_completion_tokens: 1000,
  messages: [
    {
      role: 'user',
      content: scripted({ alpha: { kind: 'answer', usage, gated: true } }, String(index).padStart(4, '0')),
    },
  ],
});

/** The wallet and the limits of keys are never overdrawn, however many ask at once. */
export function admissionSuite(stage: MoneyStage): void {
  describe('money for so many requests and no more', () => {
    /** What one of the requests needs set aside, as a refusal tells it. */
    let hold = 0n;
    beforeAll(async () => {
      const pauper = await stage.service.createAccount({ usd: 0.000000001 });
      const refused = await ask(stage.service, pauper.inferenceKey, 'compat', body(0));
      const amount = /needs ([\d.e-]+) USD/.exec(errorOf(refused)?.message ?? '')?.[1];
      expect(amount, refused.text).toBeDefined();
      hold = nano(amount);
    });

    /** Sends all at once, lets the provider answer once all are decided, and resolves to what each one got. */
    async function all(send: (index: number) => Promise<Called>): Promise<Called[]> {
      stage.world.alpha.close();
      stage.world.alpha.seen.length = 0;
      let refused = 0;
      const calls = Array.from({ length: asked }, async (_, index) => {
        const called = await send(index);
        if (called.status !== 200) refused += 1;
        return called;
      });
      await until(() => refused + stage.world.alpha.seen.length === asked, 'every request is decided');
      stage.world.alpha.open();
      return Promise.all(calls);
    }

    function expectExactly(called: readonly Called[]): void {
      const served = called.filter(({ status }) => status === 200);
      const refused = called.filter(({ status }) => status === 402);
      expect([served.length, refused.length]).toEqual([affordable, asked - affordable]);
      expect(served.every(({ complete }) => complete)).toBe(true);
      expect(stage.world.alpha.seen).toHaveLength(affordable);
      for (const each of refused) {
        const error = errorOf(each);
        expect(error?.type).toBe('insufficient_balance');
        // What it needed, and no other amount: the broker does not tell what is there (design 1).
        expect(error?.message.match(/\d[\d.e-]*\d|\d/g)?.map(nano)).toEqual([hold]);
      }
    }

    it.each(flows)('runs exactly what the wallet covers, however many ask at once (%s)', async (flow) => {
      const { service } = stage;
      // One nano-dollar short of one more.
      const credited = hold * BigInt(affordable + 1) - 1n;
      const account = await service.createAccount({ usd: Number(credited) / 1e9 });
      const tickets =
        flow === 'compat'
          ? []
          : await Promise.all(
              Array.from({ length: asked }, async () => {
                const minted = await mint(service, account.inferenceKey, { model: 'm/one' });
                return (JSON.parse(minted.text) as { ticket: string }).ticket;
              }),
            );
      const called = await all((index) =>
        call(
          `${service.baseUrl}/chat/completions`,
          flow === 'compat' ? bearer(account.inferenceKey) : { 'x-router-ticket': tickets[index] ?? '' },
          body(index),
        ),
      );
      expectExactly(called);
      const balance = await expectSettled(service, account, credited);
      expect(balance).toBe(credited - cost * BigInt(affordable));

      // What was refused for want of money kept its ticket: with money again it works, once.
      const refused = called.findIndex(({ status }) => status === 402);
      if (flow === 'ticket') {
        const again = (): Promise<Called> =>
          call(`${service.baseUrl}/chat/completions`, { 'x-router-ticket': tickets[refused] ?? '' }, body(refused));
        expect((await again()).status).toBe(200);
        expect(await again().then((answer) => [answer.status, errorOf(answer)?.type])).toEqual([401, 'invalid_ticket']);
      }
    });

    it.each(flows)("runs exactly what a key's credit limit covers (%s)", async (flow) => {
      const { service } = stage;
      const limit = hold * BigInt(affordable + 1) - 1n;
      const account = await service.createAccount({ usd: 5 });
      const key = await service.createKey(account, { limitUsd: Number(limit) / 1e9 });
      expectExactly(await all((index) => ask(service, key, flow, body(index))));
      await expectSettled(service, account, 5_000_000_000n);

      // What was spent is gone for good: the limit is of the key's lifetime, not of the moment.
      stage.world.alpha.open();
      let more = 0;
      for (; more < affordable + 2; more += 1) {
        if ((await ask(service, key, flow, body(more))).status !== 200) break;
        await service.settled(account);
      }
      const spent = cost * BigInt(affordable + more);
      expect(limit - spent < hold && limit - spent + cost >= hold, `${more} more`).toBe(true);
      expect((await ask(service, account.inferenceKey, flow, body(0))).status).toBe(200);
    });

    it('two keys of one wallet cannot spend it twice, nor two flows', async () => {
      const { service } = stage;
      const credited = hold * BigInt(affordable + 1) - 1n;
      const account = await service.createAccount({ usd: Number(credited) / 1e9 });
      const other = await service.createKey(account, { limitUsd: 5 });
      expectExactly(
        await all((index) =>
          ask(service, index % 3 === 0 ? other : account.inferenceKey, flows[index % 2] ?? 'compat', body(index)),
        ),
      );
      expect(await expectSettled(service, account, credited)).toBe(credited - cost * BigInt(affordable));
    });

    it('one ticket is one request, however many send it at once', async () => {
      const { service } = stage;
      const account = await service.createAccount();
      const { ticket } = await service.mintTicket(account.inferenceKey, { model: 'm/one' });
      const called = await all((index) =>
        call(`${service.baseUrl}/chat/completions`, { 'x-router-ticket': ticket }, body(index)),
      );
      expect(called.filter(({ status }) => status === 200)).toHaveLength(1);
      expect(called.filter(({ status }) => status === 401)).toHaveLength(asked - 1);
      expect(await expectSettled(service, account, 10_000_000_000n)).toBe(10_000_000_000n - cost);
    });

    describe('an empty wallet', () => {
      it('runs what costs nothing, and is told of nothing else', async () => {
        const { service } = stage;
        const account = await service.createAccount({ usd: 0 });
        const free = { ...body(0), model: 'm/free' };
        stage.world.alpha.open();
        expect((await ask(service, account.inferenceKey, 'compat', free)).status).toBe(200);
        expect((await ask(service, account.inferenceKey, 'compat', body(0))).status).toBe(402);
        expect((await mint(service, account.inferenceKey, { model: 'm/one' })).status).toBe(402);
        await expectSettled(service, account, 0n);
      });
    });

    it('nobody paid for what nobody could pay', async () => {
      expect(await operatorAccount(stage.service, 'shortfall')).toBe(0n);
      expect(await operatorAccount(stage.service, 'suspense')).toBe(0n);
    });
  });
}
