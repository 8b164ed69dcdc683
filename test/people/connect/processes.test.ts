import * as oauth from 'openid-client';
import { beforeAll, expect, it } from 'vitest';
import { redeem } from '../../kit/client.ts';
import { acme } from '../../kit/conformance.ts';
import {
  allowed,
  clientOf,
  connect,
  consentTo,
  exchange,
  grantsOf,
  newApp,
  newPerson,
  start,
  tokenStatus,
} from '../../kit/connected-apps.ts';
import { describeStage } from '../../kit/stage/describe-stage.ts';

await describeStage(
  'connected apps across processes',
  { ...acme, features: ['connected apps'] },
  (planes) => {
    /** Another control process with the same public origin, reached at its own port. */
    let second: { readonly controlUrl: string };
    beforeAll(async () => {
      second = await planes.service.addControl();
    });

    /** The same address, at the other process. */
    const there = (address: string): string => {
      const url = new URL(address);
      return url.origin === new URL(planes.service.controlUrl).origin
        ? `${new URL(second.controlUrl).origin}${url.pathname}${url.search}`
        : address;
    };

    const personAndApp = async () =>
      [await newPerson(planes.service, 5), await newApp(planes.service, await newPerson(planes.service))] as const;

    it('one process continues work of the other: same keys, same requests, same tokens', async () => {
      const keysOf = async (controlUrl: string) =>
        (await (await fetch(`${controlUrl}/connect/jwks`)).json()) as { keys: { kty: string }[] };
      const { keys } = await keysOf(planes.service.controlUrl);
      expect(await keysOf(second.controlUrl)).toEqual({ keys });
      expect(keys.map((each) => Object.keys(each).includes('d'))).toEqual([false]);
      const discovery = '/connect/.well-known/openid-configuration';
      const documents = await Promise.all(
        [planes.service, second].map(async ({ controlUrl }) => (await fetch(`${controlUrl}${discovery}`)).json()),
      );
      expect(documents[1]).toEqual(documents[0]);

      const [person, app] = await personAndApp();
      const client = await clientOf(planes.service, app);
      const started = await start(client);
      const page = await consentTo(second, person, { ...started, url: there(started.url) });
      const answered = await page.answerRaw(person, allowed());
      const { redirect_to: next } = (await answered.json()) as { redirect_to: string };
      const callback = await person.browser.follow(next);
      const tokens = await exchange(client, started, callback);
      expect(await tokenStatus(second, tokens.access_token)).toBe(200);
      const refreshed = await oauth.refreshTokenGrant(client, tokens.refresh_token ?? '');
      await fetch(there(`${planes.service.controlUrl}/connect/revoke`), {
        method: 'POST',
        headers: { authorization: `Basic ${btoa(`${app.client_id}:${app.client_secret}`)}` },
        body: new URLSearchParams({ token: refreshed.refresh_token ?? '' }),
      });
      expect(await tokenStatus(planes.service, tokens.access_token)).toBe(401);
    });

    it('a restart between any two steps loses nothing', async () => {
      const [person, app] = await personAndApp();
      const client = await clientOf(planes.service, app);
      const again = async (): Promise<void> => {
        await planes.service.control.kill9();
        await planes.service.control.restart();
      };
      const started = await start(client);
      const page = await consentTo(planes.service, person, started);
      await again();
      const answered = await page.answerRaw(person, allowed());
      const { redirect_to: next } = (await answered.json()) as { redirect_to: string };
      await again();
      const callback = await person.browser.follow(next);
      await again();
      const tokens = await exchange(client, started, callback);
      await again();
      const refreshed = await oauth.refreshTokenGrant(client, tokens.refresh_token ?? '');
      const { ticket } = await planes.service.mintTicket(refreshed.access_token, { model: 'acme/small' });
      expect(ticket).toBeDefined();
      // Signed before the restart, checked after it.
      const jwks = (await (await fetch(`${planes.service.controlUrl}/connect/jwks`)).json()) as {
        keys: { kid: string }[];
      };
      const [header = ''] = (tokens.id_token ?? '').split('.');
      const { kid } = JSON.parse(Buffer.from(header, 'base64url').toString()) as { kid: string };
      expect(jwks.keys.map((each) => each.kid)).toContain(kid);
    });

    it('a grant that ends in one process ends in both, at once', async () => {
      const [person, app] = await personAndApp();
      const { accessToken } = await connect(planes.service, person, app);
      const [grant] = await grantsOf(planes.service, person);
      const { ticket } = await planes.service.mintTicket(accessToken, { model: 'acme/small' });
      const address = there(`${planes.service.controlUrl}/connect/grants/${grant?.id}`);
      const ended = await person.browser.ask('DELETE', address);
      expect(ended.status).toBe(204);
      expect(await tokenStatus(planes.service, accessToken)).toBe(401);
      expect((await redeem(planes.service, ticket, { model: 'acme/small' })).status).toBe(401);
    });
  },
  { planes: ['two'] },
);
