import { randomUUID } from 'node:crypto';
import type { AppAnswer } from '@sotto/contract/control/connect';
import { usagePageSchema } from '@sotto/contract/control/usage';
import {
  budgetAnswerSchema,
  workspaceAnswerSchema,
  workspaceInvitationAnswerSchema,
} from '@sotto/contract/control/workspaces';
import * as oauth from 'openid-client';
import { beforeAll, describe, expect, it } from 'vitest';
import { ask, bearer, redeem } from '../../kit/client.ts';
import type { Concept } from '../../kit/conformance.ts';
import {
  allowed,
  authorize,
  clientOf,
  connect,
  exchange,
  grantsOf,
  newApp,
  newPerson,
  type Person,
  start,
} from '../../kit/connected-apps.ts';
import { expectError } from '../../kit/expect-error.ts';
import { get, post } from '../../kit/send.ts';
import { until } from '../../kit/service.ts';

const model = 'acme/small';
const nonce = 'a'.repeat(64);

/** The rights of a token: its scopes, its workspace, its limit. */
export const tokens: Concept = (suite) => {
  const url = (path: string): string => `${suite.service.controlUrl}${path}`;

  describe('an access token', () => {
    let person: Person;
    let app: AppAnswer;
    beforeAll(async () => {
      person = await newPerson(suite.service, 5);
      app = await newApp(suite.service, await newPerson(suite.service));
    });
    const tokenFor = async (scope: string, decision = allowed()): Promise<string> =>
      (await connect(suite.service, person, app, { scope, decision })).accessToken;

    it('with `inference` buys tickets, lists models and asks for evidence, and nothing else', async () => {
      const as = bearer(await tokenFor('inference'));
      for (const path of ['/models', '/routing/effective']) expect((await get(url(path), as)).status, path).toBe(200);
      expect((await post(url('/inference/tickets'), { model }, as)).status).toBe(200);
      // Its vault only claims to be an enclave. The service refuses the enclave, not the token.
      const evidence = await get(url(`/tee/attestation?model=acme/wide&nonce=${nonce}`), as);
      expect([401, 403]).not.toContain(evidence.status);
      const attested = await post(url('/inference/attestation-tickets'), { model: 'acme/wide' }, as);
      expect(attested.status, attested.text).toBe(200);
      expectError(await get(url('/tee/signature/preq_aaaaaaaaaaaaaaaaaaaaaa'), as), 404, 'not_found');
      for (const path of ['/balance', '/usage', '/usage/daily']) {
        const refused = await get(url(path), as);
        expectError(refused, 403, 'insufficient_scope');
        expect(refused.text).toContain('usage:read');
      }
      for (const path of ['/keys', '/workspaces', '/connect/apps', '/connect/grants', '/billing/orders']) {
        expectError(await get(url(path), as), 401, 'unauthenticated');
      }
    });

    it('with `usage:read` reads balance and usage, and nothing else', async () => {
      const as = bearer(await tokenFor('usage:read'));
      for (const path of ['/balance', '/usage', '/usage/daily', '/usage?format=csv']) {
        expect((await get(url(path), as)).status, path).toBe(200);
      }
      for (const path of ['/models', '/routing/effective']) {
        const refused = await get(url(path), as);
        expectError(refused, 403, 'insufficient_scope');
        expect(refused.text).toContain('`inference`');
      }
      expectError(await post(url('/inference/tickets'), { model }, as), 403, 'insufficient_scope');
      expectError(await post(url('/inference/attestation-tickets'), { model }, as), 403, 'insufficient_scope');
    });

    it('with neither scope has no use here', async () => {
      const as = bearer(await tokenFor('openid email'));
      expectError(await post(url('/inference/tickets'), { model }, as), 403, 'insufficient_scope');
      expectError(await get(url('/balance'), as), 403, 'insufficient_scope');
    });

    it('is an unknown bearer at the broker', async () => {
      const token = await tokenFor('openid inference');
      expectError(await ask(suite.service, token, { model }), 401, 'invalid_api_key');
      expectError(await get(`${suite.service.baseUrl}/models`, bearer(token)), 401, 'invalid_api_key');
    });

    it('is rejected if it is cut, changed, or a refresh token', async () => {
      const { accessToken, refreshToken } = await connect(suite.service, person, app);
      const changed = accessToken.slice(0, -1) + (accessToken.endsWith('A') ? 'B' : 'A');
      for (const token of [changed, accessToken.slice(1), refreshToken, `${accessToken}A`, '']) {
        expectError(await get(url('/models'), bearer(token)), 401, 'invalid_api_key');
      }
    });

    it('spends from the wallet of its workspace up to its limit, which appears among grants and not among keys', async () => {
      const { service } = suite;
      const before = await keysOf(person);
      const { accessToken } = await connect(service, person, app, { decision: allowed({ credit_limit_usd: 0.0001 }) });
      const minted = () => post(url('/inference/tickets'), { model }, bearer(accessToken));
      const { ticket } = (await minted()).json as { ticket: string };
      expect((await redeem(service, ticket, { model, max_tokens: 16 })).status).toBe(200);
      const active = async () =>
        (await grantsOf(service, person)).find(({ ended_at, spent_usd }) => !ended_at && spent_usd > 0);
      await until(async () => (await active()) !== undefined, 'the grant shows what it spent');
      const grant = await active();
      expect(grant).toMatchObject({ app: { id: app.id, name: 'Notebook' }, credit_limit_usd: 0.0001 });
      expect(grant?.last_used_at).not.toBeNull();
      expect(await keysOf(person)).toEqual(before);
      // The dearest answer costs more than any possible remainder.
      const { ticket: second } = (await minted()).json as { ticket: string };
      expectError(await redeem(service, second, { model, max_tokens: 1000 }), 402, 'insufficient_balance');
      const page = await get(url('/usage'), bearer(accessToken));
      expect(usagePageSchema.parse(page.json).data.length).toBeGreaterThan(0);
    });

    it('has a key that the session of its person neither changes nor revokes by id, but for its tag, which an admin locks', async () => {
      await connect(suite.service, person, app);
      const { rows } = await suite.service.pool.query<{ key_id: string }>(
        'select key_id from connect_grants where account_id = $1 order by created_at desc limit 1',
        [person.accountId],
      );
      const path = url(`/keys/${rows[0]?.key_id}`);
      const changed = await person.browser.ask('PATCH', path, { body: { credit_limit_usd: null } });
      expect(changed.status).toBe(404);
      expect((await person.browser.ask('DELETE', path)).status).toBe(404);
      const [owner, member] = [await newPerson(suite.service), await newPerson(suite.service)];
      const workspaceId = await share(owner, member);
      await connect(suite.service, member, app, { decision: allowed({ workspace_id: workspaceId }) });
      const ofApp = async () => (await grantsOf(suite.service, owner, `?workspace_id=${workspaceId}`))[0];
      const key = url(`/keys/${(await ofApp())?.key_id}`);
      const tag = async (who: Person, body: object) => (await who.browser.ask('PATCH', key, { body })).status;
      expect([await tag(member, { tag: 'Sales' }), (await ofApp())?.tag]).toEqual([200, 'Sales']);
      expect([await tag(owner, { tag: 'R&D' }), (await ofApp())?.tag]).toEqual([200, 'R&D']);
      expect([await tag(member, { tag: null }), (await ofApp())?.tag]).toEqual([403, 'R&D']);
      expect(await tag(owner, { tag: 'Sales', credit_limit_usd: null })).toBe(404);
    });

    /**
     * The ticket names the tag that its charge counts for. If it named none, the budget of the tag would count the hold while the
     * request runs, and then forget it. If the tag changes between the reading of the token and the mint, the key has a new generation,
     * and the state refuses the mark.
     */
    it('counts in the budget of the tag of its key, also after the request has ended', async () => {
      const { service } = suite;
      const owner = await newPerson(service, 5);
      const { accessToken } = await connect(service, owner, app);
      const [grant] = await grantsOf(service, owner);
      const send = async (method: string, path: string, body: object) => {
        const answer = await owner.browser.ask(method, url(path), { body });
        expect(answer.status).toBe(200);
        return answer.json();
      };
      await send('PATCH', `/keys/${grant?.key_id}`, { tag: 'R&D' });
      const budgets = `/workspaces/${grant?.workspace.id}/budgets`;
      const set = async (limit_usd: number) =>
        budgetAnswerSchema.parse(await send('PUT', budgets, { tag: 'R&D', limit_usd }));
      const asked = async () => {
        const { ticket } = (await post(url('/inference/tickets'), { model }, bearer(accessToken))).json as {
          ticket: string;
        };
        return redeem(service, ticket, { model, max_tokens: 16 });
      };
      expect((await set(1)).spent_usd).toBe(0);
      expect((await asked()).status).toBe(200);
      await until(async () => (await set(1)).spent_usd > 0, 'the budget of the tag counts the charge');
      // A ticket is minted while anything is left.
      await set(Number(((await set(1)).spent_usd + 1e-9).toFixed(9)));
      const refused = await asked();
      expectError(refused, 402, 'insufficient_balance');
      expect(refused.text).toContain("the tag's budget");
    });

    it('of a workspace of another person reads that workspace alone, and no balance', async () => {
      const { service } = suite;
      const [owner, member] = [await newPerson(service, 5), await newPerson(service)];
      const workspaceId = await share(owner, member);
      const { accessToken } = await connect(service, member, app, { decision: allowed({ workspace_id: workspaceId }) });
      const as = bearer(accessToken);
      expectError(await get(url('/balance'), as), 403, 'forbidden');
      expect((await get(url('/usage'), as)).status).toBe(200);
      expect((await get(url(`/usage/daily?workspace_id=${workspaceId}`), as)).status).toBe(200);
      const other = await get(url(`/usage?workspace_id=${randomUUID()}`), as);
      expectError(other, 403, 'forbidden', 'workspace_id');
      // The owner pays, sees who has allowed which app in their workspace, and may end it.
      expect((await post(url('/inference/tickets'), { model }, as)).status).toBe(200);
      const [seen] = await grantsOf(service, owner, `?workspace_id=${workspaceId}`);
      expect(seen).toMatchObject({ granted_by: member.accountId, workspace: { id: workspaceId } });
      expect(await grantsOf(service, owner)).toEqual([]);
      expect((await owner.browser.ask('DELETE', url(`/connect/grants/${seen?.id}`))).status).toBe(204);
      expectError(await get(url('/usage'), as), 401, 'invalid_api_key');
    });

    it('ends with the membership that it was given under, and with its refresh token', async () => {
      const { service } = suite;
      const [owner, member] = [await newPerson(service, 5), await newPerson(service)];
      const workspaceId = await share(owner, member);
      const connected = await connect(service, member, app, { decision: allowed({ workspace_id: workspaceId }) });
      const removed = await owner.browser.ask('DELETE', url(`/workspaces/${workspaceId}/members/${member.accountId}`));
      expect(removed.status).toBe(204);
      expectError(await get(url('/models'), bearer(connected.accessToken)), 401, 'invalid_api_key');
      const refreshed = oauth.refreshTokenGrant(connected.client, connected.refreshToken);
      await expect(refreshed).rejects.toMatchObject({ error: 'invalid_grant' });
      expect((await grantsOf(service, member))[0]?.ended_at).not.toBeNull();
    });

    it('loses the scopes that its app may no longer request', async () => {
      const owner = await newPerson(suite.service);
      const narrowed = await newApp(suite.service, owner);
      const { accessToken } = await connect(suite.service, person, narrowed);
      expect((await get(url('/balance'), bearer(accessToken))).status).toBe(200);
      const body = { scopes: ['openid', 'inference'] };
      expect((await owner.browser.ask('PATCH', url(`/connect/apps/${narrowed.id}`), { body })).status).toBe(200);
      expectError(await get(url('/balance'), bearer(accessToken)), 403, 'insufficient_scope');
      expect((await get(url('/models'), bearer(accessToken))).status).toBe(200);
    });

    const keysOf = async ({ browser }: Person): Promise<unknown> => (await browser.ask('GET', url('/keys'))).json();
    /** Adds one person to a workspace of another as a member. */
    const share = async (owner: Person, member: Person): Promise<string> => {
      const made = await owner.browser.ask('POST', url('/workspaces'), { body: { name: 'Shared' } });
      const { id } = workspaceAnswerSchema.parse(await made.json());
      const invitation = { email: member.email, role: 'member' };
      const invited = await owner.browser.ask('POST', url(`/workspaces/${id}/invitations`), { body: invitation });
      const { token } = workspaceInvitationAnswerSchema.parse(await invited.json());
      const joined = await member.browser.ask('POST', url('/invitations/accept'), { body: { token } });
      expect(joined.status).toBe(200);
      return id;
    };
  });
};

