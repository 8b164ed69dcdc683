import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type AppAnswer, appAnswerSchema } from '@sotto/contract/control/connect';
import * as oauth from 'openid-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { redeem } from '../../kit/client.ts';
import type { Concept } from '../../kit/conformance.ts';
import {
  authorize,
  clientOf,
  connect,
  consentTo,
  exchange,
  newApp,
  newPerson,
  oauthError,
  type Person,
  redirectUri,
  start,
  tokenStatus,
} from '../../kit/connected-apps.ts';
import { expectError } from '../../kit/expect-error.ts';

/** Requests that the protocol refuses, and the grants that end with them. */
export const refusals: Concept = (suite) => {
  describe('the protocol refuses', () => {
    let person: Person;
    let owner: Person;
    let app: AppAnswer;
    beforeAll(async () => {
      [person, owner] = [await newPerson(suite.service, 5), await newPerson(suite.service)];
      app = await newApp(suite.service, owner);
    });
    const issuer = (): string => `${suite.service.controlUrl}/connect`;
    const patch = async (body: object): Promise<AppAnswer> => {
      const answer = await owner.browser.ask('PATCH', `${issuer()}/apps/${app.id}`, { body });
      return appAnswerSchema.parse(await answer.json());
    };
    const worth = (token: string): Promise<number> => tokenStatus(suite.service, token);
    /** The error that an app's request is redirected back with. */
    const requestError = async (parameters: Record<string, string>, without?: string): Promise<URLSearchParams> => {
      const { url } = await start(await clientOf(suite.service, app), parameters);
      const changed = new URL(url);
      if (without !== undefined) changed.searchParams.delete(without);
      const back = new URL(await person.browser.follow(changed.href));
      expect(back.origin).toBe('https://app.example');
      return back.searchParams;
    };

    it.each([
      'https://app.example/callback/',
      'https://app.example/callback?x=1',
      'https://app.example/other',
      'https://evil.example/callback',
      'http://app.example/callback',
      'HTTPS://app.example/callback',
    ])('a redirect to %s, and redirects no browser there', async (redirect_uri) => {
      const { url } = await start(await clientOf(suite.service, app), { redirect_uri });
      const page = await person.browser.ask('GET', url);
      expect(page.status).toBe(400);
      expect(page.headers.get('location')).toBeNull();
      expect(page.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
      expect(await page.text()).toContain('invalid_redirect_uri');
      const machine = await fetch(url, { redirect: 'manual', headers: { accept: 'application/json' } });
      expect(await machine.json()).toMatchObject({ error: 'invalid_redirect_uri' });
    });

    it('an app that it does not know, in a page without script', async () => {
      const { url } = await start(await clientOf(suite.service, app), { client_id: '<script>' });
      const page = await person.browser.ask('GET', url);
      expect(page.status).toBe(400);
      expect(await page.text()).not.toContain('<script>');
    });

    it('a request without PKCE, and one whose challenge is plain', async () => {
      const missing = await requestError({}, 'code_challenge');
      expect(missing.get('error')).toBe('invalid_request');
      expect(missing.get('code')).toBeNull();
      const nothing = new URL((await start(await clientOf(suite.service, app))).url);
      nothing.searchParams.delete('code_challenge');
      nothing.searchParams.delete('code_challenge_method');
      const back = new URL(await person.browser.follow(nothing.href)).searchParams;
      expect(back.get('error')).toBe('invalid_request');
      expect((await requestError({ code_challenge_method: 'plain' })).get('error')).toBe('invalid_request');
      expect((await requestError({}, 'code_challenge_method')).get('error')).toBe('invalid_request');
    });

    it('other ways to tokens: implicit, hybrid, passwords, client credentials, devices', async () => {
      for (const response_type of ['token', 'id_token', 'code id_token', 'none']) {
        const { url } = await start(await clientOf(suite.service, app), { response_type });
        const back = new URL(await person.browser.follow(url));
        const error = new URLSearchParams(back.hash.slice(1)).get('error') ?? back.searchParams.get('error');
        expect(error, response_type).toMatch(/^(unsupported_response_type|invalid_request)$/);
        expect(back.href).not.toMatch(/access_token|id_token=|code=/);
      }
      const client = await clientOf(suite.service, app);
      for (const grant of ['password', 'client_credentials', 'urn:ietf:params:oauth:grant-type:device_code']) {
        expect(await oauthError(oauth.genericGrantRequest(client, grant, {}))).toBe('unsupported_grant_type');
      }
    });

    it('to repeat an earlier grant without asking', async () => {
      await connect(suite.service, person, app);
      const error = (await requestError({ prompt: 'none' })).get('error');
      expect(error).toMatch(/^(consent|login|interaction)_required$/);
    });

    it('scopes that the app did not register', async () => {
      const modest = await newApp(suite.service, owner, { scopes: ['openid'] });
      const { url } = await start(await clientOf(suite.service, modest), { scope: 'openid inference' });
      const back = new URL(await person.browser.follow(url)).searchParams;
      expect(back.get('error')).toBe('invalid_scope');
    });

    it('a code with another verifier, redirect or app', async () => {
      const client = await clientOf(suite.service, app);
      const attempt = async (more: (started: Awaited<ReturnType<typeof start>>) => object) => {
        const started = await start(client);
        const callback = await authorize(suite.service, person, { started });
        const code = new URL(callback).searchParams.get('code') ?? '';
        const right = { code, redirect_uri: redirectUri, code_verifier: started.verifier };
        return oauthError(
          oauth.genericGrantRequest(client, 'authorization_code', { ...right, ...more(started) } as Record<
            string,
            string
          >),
        );
      };
      expect(await attempt(() => ({ code_verifier: oauth.randomPKCECodeVerifier() }))).toBe('invalid_grant');
      expect(await attempt(() => ({ code_verifier: '' }))).toBe('invalid_grant');
      expect(await attempt(() => ({ redirect_uri: 'https://app.example/other' }))).toBe('invalid_grant');
      const other = await newApp(suite.service, owner);
      const started = await start(client);
      const callback = await authorize(suite.service, person, { started });
      expect(await oauthError(exchange(await clientOf(suite.service, other), started, callback))).toBe('invalid_grant');
    });

    it('a used code, and ends the grant that it gave', async () => {
      const client = await clientOf(suite.service, app);
      const started = await start(client);
      const callback = await authorize(suite.service, person, { started });
      const tokens = await exchange(client, started, callback);
      expect(await worth(tokens.access_token)).toBe(200);
      expect(await oauthError(exchange(client, started, callback))).toBe('invalid_grant');
      expect(await worth(tokens.access_token)).toBe(401);
      expect(await oauthError(oauth.refreshTokenGrant(client, tokens.refresh_token ?? ''))).toBe('invalid_grant');
    });

    it('a used refresh token: the whole grant ends, and so do tickets bought before', async () => {
      const { service } = suite;
      const { client, accessToken, refreshToken } = await connect(service, person, app);
      const { ticket } = await service.mintTicket(accessToken, { model: 'acme/small' });
      const next = await oauth.refreshTokenGrant(client, refreshToken);
      expect(await worth(next.access_token)).toBe(200);
      expect(await oauthError(oauth.refreshTokenGrant(client, refreshToken))).toBe('invalid_grant');
      for (const token of [accessToken, next.access_token]) expect(await worth(token)).toBe(401);
      expect(await oauthError(oauth.refreshTokenGrant(client, next.refresh_token ?? ''))).toBe('invalid_grant');
      expectError(await redeem(service, ticket, { model: 'acme/small' }), 401, 'invalid_ticket');
    });

    it('a wrong secret, none, and that of another app', async () => {
      const other = await newApp(suite.service, owner);
      const { refreshToken } = await connect(suite.service, person, app);
      for (const secret of ['sotto_app_wrong', undefined, other.client_secret, `${app.client_secret} `]) {
        const attempt = await clientOf(suite.service, { ...app, client_secret: secret });
        expect(await oauthError(oauth.refreshTokenGrant(attempt, refreshToken))).toBe('invalid_client');
      }
    });

    it("another app's tokens: it neither reads nor revokes them", async () => {
      const other = await clientOf(suite.service, await newApp(suite.service, owner));
      const { accessToken, refreshToken } = await connect(suite.service, person, app);
      for (const token of [accessToken, refreshToken]) {
        expect(await oauth.tokenIntrospection(other, token)).toEqual({ active: false });
        await oauth.tokenRevocation(other, token);
      }
      expect(await worth(accessToken)).toBe(200);
    });

    it('a code whose redirect the app no longer has', async () => {
      const client = await clientOf(suite.service, app);
      const [approved, waiting] = [await start(client), await start(client)];
      const consent = await consentTo(suite.service, person, waiting);
      const callback = await authorize(suite.service, person, { started: approved });
      await patch({ redirect_uris: ['https://app.example/new'] });
      expect(await oauthError(exchange(client, approved, callback))).toBe('invalid_grant');
      const late = await consent.answerRaw(person, { decision: 'allow', credit_limit_usd: 1 });
      expect(late.status).toBe(409);
      expect(await late.json()).toMatchObject({ error: { type: 'conflict' } });
      await patch({ redirect_uris: [redirectUri] });
    });
  });
};

/** Fields by which OpenID Connect lets a client make the server fetch something. */
const fetchedFields = [
  'jwks_uri',
  'sector_identifier_uri',
  'logo_uri',
  'policy_uri',
  'tos_uri',
  'client_uri',
  'initiate_login_uri',
];

/** The service never sends a request to an address that a developer or an app names. */
export const fetchesNothing: Concept = (suite) => {
  describe('an address from an app', () => {
    let server: Server;
    let hits = 0;
    let address: string;
    let person: Person;
    beforeAll(async () => {
      server = createServer((_request, response) => {
        hits += 1;
        response.end('{}');
      }).listen(0, '127.0.0.1');
      await once(server, 'listening');
      address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/inside`;
      person = await newPerson(suite.service, 1);
    });
    afterAll(() => server.close());

    it.each(fetchedFields)('is not accepted as `%s`', async (field) => {
      const body = {
        name: 'x',
        homepage: 'https://app.example',
        type: 'confidential',
        redirect_uris: ['https://app.example/callback'],
        scopes: ['openid'],
        [field]: address,
      };
      const answer = await person.browser.ask('POST', `${suite.service.controlUrl}/connect/apps`, { body });
      expect(answer.status).toBe(400);
      expect(((await answer.json()) as { error: { message: string } }).error.message).toContain(field);
    });

    it('is never fetched, whether it is a page of the app, its callback, or part of a request', async () => {
      const app = await newApp(suite.service, person, {
        homepage: address,
        redirect_uris: ['https://app.example/callback', address],
      });
      await connect(suite.service, person, app);
      const client = await clientOf(suite.service, app);
      for (const name of ['request_uri', 'request', 'registration', 'jwks_uri', 'resource', 'claims_uri']) {
        const { url } = await start(client, { [name]: address });
        await person.browser.ask('GET', url);
      }
      expect(hits).toBe(0);
      // The test would have seen a fetch.
      await fetch(address);
      expect(hits).toBe(1);
    });
  });
};
