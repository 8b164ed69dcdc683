import { createDecipheriv } from 'node:crypto';
import { shards } from '@sotto/state';
import type { Preferences } from '@sotto/wire';
import { expect, it } from 'vitest';
import { post } from '../../kit/send.ts';
import { describeStage } from '../../kit/stage/describe-stage.ts';

await describeStage(
  'a ticket',
  {
    providers: { alpha: {}, beta: {}, gamma: { privacy: 'anonymous' } },
    models: {
      'm/one': { routes: { alpha: [1, 2], beta: [2, 2], gamma: [3, 2] } },
      'm/two': { routes: { beta: [1, 2] } },
    },
  },
  (stage) => {
    /** A ticket's contents, as control wrote them and a broker reads them. */
    function inside(ticket: string): { text: string; json: Record<string, unknown> } {
      const sealed = Buffer.from(ticket.slice('sotto_tkt_'.length), 'base64url');
      const decipher = createDecipheriv(
        'aes-256-gcm',
        Buffer.from(stage.service.secrets.TICKET_SEALING_KEY, 'base64'),
        sealed.subarray(0, 12),
      );
      decipher.setAAD(Buffer.from('sotto ticket v1')).setAuthTag(sealed.subarray(-16));
      const text = decipher.update(sealed.subarray(12, -16)).toString('utf8', 1);
      decipher.final();
      return { text, json: JSON.parse(text) as Record<string, unknown> };
    }
    /** The contents without the random parts, the hour's parts, and the shard. */
    function fixedPart(ticket: string): object {
      const { accountRef, shard, expiresAt, ...rest } = inside(ticket).json;
      expect(Number(expiresAt) % 3_600_000).toBe(0);
      expect(accountRef).toHaveLength(123);
      expect(shards).toContain(shard);
      return rest;
    }
    const ticketOf = async (
      preferences: Partial<Preferences>,
      request: object = { model: 'm/two' },
    ): Promise<string> => {
      const account = await stage.service.createAccount({ preferences });
      return (await stage.service.mintTicket(account.inferenceKey, request)).ticket;
    };
    const redeem = async (ticket: string) =>
      (
        await post(
          `${stage.service.baseUrl}/chat/completions`,
          { model: 'm/two', messages: [{ role: 'user', content: 'hello' }] },
          { 'x-router-ticket': ticket },
        )
      ).status;

    it('says the same, at the same length, for workspaces whose settings mean the same for its request', async () => {
      const custom: Partial<Preferences> = {
        provider_ignore: ['alpha', 'gamma', 'nobody-else-ignores-this'],
        provider_sort: 'default',
        max_price: { input: 123.456, output: 77.7 },
        auto: { strategy: 'cheapest', tiers: 'Maximum', models: { mode: 'only', ids: ['m/one', 'x/of-our-own'] } },
      };
      const one = await ticketOf(custom);
      const other = await ticketOf({ ...custom, provider_ignore: [], max_price: { input: 1, output: 2 } });
      expect(fixedPart(one)).toEqual(fixedPart(other));
      expect(one).toHaveLength(other.length);
      for (const telling of ['alpha', 'gamma', 'nobody', 'auto', 'cheapest', 'm/one', 'our-own', '123', 'generation']) {
        expect(inside(one).text).not.toContain(telling);
      }
      expect(await redeem(one)).toBe(200);
    });

    it("does not reveal its workspace's number of changes, and expires with its sealing key", async () => {
      const account = await stage.service.createAccount();
      const mint = async () => (await stage.service.mintTicket(account.inferenceKey, { model: 'm/two' })).ticket;
      const first = await mint();
      const second = await mint();
      for (let change = 0; change < 5; change += 1) await stage.service.setPreferences(account, {});
      const later = await mint();
      expect(fixedPart(later)).toEqual(fixedPart(first));
      expect(await redeem(second)).toBe(401);
      expect(await redeem(later)).toBe(200);
    });

    it("tells nothing of its workspace's policy, except the models that `/auto` may choose", async () => {
      const mint = async (key: string, model: string) => (await stage.service.mintTicket(key, { model })).ticket;
      const [strict, open] = [await stage.service.createAccount(), await stage.service.createAccount()];
      await stage.service.pool.query(
        `update workspaces set policy_models = '{m/t*,m/one}', policy_key_limit_nusd = 77000000000, policy_key_days = 55,
           policy_compatible = false where id = $1`,
        [strict.workspaceId],
      );
      const [bound, free] = [await mint(strict.inferenceKey, 'm/two'), await mint(open.inferenceKey, 'm/two')];
      const auto = await mint(strict.inferenceKey, '/auto');
      expect(fixedPart(bound)).toEqual(fixedPart(free));
      expect(bound).toHaveLength(free.length);
      expect(await redeem(bound)).toBe(200);
      expect(inside(auto).text).toContain('"mode":"only","ids":["m/one","m/two"]');
      expect(inside(auto).text).not.toContain('m/t*');
    });

    it('is as long for a workspace with every setting as for one without', async () => {
      const ignored = Array.from({ length: 200 }, (_, index) => `provider-${index}`);
      const full: Partial<Preferences> = {
        ...{ provider_ignore: ignored, provider_max_attempts: 2, provider_minimum_privacy: 'private' },
        ...{ provider_sort: 'throughput', fallback_floor: 'private', max_price: { input: 2.5, output: 9.875 } },
        auto: { strategy: 'fastest', tiers: 'Private', models: { mode: 'except', ids: ignored } },
      };
      const request = { model: 'm/one', models: ['m/two'] };
      const [long, short] = [await ticketOf(full, request), await ticketOf({}, request)];
      expect(long).toHaveLength(short.length);
    });
  },
  { planes: ['two'] },
);