/** The exchange between the service and a library for OpenID Connect. */
export const protocol: Concept = (suite) => {
  describe('the protocol, with openid-client', () => {
    it('goes from code and PKCE to tokens, a person, refresh, introspection and revocation', async () => {
      const { service } = suite;
      const person = await newPerson(service);
      const app = await newApp(service, await newPerson(service));
      const { client, tokens } = await connect(service, person, app);
      expect(tokens.expires_in).toBe(600);
      expect(tokens.scope?.split(' ').sort()).toEqual(['email', 'inference', 'openid', 'usage:read']);
      const subject = tokens.claims()?.sub ?? '';
      expect(subject).toMatch(/^[\w-]{22}$/);
      expect(JSON.stringify(tokens.claims())).not.toContain(person.accountId);
      const info = await oauth.fetchUserInfo(client, tokens.access_token, subject);
      expect(info).toEqual({ sub: subject, email: person.email, email_verified: false });

      const refreshed = await oauth.refreshTokenGrant(client, tokens.refresh_token ?? '');
      expect(refreshed.refresh_token).not.toBe(tokens.refresh_token);
      const told = await oauth.tokenIntrospection(client, refreshed.access_token);
      expect(told).toMatchObject({ active: true, client_id: app.client_id, sub: subject });
      await oauth.tokenRevocation(client, refreshed.refresh_token ?? '');
      expect((await oauth.tokenIntrospection(client, refreshed.access_token)).active).toBe(false);
    });

    it('serves public apps, with PKCE alone', async () => {
      const { service } = suite;
      const app = await newApp(service, await newPerson(service), { type: 'public' });
      expect(app.client_secret).toBeUndefined();
      const { client, refreshToken } = await connect(service, await newPerson(service), app);
      expect((await oauth.refreshTokenGrant(client, refreshToken)).access_token).toMatch(/^[\w-]{43}$/);
    });

    it('reports a refusal to the library', async () => {
      const { service } = suite;
      const client = await clientOf(service, await newApp(service, await newPerson(service)));
      const started = await start(client);
      const callback = await authorize(service, await newPerson(service), { started, decision: { decision: 'deny' } });
      await expect(exchange(client, started, callback)).rejects.toMatchObject({ error: 'access_denied' });
    });
  });
};
