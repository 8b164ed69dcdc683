import * as oauth from 'openid-client';
import { describe, expect, it } from 'vitest';
import type { Concept } from '../../contract/conformance/suite.ts';
import { authorize, clientOf, connect, exchange, start } from './flow.ts';
import { newApp, newPerson } from './people.ts';

/** What a library for OpenID Connect does with the service. */
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

    it('says no to whoever is told no', async () => {
      const { service } = suite;
      const client = await clientOf(service, await newApp(service, await newPerson(service)));
      const started = await start(client);
      const callback = await authorize(service, await newPerson(service), { started, decision: { decision: 'deny' } });
      await expect(exchange(client, started, callback)).rejects.toMatchObject({ error: 'access_denied' });
    });
  });
};
