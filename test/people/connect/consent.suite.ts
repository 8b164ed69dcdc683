import { randomBytes } from 'node:crypto';
import type { AppAnswer } from '@sotto/contract/control/connect';
import { workspaceListAnswerSchema } from '@sotto/contract/control/workspaces';
import { whileHeld } from '@sotto/test-servers';
import * as oauth from 'openid-client';
import { beforeAll, describe, expect, it } from 'vitest';
import { readAnswer } from '../../kit/answer.ts';
import { Browser } from '../../kit/browser.ts';
import { bearer, redeem } from '../../kit/client.ts';
import type { Concept } from '../../kit/conformance.ts';
import {
  allowed,
  authorize,
  clientOf,
  connect,
  consentTo,
  exchange,
  grantsOf,
  newApp,
  newPerson,
  oauthError,
  type Person,
  signIn,
  start,
  tokenStatus,
} from '../../kit/connected-apps.ts';
import { expectError } from '../../kit/expect-error.ts';
import { post } from '../../kit/send.ts';
import { until } from '../../kit/service.ts';

/** The two calls of the consent page: their callers and their contents. */
export const consent: Concept = (suite) => {
  describe('a request of an app', () => {
    let app: AppAnswer;
    let person: Person;
    beforeAll(async () => {
      [app, person] = [await newApp(suite.service, await newPerson(suite.service)), await newPerson(suite.service)];
    });
    const url = (path: string): string => `${suite.service.controlUrl}${path}`;
    const begun = async (who: Person, parameters: Record<string, string> = {}) => {
      const client = await clientOf(suite.service, app);
      const started = await start(client, parameters);
      return { client, started, page: await consentTo(suite.service, who, started) };
    };

    it('states the app, its request in plain words, and the way back', async () => {
      const { page } = await begun(person, { scope: 'openid inference unknown' });
      const asked = await page.read(person);
      expect(asked.app).toEqual({
        name: 'Notebook',
        homepage: 'https://app.example',
        verified: false,
        redirect_host: 'app.example',
      });
      expect(asked.scopes.map(({ scope }) => scope)).toEqual(['openid', 'inference']);
      for (const { sentence } of asked.scopes) expect(sentence).toMatch(/^[A-Z].*\.$/);
      expect(asked).toMatchObject({ returning: false, email: person.email, sign_in_again: false });
      expect(asked.workspaces).toMatchObject([{ name: 'Default Workspace', is_default: true, role: 'owner' }]);
    });

    it('recognizes a person who has allowed the app before', async () => {
      const returning = await newPerson(suite.service);
      await connect(suite.service, returning, app);
      expect((await (await begun(returning)).page.read(returning)).returning).toBe(true);
    });

    it('belongs to the signed-in person', async () => {
      const { page } = await begun({ ...person, browser: new Browser() });
      expectError(await readAnswer(await page.readRaw({ ...person, browser: new Browser() })), 401, 'unauthenticated');
    });

    it('is answered in the browser where it began, and in no other', async () => {
      const [attacker, victim] = [await newPerson(suite.service), await newPerson(suite.service)];
      const { page } = await begun(attacker);
      for (const raw of [await page.readRaw(victim), await page.answerRaw(victim, allowed())]) {
        expectError(await readAnswer(raw), 404, 'not_found');
      }
      expect(await grantsOf(suite.service, victim)).toEqual([]);
      expect((await page.readRaw(attacker)).status).toBe(200);
    });

    it('is answered by the account that opened it, not by another that signs in meanwhile', async () => {
      const [first, second] = [await newPerson(suite.service), await newPerson(suite.service)];
      const { page, client, started } = await begun(first);
      await page.read(first);
      await signIn(suite.service, { ...second, browser: first.browser });
      const inSameBrowser = { ...second, browser: first.browser };
      expectError(await readAnswer(await page.answerRaw(inSameBrowser, allowed())), 403, 'forbidden');
      await signIn(suite.service, first);
      const callback = await page.answer(first, allowed());
      expect((await exchange(client, started, callback)).access_token).toBeDefined();
    });

    it('leads another account in the same browser to its own connection, and ends none for it', async () => {
      const [first, second] = [await newPerson(suite.service), await newPerson(suite.service)];
      const before = await connect(suite.service, first, app);
      const shared = { ...second, browser: first.browser };
      await signIn(suite.service, shared);
      const { page, client, started } = await begun(shared);
      const done = await page.answerRaw(shared, allowed());
      const { redirect_to: next } = (await done.json()) as { redirect_to: string };
      // The library changes the browser's account by a form that submits itself.
      const form = await shared.browser.ask('GET', next);
      const html = await form.text();
      expect(form.headers.get('content-security-policy')).toMatch(/script-src 'sha256-/);
      const field = (name: string) => new RegExp(`name="${name}" value="([^"]*)"`).exec(html)?.[1] ?? '';
      const action = /action="([^"]+)"/.exec(html)?.[1] ?? '';
      const body = new URLSearchParams({ xsrf: field('xsrf'), logout: field('logout') });
      const switched = await shared.browser.ask('POST', action, { form: body });
      const callback = await shared.browser.follow(switched.headers.get('location') ?? '');
      const tokens = await exchange(client, started, callback);
      for (const token of [before.accessToken, tokens.access_token]) {
        expect(await tokenStatus(suite.service, token)).toBe(200);
      }
    });

    it('is answered once: later answers change nothing', async () => {
      const who = await newPerson(suite.service);
      const { page, client, started } = await begun(who);
      const answers = await Promise.all([page.answerRaw(who, allowed()), page.answerRaw(who, allowed())]);
      const [first, second] = await Promise.all(
        answers.map((answer) => answer.json() as Promise<{ redirect_to: string }>),
      );
      expect(second).toEqual(first);
      expect(await grantsOf(suite.service, who)).toHaveLength(1);
      const callback = await who.browser.follow(first?.redirect_to ?? '');
      expect((await exchange(client, started, callback)).access_token).toBeDefined();
      expectError(await readAnswer(await page.answerRaw(who, allowed())), 404, 'not_found');
      expect(await oauthError(exchange(client, started, callback))).toBe('invalid_grant');
    });

    it('is not denied after it was allowed, nor allowed after it was denied', async () => {
      const who = await newPerson(suite.service);
      const [yes, no] = [await begun(who), await begun(who)];
      const first = (await (await yes.page.answerRaw(who, allowed())).json()) as { redirect_to: string };
      await yes.page.answerRaw(who, { decision: 'deny' });
      const callback = await who.browser.follow(first.redirect_to);
      expect((await exchange(yes.client, yes.started, callback)).access_token).toBeDefined();
      const second = (await (await no.page.answerRaw(who, { decision: 'deny' })).json()) as { redirect_to: string };
      await no.page.answerRaw(who, allowed());
      expect(new URL(await who.browser.follow(second.redirect_to)).searchParams.get('error')).toBe('access_denied');
    });

    it('does not disturb another request in the same browser', async () => {
      const [first, second] = [await begun(person), await begun(person)];
      const callbacks = [await second.page.answer(person, allowed()), await first.page.answer(person, allowed())];
      expect((await exchange(second.client, second.started, callbacks[0] ?? '')).access_token).toBeDefined();
      expect((await exchange(first.client, first.started, callbacks[1] ?? '')).access_token).toBeDefined();
    });

    it('asks for a new sign-in if the app wants one', async () => {
      const who = await newPerson(suite.service);
      // Sessions begin at a whole second. The request must come in a later second.
      await new Promise((resolve) => setTimeout(resolve, 1100));
      const { page, client, started } = await begun(who, { prompt: 'login' });
      expect((await page.read(who)).sign_in_again).toBe(true);
      expectError(await readAnswer(await page.answerRaw(who, allowed())), 403, 'forbidden');
      await signIn(suite.service, who);
      expect((await page.read(who)).sign_in_again).toBe(false);
      const tokens = await exchange(client, started, await page.answer(who, allowed()));
      expect(tokens.claims()?.sub).toBeDefined();
      const old = await begun(who, { max_age: '100000' });
      expect((await old.page.read(who)).sign_in_again).toBe(false);
    });

    it.each<[string, object, string]>([
      ['no decision', {}, 'decision'],
      ['an unknown one', { decision: 'maybe' }, 'decision'],
      ['no limit', { decision: 'allow' }, 'credit_limit_usd'],
      ['a negative limit', allowed({ credit_limit_usd: -1 }), 'credit_limit_usd'],
      ['a limit too fine', allowed({ credit_limit_usd: 0.00000000001 }), 'credit_limit_usd'],
      ['a workspace that is none', allowed({ workspace_id: 'x' }), 'workspace_id'],
      ['an unknown field', allowed({ scopes: ['openid'] }), ''],
    ])('answered with %s is a clear 400, and stays open', async (_, body, param) => {
      const { page } = await begun(person);
      const answer = await readAnswer(await page.answerRaw(person, body));
      expectError(answer, 400, 'invalid_request', ...(param === '' ? [] : [param]));
      expect((await page.readRaw(person)).status).toBe(200);
    });

    it('takes the role of a member in the chosen workspace', async () => {
      const [stranger, owner] = [await newPerson(suite.service), await newPerson(suite.service)];
      const listed = await owner.browser.ask('GET', url('/workspaces'));
      const [workspace] = workspaceListAnswerSchema.parse(await listed.json()).data;
      const { page } = await begun(stranger);
      const refused = await page.answerRaw(stranger, allowed({ workspace_id: workspace?.id }));
      expectError(await readAnswer(refused), 404, 'not_found', 'workspace_id');
      await suite.service.pool.query(
        "insert into workspace_members (workspace_id, account_id, role) values ($1, $2, 'viewer')",
        [workspace?.id, stranger.accountId],
      );
      expect((await page.read(stranger)).workspaces.map(({ id }) => id)).not.toContain(workspace?.id);
      const asViewer = await page.answerRaw(stranger, allowed({ workspace_id: workspace?.id }));
      expectError(await readAnswer(asViewer), 403, 'forbidden');
    });

    it('leaves no usable credential in Postgres', async () => {
      const who = await newPerson(suite.service);
      const { page, client, started } = await begun(who);
      const callback = await page.answer(who, allowed());
      const code = new URL(callback).searchParams.get('code') ?? '';
      const waiting = await begun(who);
      const tokens = await exchange(client, started, callback);
      const secrets = [
        page.uid,
        waiting.page.uid,
        code,
        tokens.access_token,
        tokens.refresh_token ?? randomBytes(9).toString(),
      ];
      const cookies = who.browser.cookiesFor(url('/connect/x')).split('; ');
      secrets.push(...cookies.map((pair) => pair.slice(pair.indexOf('=') + 1)));
      const { rows } = await suite.service.pool.query<{ dump: string }>(
        `select string_agg(t::text, ' ') as dump from connect_artifacts t
         union all select string_agg(t::text, ' ') from connect_keys t
         union all select string_agg(t::text, ' ') from connect_grants t`,
      );
      const dump = rows.map((row) => row.dump).join(' ');
      expect(dump.length).toBeGreaterThan(1000);
      for (const secret of secrets) expect(dump).not.toContain(secret);
      // The logs contain no secret either.
      for (const secret of secrets) expect(suite.service.logs()).not.toContain(secret);
    });
  });
};

