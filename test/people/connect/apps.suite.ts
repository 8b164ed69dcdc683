import { randomUUID } from 'node:crypto';
import { actPageSchema } from '@sotto/contract/control/audit';
import { type AppAnswer, appAnswerSchema, appListAnswerSchema } from '@sotto/contract/control/connect';
import * as oauth from 'openid-client';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Answer, readAnswer } from '../../kit/answer.ts';
import { bearer, redeem } from '../../kit/client.ts';
import type { Concept } from '../../kit/conformance.ts';
import {
  allowed,
  clientOf,
  connect,
  grantsOf,
  newApp,
  newPerson,
  oauthError,
  type Person,
  redirectUri,
  start,
  tokenStatus,
} from '../../kit/connected-apps.ts';
import { expectError } from '../../kit/expect-error.ts';
import { type HeaderMap, post, send } from '../../kit/send.ts';
import { until } from '../../kit/service.ts';

const good = {
  name: 'Notebook',
  homepage: 'https://app.example',
  type: 'confidential',
  redirect_uris: [redirectUri],
  scopes: ['openid'],
};

/** Apps and grants by session, and the permissions of each caller (docs/use/connected-apps.md). */
export const apps: Concept = (suite) => {
  const url = (path: string): string => `${suite.service.controlUrl}/connect${path}`;
  const as = async ({ browser }: Person, method: string, path: string, body?: unknown): Promise<Answer> =>
    readAnswer(await browser.ask(method, url(path), body === undefined ? {} : { body }));

  describe("a developer's app", () => {
    let owner: Person;
    let person: Person;
    beforeAll(async () => {
      [owner, person] = [await newPerson(suite.service), await newPerson(suite.service, 5)];
    });
    const alive = async (token: string): Promise<boolean> => (await tokenStatus(suite.service, token)) === 200;
    const secretWorks = async (app: AppAnswer, secret: string | undefined): Promise<boolean> => {
      const client = await clientOf(suite.service, { ...app, client_secret: secret });
      return (await oauthError(oauth.refreshTokenGrant(client, 'x'))) === 'invalid_grant';
    };

    it('is registered, listed without its secret, changed, and permanently disabled', async () => {
      const app = await newApp(suite.service, owner);
      expect(app.client_secret).toMatch(/^sotto_app_[\w-]{43}$/);
      const listed = await as(owner, 'GET', '/apps');
      expect(listed.headers.get('cache-control')).toBe('no-store');
      expect(listed.text).not.toContain(app.client_secret);
      expect(appListAnswerSchema.parse(listed.json).data.map(({ id }) => id)).toContain(app.id);
      const { rows } = await suite.service.pool.query('select * from connect_apps where id = $1', [app.id]);
      expect(JSON.stringify(rows)).not.toContain(app.client_secret);
      const changed = await as(owner, 'PATCH', `/apps/${app.id}`, { name: 'Other', homepage: 'https://other.example' });
      expect(appAnswerSchema.parse(changed.json)).toMatchObject({ name: 'Other', homepage: 'https://other.example' });
      const { client, accessToken, refreshToken } = await connect(suite.service, person, app);
      expect((await as(owner, 'DELETE', `/apps/${app.id}`)).status).toBe(204);
      expect(await alive(accessToken)).toBe(false);
      expect(await oauthError(oauth.refreshTokenGrant(client, refreshToken))).toBe('invalid_client');
      for (const [method, path, body] of [
        ['PATCH', '', { name: 'x' }],
        ['POST', '/rotate-secret', {}],
        ['DELETE', '', undefined],
      ] as const) {
        expectError(await as(owner, method, `/apps/${app.id}${path}`, body), 404, 'not_found');
      }
      const page = await person.browser.ask('GET', url(`/authorize?client_id=${app.id}`));
      expect(page.status).toBe(400);
      const left = appListAnswerSchema.parse((await as(owner, 'GET', '/apps')).json).data;
      expect(left.map(({ id }) => id)).not.toContain(app.id);
    });

    // The developer was shut out by the operator, or has left. A ticket that the app minted before is still unused.
    it('stops while the account of its developer is disabled, with its tickets, and works again afterwards', async () => {
      const { service } = suite;
      const developer = await newPerson(service);
      const { client, accessToken, refreshToken } = await connect(service, person, await newApp(service, developer));
      const [grant] = await grantsOf(service, person);
      const small = { model: 'acme/small' };
      const { ticket } = await service.mintTicket(accessToken, small);
      const command = async (name: string): Promise<void> => {
        expect((await service.runControl(['account', name, developer.accountId])).code).toBe(0);
        const behind = 'select from api_keys where id = $1 and projected_generation < generation';
        await until(async () => (await service.pool.query(behind, [grant?.key_id])).rowCount === 0, 'it is projected');
      };
      const asked = async () => (await person.browser.ask('GET', (await start(client)).url)).status;
      await command('disable');
      expect([await alive(accessToken), await asked()]).toEqual([false, 400]);
      expect(await oauthError(oauth.refreshTokenGrant(client, refreshToken))).toBe('invalid_client');
      expectError(await redeem(service, ticket, small), 401, 'invalid_ticket');
      await command('enable');
      expect([await alive(accessToken), await asked()]).toEqual([true, 303]);
      expect(await alive((await oauth.refreshTokenGrant(client, refreshToken)).access_token)).toBe(true);
    });

    it('gets another secret, which ends the old one and its grants', async () => {
      const app = await newApp(suite.service, owner);
      const { accessToken } = await connect(suite.service, person, app);
      const rotated = appAnswerSchema.parse((await as(owner, 'POST', `/apps/${app.id}/rotate-secret`, {})).json);
      expect(await alive(accessToken)).toBe(false);
      expect(await secretWorks(app, app.client_secret)).toBe(false);
      expect(await secretWorks(app, rotated.client_secret)).toBe(true);
      const again = await newApp(suite.service, owner, { type: 'public' });
      expectError(await as(owner, 'POST', `/apps/${again.id}/rotate-secret`, {}), 409, 'conflict');
    });

    it('loses its grants when its redirect URIs change, and on no smaller change', async () => {
      const app = await newApp(suite.service, owner);
      const { accessToken } = await connect(suite.service, person, app);
      for (const change of [{ name: 'x' }, { post_logout_redirect_uris: [] }, { redirect_uris: [redirectUri] }]) {
        expect((await as(owner, 'PATCH', `/apps/${app.id}`, change)).status).toBe(200);
        expect(await alive(accessToken)).toBe(true);
      }
      const more = { redirect_uris: [redirectUri, 'http://127.0.0.1:3000/callback'] };
      expect((await as(owner, 'PATCH', `/apps/${app.id}`, more)).status).toBe(200);
      expect(await alive(accessToken)).toBe(false);
    });

    it.each<[string, object]>([
      ['a redirect over http', { redirect_uris: ['http://app.example/callback'] }],
      ['a redirect with a fragment', { redirect_uris: ['https://app.example/#x'] }],
      ['a redirect with a password', { redirect_uris: ['https://a:b@app.example/'] }],
      ['a redirect of another scheme', { redirect_uris: ['javascript:alert(1)'] }],
      ['a redirect with a line break', { redirect_uris: ['https://app.example/\nx'] }],
      ['a redirect that is no address', { redirect_uris: ['app.example'] }],
      ['one redirect twice', { redirect_uris: [redirectUri, redirectUri] }],
      ['no redirect', { redirect_uris: [] }],
      ['a homepage that is script', { homepage: 'javascript:alert(1)' }],
      ['no name', { name: ' ' }],
      ['a name that turns text around', { name: 'Sotto\u202e' }],
      ['an unknown scope', { scopes: ['keys:write'] }],
      ['no scope', { scopes: [] }],
      ['an unknown type', { type: 'trusted' }],
      ['a secret of its own', { client_secret: 'x' }],
    ])('with %s is a clear 400', async (_, wrong) => {
      expectError(await as(owner, 'POST', '/apps', { ...good, ...wrong }), 400, 'invalid_request');
      const { id } = await newApp(suite.service, owner);
      expectError(await as(owner, 'PATCH', `/apps/${id}`, wrong), 400, 'invalid_request');
    });

    it('cannot redirect to this origin', async () => {
      const { origin } = new URL(suite.service.controlUrl);
      for (const field of ['redirect_uris', 'post_logout_redirect_uris']) {
        const refused = await as(owner, 'POST', '/apps', { ...good, [field]: [`${origin}/connect/consent`] });
        expectError(refused, 400, 'invalid_request', field);
      }
    });
  });

  describe('a grant', () => {
    it('is listed for the person who gave it, disconnected by them, and stays as history', async () => {
      const [person, other] = [await newPerson(suite.service, 5), await newPerson(suite.service)];
      const app = await newApp(suite.service, other);
      const { client, accessToken, refreshToken } = await connect(suite.service, person, app);
      const [grant] = await grantsOf(suite.service, person);
      expect(grant).toMatchObject({ granted_by: person.accountId, ended_at: null, spent_usd: 0 });
      expect(await grantsOf(suite.service, other)).toEqual([]);
      expectError(await as(other, 'DELETE', `/grants/${grant?.id}`), 404, 'not_found');
      const { ticket } = await suite.service.mintTicket(accessToken, { model: 'acme/small' });
      expect((await as(person, 'DELETE', `/grants/${grant?.id}`)).status).toBe(204);
      expect((await as(person, 'DELETE', `/grants/${grant?.id}`)).status).toBe(204);
      const late = { model: 'acme/small' };
      expectError(await redeem(suite.service, ticket, late), 401, 'invalid_ticket');
      const minted = await post(`${suite.service.controlUrl}/inference/tickets`, late, bearer(accessToken));
      expectError(minted, 401, 'invalid_api_key');
      expect(await oauthError(oauth.refreshTokenGrant(client, refreshToken))).toBe('invalid_grant');
      expect((await grantsOf(suite.service, person))[0]?.ended_at).not.toBeNull();
    });

    it('stands in the audit log of its workspace, with who allowed and who ended it', async () => {
      const [person, developer] = [await newPerson(suite.service, 5), await newPerson(suite.service)];
      const app = await newApp(suite.service, developer);
      await connect(suite.service, person, app);
      const [first] = await grantsOf(suite.service, person);
      expect((await as(person, 'DELETE', `/grants/${first?.id}`)).status).toBe(204);
      expect((await as(person, 'DELETE', `/grants/${first?.id}`)).status).toBe(204);
      await connect(suite.service, person, app);
      const [second] = await grantsOf(suite.service, person);
      expect((await as(developer, 'DELETE', `/apps/${app.id}`)).status).toBe(204);
      const log = `${suite.service.controlUrl}/workspaces/${first?.workspace.id}/audit?act=key_created,key_revoked`;
      const { data } = actPageSchema.parse(await (await person.browser.ask('GET', log)).json());
      const of = (key_id: string | undefined) => ({ key_id, app_id: app.id });
      const [by, byApp] = [
        { actor: 'account', actor_email: person.email, account_email: person.email, key_name: 'Notebook' },
        // The workspace does not learn who the developer is.
        { actor: 'app', actor_account_id: null, actor_email: null, account_email: person.email, key_name: 'Notebook' },
      ];
      expect(data).toMatchObject([
        { act: 'key_revoked', ...byApp, details: of(second?.key_id) },
        { act: 'key_created', ...by, details: { ...of(second?.key_id), credit_limit_usd: 5 } },
        { act: 'key_revoked', ...by, details: of(first?.key_id) },
        { act: 'key_created', ...by, details: of(first?.key_id) },
      ]);
    });

    // The name of a workspace may tell what its members do now.
    it('names its workspace to the person only while they are in it', async () => {
      const [person, owner] = [await newPerson(suite.service), await newPerson(suite.service)];
      const { rows } = await suite.service.pool.query<{ id: string }>(
        `insert into workspace_members (workspace_id, account_id, role)
         select id, $2, 'member' from workspaces where account_id = $1 returning workspace_id as id`,
        [owner.accountId, person.accountId],
      );
      const id = rows[0]?.id;
      const decision = allowed({ workspace_id: id });
      await connect(suite.service, person, await newApp(suite.service, owner), { decision });
      const seen = async (by: Person, query?: string) =>
        (await grantsOf(suite.service, by, query)).map(({ workspace }) => workspace);
      const named = [{ id, name: expect.any(String) }];
      expect(await seen(person)).toEqual(named);
      const member = `${suite.service.controlUrl}/workspaces/${id}/members/${person.accountId}`;
      expect((await owner.browser.ask('DELETE', member)).status).toBe(204);
      expect(await seen(person)).toEqual([{ id, name: null }]);
      expect(await seen(owner, `?workspace_id=${id}`)).toEqual(named);
    });

    it('is one of ten at most that an account has for one app', async () => {
      const [person, other] = [await newPerson(suite.service), await newPerson(suite.service)];
      const app = await newApp(suite.service, other);
      for (let made = 0; made < 12; made += 1) await connect(suite.service, person, app, { scope: 'openid' });
      const grants = await grantsOf(suite.service, person);
      expect(grants.map(({ ended_at: endedAt }) => endedAt === null)).toEqual([...Array(10).fill(true), false, false]);
    });
  });

  describe('every session route', () => {
    const callers = ['owner', 'other account', 'nobody', 'inference key', 'management key', 'access token'] as const;
    type Caller = (typeof callers)[number];
    const headers = new Map<Caller, HeaderMap>();
    let owner: Person;
    let app: AppAnswer;
    let grantId = '';
    beforeAll(async () => {
      owner = await newPerson(suite.service, 1);
      const other = await newPerson(suite.service);
      app = await newApp(suite.service, owner);
      const { accessToken } = await connect(suite.service, owner, app);
      const [grant] = await grantsOf(suite.service, owner);
      grantId = grant?.id ?? '';
      headers.set('owner', { cookie: owner.browser.cookiesFor(url('/')) });
      headers.set('other account', { cookie: other.browser.cookiesFor(url('/')) });
      headers.set('nobody', {});
      headers.set('inference key', bearer(suite.account.inferenceKey));
      headers.set('management key', bearer(suite.account.managementKey));
      headers.set('access token', bearer(accessToken));
    });

    /** Deletions come last, because they are the owner's last calls. */
    const routes: readonly {
      readonly method: string;
      readonly path: () => string;
      readonly body?: object;
      readonly owner: number;
      readonly other: number;
    }[] = [
      { method: 'GET', path: () => '/grants', owner: 200, other: 200 },
      { method: 'GET', path: () => '/apps', owner: 200, other: 200 },
      { method: 'POST', path: () => '/apps', body: good, owner: 201, other: 201 },
      { method: 'PATCH', path: () => `/apps/${app.id}`, body: { name: 'x' }, owner: 200, other: 404 },
      { method: 'POST', path: () => `/apps/${app.id}/rotate-secret`, body: {}, owner: 200, other: 404 },
      { method: 'GET', path: () => `/interactions/${randomUUID()}`, owner: 404, other: 404 },
      {
        method: 'POST',
        path: () => `/interactions/${randomUUID()}`,
        body: { decision: 'deny' },
        owner: 404,
        other: 404,
      },
      { method: 'DELETE', path: () => `/grants/${grantId}`, owner: 204, other: 404 },
      { method: 'DELETE', path: () => `/apps/${app.id}`, owner: 204, other: 404 },
    ];

    it.each(routes)('$method $path answers each credential as the table says', async (route) => {
      for (const caller of callers.toReversed()) {
        const { body } = route;
        const sent = { headers: headers.get(caller) ?? {}, ...(body === undefined ? {} : { body }) };
        const answer = await send(route.method, url(route.path()), sent);
        const own = { owner: route.owner, 'other account': route.other, 'inference key': 403, 'management key': 403 };
        const expected = own[caller as keyof typeof own] ?? 401;
        expect(answer.status, `${caller}: ${answer.text}`).toBe(expected);
        if (expected === 401) expectError(answer, 401, 'unauthenticated');
        if (caller.endsWith(' key')) expectError(answer, 403, 'insufficient_scope');
      }
    });

    it('a secret is rotated without a body by a program, and not by a page of another site', async () => {
      const own = await newApp(suite.service, owner);
      const rotate = (more: HeaderMap) =>
        send('POST', url(`/apps/${own.id}/rotate-secret`), { headers: { ...headers.get('owner'), ...more } });
      for (const foreign of [
        { origin: 'https://evil.example' },
        { origin: 'null' },
        { referer: 'https://evil.example/' },
        { 'sec-fetch-site': 'cross-site' },
      ]) {
        expectError(await rotate(foreign), 403, 'forbidden');
      }
      // A form states its content type even if it is empty.
      const form = { 'content-type': 'application/x-www-form-urlencoded' };
      expectError(await rotate(form), 415, 'unsupported_media_type');
      const rotated = await rotate({});
      expect(rotated.status, rotated.text).toBe(200);
    });

    it('a page of another site changes nothing (CSRF)', async () => {
      const foreign = { ...headers.get('owner'), origin: 'https://evil.example' };
      expectError(await send('POST', url('/apps'), { headers: foreign, body: good }), 403, 'forbidden');
      expectError(await send('POST', url('/interactions/x'), { headers: foreign, body: {} }), 403, 'forbidden');
      expectError(await send('DELETE', url(`/grants/${grantId}`), { headers: foreign }), 403, 'forbidden');
    });

    it('unknown and malformed ids are 404; other methods are 405', async () => {
      for (const id of ['x', '%00', '..%2f..', randomUUID()]) {
        expectError(await as(owner, 'PATCH', `/apps/${id}`, { name: 'x' }), 404, 'not_found');
        expectError(await as(owner, 'DELETE', `/apps/${id}`), 404, 'not_found');
        expectError(await as(owner, 'DELETE', `/grants/${id}`), 404, 'not_found');
      }
      expectError(await as(owner, 'PUT', '/apps', {}), 405, 'method_not_allowed');
      expectError(await as(owner, 'DELETE', '/token'), 405, 'method_not_allowed');
      expectError(await as(owner, 'GET', '/device'), 404, 'not_found');
      // An endpoint is the same one however its path is written.
      for (const path of ['/%6awks', '/jwks?x=1']) expect((await as(owner, 'GET', path)).json).toHaveProperty('keys');
    });
  });
};
