import { budgetAnswerSchema, budgetListAnswerSchema } from '@sotto/contract/control/workspaces';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Answer } from '../kit/answer.ts';
import { costOf, expectSettled, nano, operatorAccount, usageOf } from '../kit/books.ts';
import { ask, bearer, type Flow, mint } from '../kit/client.ts';
import { expectError } from '../kit/expect-error.ts';
import { peopleOf } from '../kit/people.ts';
import { scripted } from '../kit/scripted-provider.ts';
import { get, post, send } from '../kit/send.ts';
import { until } from '../kit/service.ts';
import type { Stage } from '../kit/stage/stage.ts';
import { pricings } from './spec.ts';

const asked = 200;
const affordable = 20;
// Holds nearly the whole wallet, so that the next request soon becomes unaffordable.
const usage = usageOf(10, 1000);
const cost = costOf({ prompt: 10, completion: 1000 }, pricings['m/one']);
const flows: readonly Flow[] = ['compatibility', 'ticket'];

const body = (index: number) => ({
  model: 'm/one',
  stream: index % 2 === 0,
  max_completion_tokens: 1000,
  messages: [
    {
      role: 'user',
      content: scripted({ alpha: { kind: 'answer', usage, gated: true } }, String(index).padStart(4, '0')),
    },
  ],
});

/** Numbers at which other languages' integers wrap around, as JSON. */
const wrapping = ['18446744073709551615', '18446744073709551616', '9223372036854775808', '4294967297', '-1', '1e308'];