/** Concurrent requests. */
export const races: Concept = (suite) => {
  describe('at the same time', () => {
    let app: AppAnswer;
    let person: Person;
    beforeAll(async () => {
      app = await newApp(suite.service, await newPerson(suite.service));
      person = await newPerson(suite.service, 5);
    });

    /**
     * Delays records of one kind until both calls wait to mark theirs as used. By then both calls have found it unused.
     * This interleaving must not matter.
     */
    async function bothAtOnce<T>(kind: string, call: () => Promise<T>) {
      const settled = () => Promise.allSettled([call()]);
      const held = {
        rows: 'select 1 from connect_artifacts where kind = $1 for update',
        values: [kind],
        waiting: 'update connect_artifacts set consumed_at',
      };
      return (await whileHeld(suite.service.pool, held, [settled, settled])).flat();
    }

    const isAlive = async (token: string): Promise<boolean> => (await tokenStatus(suite.service, token)) === 200;

    it.each(['code', 'refresh token'])(
      'the same %s used twice: at most one is answered, and the tokens that it got are dead',
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
      const active = (await grantsOf(service, person)).find(({ ended_at: endedAt }) => endedAt === null);
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
        const redeemed = await redeem(service, ticket, { model });
        expect(redeemed.status, redeemed.text).toBe(401);
      }
    });
  });
};
