import type { AppAnswer } from '@sotto/wire';
import * as oauth from 'openid-client';
import { beforeAll, describe, expect, it } from 'vitest';
import { bearer, post } from '../../contract/conformance/client.ts';
import type { Concept } from '../../contract/conformance/suite.ts';
import { until } from '../../kit/service.ts';
import { authorize, clientOf, connect, exchange, start } from './flow.ts';
import { newApp, newPerson, type Person } from './people.ts';

/** What happens at the same time. */
export const races: Concept = (suite) => {
  describe('at the same time', () => {
    let app: AppAnswer;
    let person: Person;
    beforeAll(async () => {
      app = await newApp(suite.service, await newPerson(suite.service));
      person = await newPerson(suite.service, 5);
    });

    /**
     * Holds what the protocol keeps of a kind until both calls wait to mark it as used: each has found it unused by then,
     * which is the interleaving that must not matter.
     */
    async function bothAtOnce<T>(kind: string, call: () => Promise<T>): Promise<PromiseSettledResult<T>[]> {
      const client = await suite.service.pool.connect();
      try {
        await client.query('begin');
        await client.query('select 1 from connect_artifacts where kind = $1 for update', [kind]);
        const calls = Promise.allSettled([call(), call()]);
        await until(async () => {
          const { rows } = await suite.service.pool.query<{ count: string }>(
            `select count(*) from pg_stat_activity
             where datname = current_database() and wait_event_type = 'Lock' and query like '%consumed_at is null%'`,
          );
          return Number(rows[0]?.count) === 2;
        }, 'both wait');
        await client.query('commit');
        return await calls;
      } finally {
        client.release();
      }
    }

    const isAlive = async (token: string): Promise<boolean> =>
      (await fetch(`${suite.service.controlUrl}/models`, { headers: bearer(token) })).status === 200;

    it.each(['code', 'refresh token'])(
      'the same %s used twice: one is answered, and what it got is dead',
      async (what) => {
        const client = await clientOf(suite.service, app);
        const connected = what === 'code' ? undefined : await connect(suite.service, person, app);
        const started = await start(client);
        const callback = connected === undefined ? await authorize(suite.service, person, { started }) : '';
        const results = await bothAtOnce(connected === undefined ? 'AuthorizationCode' : 'RefreshToken', () =>
          connected === undefined
            ? exchange(client, started, callback)
            : oauth.refreshTokenGrant(client, connected.refreshToken),
        );
        const answered = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
        const refused = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []));
        expect(answered.length).toBeLessThanOrEqual(1);
        for (const reason of refused) expect(reason).toMatchObject({ error: 'invalid_grant' });
        for (const { access_token: token } of answered) await until(async () => !(await isAlive(token)), 'it is dead');
        for (const { refresh_token: token = '' } of answered) {
          await expect(oauth.refreshTokenGrant(client, token)).rejects.toMatchObject({ error: 'invalid_grant' });
        }
      },
    );

    it('an app buys tickets while it is disconnected: none of them opens anything afterwards', async () => {
      const { service } = suite;
      const { accessToken } = await connect(service, person, app);
      const model = 'acme/small';
      const buy = () => post(`${service.controlUrl}/inference/tickets`, { model }, bearer(accessToken));
      const { data } = (await (await person.browser.ask('GET', `${service.controlUrl}/connect/grants`)).json()) as {
        data: { id: string; ended_at: string | null }[];
      };
      const active = data.find(({ ended_at: endedAt }) => endedAt === null);
      const first = Array.from({ length: 10 }, buy);
      const ended = person.browser.ask('DELETE', `${service.controlUrl}/connect/grants/${active?.id}`);
      const bought = await Promise.all([...first, ...Array.from({ length: 10 }, buy)]);
      expect((await ended).status).toBe(204);
      expect((await buy()).status).toBe(401);
      const tickets = bought.flatMap(({ status, json }) =>
        status === 200 ? [(json as { ticket: string }).ticket] : [],
      );
      expect(tickets.length).toBeGreaterThan(0);
      for (const ticket of tickets) {
        const body = { model, messages: [{ role: 'user', content: 'x' }] };
        const redeemed = await post(`${service.baseUrl}/chat/completions`, body, { 'x-router-ticket': ticket });
        expect(redeemed.status, redeemed.text).toBe(401);
      }
    });
  });
};
