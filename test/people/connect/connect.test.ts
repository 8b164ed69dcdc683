import type { AppAnswer } from '@sotto/contract/control/connect';
import * as oauth from 'openid-client';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Concept, describeConformance } from '../../kit/conformance.ts';
import { connect, newApp, newPerson, oauthError, type Person, tokenStatus } from '../../kit/connected-apps.ts';
import { apps } from './apps.suite.ts';
import { consent, races } from './consent.suite.ts';
import { fetchesNothing, refusals } from './refusals.suite.ts';
import { protocol, tokens } from './tokens.suite.ts';

/** RP-initiated logout: after a confirmation, it ends this browser's connection to the app, and nothing else. */
const logout: Concept = (suite) => {
  describe('signing out of an app', () => {
    let app: AppAnswer;
    let person: Person;
    beforeAll(async () => {
      app = await newApp(suite.service, await newPerson(suite.service));
      person = await newPerson(suite.service);
    });
    const status = (token: string): Promise<number> => tokenStatus(suite.service, token);

    it('asks, ends that connection, goes back to the app, and leaves the dashboard signed in', async () => {
      const other = await connect(suite.service, await newPerson(suite.service), app);
      const { client, tokens, accessToken, refreshToken } = await connect(suite.service, person, app);
      const address = oauth.buildEndSessionUrl(client, {
        id_token_hint: tokens.id_token ?? '',
        post_logout_redirect_uri: 'https://app.example/bye',
        state: 'a-state',
      });
      const page = await person.browser.ask('GET', address.href);
      const html = await page.text();
      expect(page.status).toBe(200);
      expect(html).toContain('Sign out of Notebook?');
      expect(page.headers.get('content-security-policy')).toMatch(/default-src 'none'.*frame-ancestors 'none'/);
      expect(await status(accessToken)).toBe(200);

      const action = /action="([^"]+)"/.exec(html)?.[1] ?? '';
      const forged = new URLSearchParams({ xsrf: 'x' });
      expect((await person.browser.ask('POST', action, { form: forged })).status).toBe(400);
      expect(await status(accessToken)).toBe(200);
      const form = new URLSearchParams({ xsrf: /name="xsrf" value="([^"]+)"/.exec(html)?.[1] ?? '' });
      const done = await person.browser.ask('POST', action, { form });
      expect(done.headers.get('location')).toBe('https://app.example/bye?state=a-state');
      expect(await status(accessToken)).toBe(401);
      expect(await oauthError(oauth.refreshTokenGrant(client, refreshToken))).toBe('invalid_grant');
      expect(await status(other.accessToken)).toBe(200);
      const session = await person.browser.ask('GET', `${suite.service.controlUrl}/auth/get-session`);
      expect(await session.json()).toMatchObject({ user: { email: person.email } });
    });

    it('redirects to no address that the app did not register', async () => {
      const { client, tokens } = await connect(suite.service, person, app);
      const address = oauth.buildEndSessionUrl(client, {
        id_token_hint: tokens.id_token ?? '',
        post_logout_redirect_uri: 'https://evil.example/',
      });
      const page = await person.browser.ask('GET', address.href);
      expect(page.status).toBe(400);
      expect(page.headers.get('location')).toBeNull();
    });

    // Each request of a stranger who keeps no cookie stores a row.
    it('is remembered for minutes only in a browser in which nobody signed in', async () => {
      await connect(suite.service, person, app);
      const lasting = async () => {
        const long =
          "select from connect_artifacts where kind = 'Session' and expires_at > now() + interval '11 minutes'";
        return (await suite.service.pool.query(long)).rowCount ?? 0;
      };
      const before = await lasting();
      expect(before).toBeGreaterThan(0);
      const page = await fetch(`${suite.service.controlUrl}/connect/logout`);
      expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('name="xsrf"')]);
      expect(await lasting()).toBe(before);
    });

    it('without an app ends nothing', async () => {
      const { accessToken } = await connect(suite.service, person, app);
      const page = await person.browser.ask('GET', `${suite.service.controlUrl}/connect/logout`);
      expect(await page.text()).toContain('Which app?');
      expect(await status(accessToken)).toBe(200);
    });
  });
};

const concepts = [protocol, refusals, tokens, apps, consent, logout, races, fetchesNothing];
await describeConformance('connected apps', concepts, { features: ['connected apps'] });