/** Concurrent requests never overdraw a wallet or the limit of a key. */
export function admissionSuite(stage: Stage): void {
  describe('a count that would wrap around', () => {
    it.each([
      ['/chat/completions', 'm/one', 'n'],
      ['/chat/completions', 'm/one', 'max_tokens'],
      ['/chat/completions', 'm/one', 'max_completion_tokens'],
      ['/embeddings', 'm/embed', 'dimensions'],
    ])('is refused and costs nothing (%s of %s: `%s`)', async (path, model, field) => {
      const payer = await stage.service.createAccount({ usd: 1 });
      const content = scripted({ '*': { kind: 'answer', usage: usageOf(10, 20) } });
      const asks = JSON.stringify({ model, messages: [{ role: 'user', content }], input: content });
      for (const count of wrapping) {
        const text = asks.replace('{', `{"${field}":${count},`);
        const answer = await post(`${stage.service.baseUrl}${path}`, text, bearer(payer.inferenceKey));
        expectError(answer, 400, 'invalid_request');
        expect(answer.text).toContain(`"param":"${field}"`);
      }
      expect(await expectSettled(stage.service, payer, 1_000_000_000n)).toBe(1_000_000_000n);
    });
  });

  describe('concurrent requests run exactly as far as the money goes', () => {
    /** The amount that one request needs set aside, as the 402 error states it. */
    let hold = 0n;
    beforeAll(async () => {
      const pauper = await stage.service.createAccount({ usd: 0.000000001 });
      const refused = await ask(stage.service, pauper.inferenceKey, body(0));
      const amount = /needs ([\d.e-]+) USD/.exec(refused.error?.message ?? '')?.[1];
      expect(amount, refused.text).toBeDefined();
      hold = nano(amount);
    });

    /** Sends all requests at once. The provider answers once all are decided. Resolves to each result. */
    async function all(send: (index: number) => Promise<Answer>): Promise<Answer[]> {
      stage.scripted('alpha').close();
      stage.scripted('alpha').seen.length = 0;
      let refused = 0;
      const calls = Array.from({ length: asked }, async (_, index) => {
        let called = await send(index);
        // A broker that is short of time turns requests away before it looks at their money. Clients then ask again.
        while (called.status === 503) called = await send(index);
        if (called.status !== 200) refused += 1;
        return called;
      });
      await until(() => refused + stage.scripted('alpha').seen.length === asked, 'every request is decided');
      stage.scripted('alpha').open();
      return Promise.all(calls);
    }

    /** `leftNusd`: the amount that a refusal tells the key, which is left of its limit. */
    function expectExactly(called: readonly Answer[], leftNusd: readonly bigint[] = []): void {
      const served = called.filter(({ status }) => status === 200);
      const refused = called.filter(({ status }) => status === 402);
      expect([served.length, refused.length]).toEqual([affordable, asked - affordable]);
      expect(served.every(({ complete }) => complete)).toBe(true);
      expect(stage.scripted('alpha').seen).toHaveLength(affordable);
      for (const each of refused) {
        const error = each.error;
        expect(error?.type).toBe('insufficient_balance');
        // The message must not reveal the balance.
        expect(error?.message.match(/\d[\d.e-]*\d|\d/g)?.map(nano)).toEqual([hold, ...leftNusd]);
      }
    }

    it.each(flows)('runs exactly what the wallet covers, however many ask at once (%s)', async (flow) => {
      const { service } = stage;
      // One nano-dollar less than another request would need.
      const credited = hold * BigInt(affordable + 1) - 1n;
      const account = await service.createAccount({ usd: Number(credited) / 1e9 });
      const mintOne = async () => (await service.mintTicket(account.inferenceKey, { model: 'm/one' })).ticket;
      const tickets = flow === 'compatibility' ? [] : await Promise.all(Array.from({ length: asked }, mintOne));
      const called = await all((index) =>
        post(
          `${service.baseUrl}/chat/completions`,
          body(index),
          flow === 'compatibility' ? bearer(account.inferenceKey) : { 'x-router-ticket': tickets[index] ?? '' },
        ),
      );
      expectExactly(called);
      const balance = await expectSettled(service, account, credited);
      expect(balance).toBe(credited - cost * BigInt(affordable));

      // A request refused for lack of money kept its ticket. After a credit, the ticket works once.
      const refused = called.findIndex(({ status }) => status === 402);
      if (flow === 'ticket') {
        const again = (): Promise<Answer> =>
          post(`${service.baseUrl}/chat/completions`, body(refused), { 'x-router-ticket': tickets[refused] ?? '' });
        expect((await again()).status).toBe(200);
        expect(await again().then((answer) => [answer.status, answer.error?.type])).toEqual([401, 'invalid_ticket']);
      }
    });

    it.each(flows)("runs exactly what a key's credit limit covers (%s)", async (flow) => {
      const { service } = stage;
      const limit = hold * BigInt(affordable + 1) - 1n;
      const account = await service.createAccount({ usd: 5 });
      const key = await service.createKey(account, { limitUsd: Number(limit) / 1e9 });
      const told = flow === 'compatibility' ? [hold - 1n] : [];
      expectExactly(await all((index) => ask(service, key, body(index), { flow })), told);
      await expectSettled(service, account, 5_000_000_000n);

      // Spent money does not come back: the limit covers the key's lifetime, not only current requests.
      stage.scripted('alpha').open();
      let more = 0;
      for (; more < affordable + 2; more += 1) {
        if ((await ask(service, key, body(more), { flow })).status !== 200) break;
        await service.settled(account);
      }
      const spent = cost * BigInt(affordable + more);
      expect(limit - spent < hold && limit - spent + cost >= hold, `${more} more`).toBe(true);
      expect((await ask(service, account.inferenceKey, body(0), { flow })).status).toBe(200);
    });

    it('runs exactly what the budget of a member covers, with all keys and both flows of the member at once', async () => {
      const { service } = stage;
      const { url, signUp, makeWorkspace, join, makeKey, fund } = peopleOf(stage);
      const owner = await signUp();
      await fund(owner);
      const workspaceId = await makeWorkspace(owner);
      const [alice, ben] = [await join(owner, workspaceId, 'member'), await join(owner, workspaceId, 'member')];
      const keys = [await makeKey(alice, workspaceId), await makeKey(alice, workspaceId)].map(({ key }) => key);
      const limitUsd = Number(hold * BigInt(affordable + 1) - 1n) / 1e9;
      const at = url(`/workspaces/${workspaceId}/budgets`);
      const limit = { limit_usd: limitUsd, member_id: alice.accountId };
      const set = await send('PUT', at, { headers: owner.session, body: limit });
      expect(set.status, set.text).toBe(200);
      const { month } = budgetAnswerSchema.parse(set.json);

      const called = await all((index) =>
        ask(service, keys[index % 2] ?? '', body(index), { flow: flows[Math.floor(index / 2) % 2] ?? 'compatibility' }),
      );
      const refused = called.filter(({ status }) => status === 402).map((each) => each.error?.message ?? '');
      expect([called.filter(({ status }) => status === 200).length, refused.length]).toEqual([affordable, 180]);
      // Only the key is told the amount. A ticket hides whose it is.
      const texts = new Set(refused.map((text) => /which (the .*) does not cover/.exec(text)?.[1]));
      const until = `until ${new Date(Date.UTC(Number(month.slice(0, 4)), Number(month.slice(5)))).toISOString().slice(0, 10)}`;
      expect(texts).toEqual(
        new Set([
          `the member's budget of ${limitUsd} USD ${until} 00:00 UTC`,
          `the member's budget ${until} 00:00 UTC`,
        ]),
      );
      for (const text of refused) expect(text).toContain('Ask an owner or admin of the workspace to raise it');
      expect((await ask(service, (await makeKey(ben, workspaceId)).key, body(0))).status).toBe(200);

      const managementKey = (await makeKey(owner, workspaceId, 'management')).key;
      await service.settled({ ...owner, workspaceId, inferenceKey: keys[0] ?? '', managementKey });
      const listed = budgetListAnswerSchema.parse((await get(at, owner.session)).json).data;
      expect(listed).toMatchObject([{ scope: 'member', spent_usd: Number(cost * BigInt(affordable)) / 1e9 }]);
      // What was charged stays charged, and a higher limit allows the rest.
      const more = { limit_usd: Number(cost * BigInt(affordable) + hold) / 1e9, member_id: alice.accountId };
      expect((await send('PUT', at, { headers: owner.session, body: more })).status).toBe(200);
      expect((await ask(service, keys[0] ?? '', body(1))).status).toBe(200);
      expect((await ask(service, keys[1] ?? '', body(2))).status).toBe(402);
      expect((await send('DELETE', `${at}/${listed[0]?.id}`, { headers: owner.session })).status).toBe(204);
      expect((await ask(service, keys[1] ?? '', body(3))).status).toBe(200);
    });

    /** These interleavings would spend beyond the budget, or charge one tag for another: see `tag-budgets.integration.test.ts`. */
    it('runs exactly what the budget of a tag covers, whoever has a key with it, and a new tag holds from the next request on', async () => {
      const { service } = stage;
      const alpha = stage.scripted('alpha');
      const { url, signUp, makeWorkspace, join, makeKey, fund } = peopleOf(stage);
      const owner = await signUp();
      await fund(owner);
      const workspaceId = await makeWorkspace(owner);
      const ben = await join(owner, workspaceId, 'member');
      const [ours, theirs] = [await makeKey(owner, workspaceId), await makeKey(ben, workspaceId)];
      const managementKey = (await makeKey(owner, workspaceId, 'management')).key;
      const sent = async (method: 'PUT' | 'PATCH' | 'DELETE', path: string, asked?: object) => {
        const answer = await send(method, url(path), { headers: owner.session, body: asked });
        expect(answer.status, answer.text).toBeLessThan(300);
        return answer.json;
      };
      const tag = (id: string, name: string | null) => sent('PATCH', `/keys/${id}`, { tag: name });
      const budgets = `/workspaces/${workspaceId}/budgets`;
      const limit = async (nusd: bigint) =>
        budgetAnswerSchema.parse(await sent('PUT', budgets, { limit_usd: Number(nusd) / 1e9, tag: 'R&D' }));
      const spent = async (): Promise<bigint | undefined> => {
        await service.settled({ ...owner, workspaceId, inferenceKey: ours.key, managementKey });
        const { data } = budgetListAnswerSchema.parse((await get(url(budgets), owner.session)).json);
        return data.length === 1 ? nano(String(data[0]?.spent_usd)) : undefined;
      };
      const statusOf = async (key: string, flow: Flow = 'compatibility') =>
        (await ask(service, key, body(0), { flow })).status;

      for (const { id } of [ours, theirs]) await tag(id, 'R&D');
      const { month_ends_at: end } = await limit(hold * BigInt(affordable + 1) - 1n);
      const called = await all((index) =>
        ask(service, [ours, theirs][index % 2]?.key ?? '', body(index), {
          flow: flows[Math.floor(index / 2) % 2] ?? 'ticket',
        }),
      );
      const refused = called.filter(({ status }) => status === 402).map((each) => each.error?.message ?? '');
      expect([called.filter(({ status }) => status === 200).length, refused.length]).toEqual([affordable, 180]);
      for (const text of refused)
        expect(text).toMatch(new RegExp(`which the tag's budget .*until ${end.slice(0, 10)} 00:00 UTC does not cover`));
      const charged = cost * BigInt(affordable);
      expect(await spent()).toBe(charged);

      // A request runs while its key changes the tag: it still counts in the budget that admitted it.
      await limit(charged + hold);
      const ticket = { 'x-router-ticket': (await service.mintTicket(theirs.key, { model: 'm/one' })).ticket };
      alpha.close();
      const begun = alpha.seen.length;
      const running = ask(service, theirs.key, body(1));
      await until(() => alpha.seen.length > begun, 'the provider has it');
      await tag(theirs.id, 'Sales');
      expect([await statusOf(ours.key), await statusOf(ours.key, 'ticket')]).toEqual([402, 402]);
      alpha.open();
      expect((await running).status).toBe(200);
      expect(await spent()).toBe(charged + cost);
      // The ticket was bought for the tag of before.
      const late = await post(`${service.baseUrl}/chat/completions`, body(2), ticket);
      expect([late.status, late.error?.type]).toEqual([401, 'invalid_ticket']);
      for (const flow of flows) expect(await statusOf(theirs.key, flow)).toBe(200);
      expect(await spent()).toBe(charged + cost);
      await tag(ours.id, null);
      for (const flow of flows) expect(await statusOf(ours.key, flow)).toBe(200);
      await tag(ours.id, 'R&D');
      for (const flow of flows) expect(await statusOf(ours.key, flow)).toBe(402);
      const { id } = await limit(charged + hold);
      await sent('DELETE', `${budgets}/${id}`);
      for (const flow of flows) expect(await statusOf(ours.key, flow)).toBe(200);
      expect(await limit(hold)).toMatchObject({ id, spent_usd: expect.any(Number) });
      expect(await spent()).toBe(charged + cost * 3n);
      expect((await service.runControl(['audit'])).code).toBe(0);
    });

    it('neither two keys nor two flows can spend one wallet twice', async () => {
      const { service } = stage;
      const credited = hold * BigInt(affordable + 1) - 1n;
      const account = await service.createAccount({ usd: Number(credited) / 1e9 });
      const other = await service.createKey(account, { limitUsd: 5 });
      expectExactly(
        await all((index) =>
          ask(service, index % 3 === 0 ? other : account.inferenceKey, body(index), {
            flow: flows[index % 2] ?? 'compatibility',
          }),
        ),
      );
      expect(await expectSettled(service, account, credited)).toBe(credited - cost * BigInt(affordable));
    });

    it('one ticket is one request, however many send it at once', async () => {
      const { service } = stage;
      const account = await service.createAccount();
      const { ticket } = await service.mintTicket(account.inferenceKey, { model: 'm/one' });
      const called = await all((index) =>
        post(`${service.baseUrl}/chat/completions`, body(index), { 'x-router-ticket': ticket }),
      );
      expect(called.filter(({ status }) => status === 200)).toHaveLength(1);
      expect(called.filter(({ status }) => status === 401)).toHaveLength(asked - 1);
      expect(await expectSettled(service, account, 10_000_000_000n)).toBe(10_000_000_000n - cost);
    });

    describe('an empty wallet', () => {
      it('runs free requests and refuses all others', async () => {
        const { service } = stage;
        const account = await service.createAccount({ usd: 0 });
        const free = { ...body(0), model: 'm/free' };
        stage.scripted('alpha').open();
        for (const flow of flows) expect((await ask(service, account.inferenceKey, free, { flow })).status).toBe(200);
        expect((await ask(service, account.inferenceKey, body(0))).status).toBe(402);
        expect((await mint(service, account.inferenceKey, { model: 'm/one' })).status).toBe(402);
        await expectSettled(service, account, 0n);
      });
    });

    it('the operator pays for no request that exceeded its wallet', async () => {
      expect(await operatorAccount(stage.service, 'shortfall')).toBe(0n);
      expect(await operatorAccount(stage.service, 'suspense')).toBe(0n);
    });
  });
}
