import { randomBytes } from 'node:crypto';
import type { AppAnswer } from '@sotto/wire';
import { describe, expect, it } from 'vitest';
import { bearer, call } from '../../kit/call.ts';
import { totpCode } from '../../people/accounts/totp.ts';
import { Browser } from '../../people/connect/browser.ts';
import { allowed, authorize, clientOf, connect, start } from '../../people/connect/flow.ts';
import { newApp, type Person } from '../../people/connect/people.ts';
import { fullBody } from './bodies.ts';
import { expectNoContent } from './expect-nothing.ts';
import { addresses, content, email, marker, personName } from './markers.ts';
import { answersWell } from './provider-answers.ts';
import type { StageOf } from './stage.ts';

/** Whatever people prove themselves by: passwords, links, sessions, second factors, apps and their tokens. */
export function accountsSuite(stage: StageOf): void {
  describe('no sink holds what people prove themselves by', () => {
    const browser = new Browser({ 'x-forwarded-for': addresses.ipv4 });
    const elsewhere = new Browser({ 'x-forwarded-for': addresses.ipv6 });
    let password = marker('Password');
    const asked = async (path: string, body: object, by = browser): Promise<{ status: number; json: unknown }> => {
      const answer = await by.ask('POST', `${stage().service.controlUrl}${path}`, { body });
      const text = await answer.text();
      const headers = Object.fromEntries(answer.headers);
      await stage().keep(
        Promise.resolve({ status: answer.status, headers, text, complete: answer.ok, ended: 'answered' }),
      );
      return { status: answer.status, json: text === '' ? undefined : JSON.parse(text) };
    };
    const keepSecret = (what: string, secret: string | undefined): string => {
      if (secret === undefined || secret.length < 8) throw new Error(`no ${what}`);
      stage().secrets.set(`${what} ${stage().secrets.size}`, secret);
      return secret;
    };
    /** The session that the browser has now, without its signature. */
    const keepSession = (): void => {
      const cookie = decodeURIComponent(
        /session_token=([^;]+)/.exec(browser.cookiesFor(stage().service.controlUrl))?.[1] ?? '',
      );
      for (const part of cookie.split('.')) keepSecret('session', part);
    };

    it('after signing up, in and out, with right and wrong passwords and links', async () => {
      const { mailbox } = stage();
      const wrong = { email, password: marker('WrongPassword') };
      expect((await asked('/auth/sign-up/email', { email, password, name: personName })).status).toBe(200);
      for (const by of [browser, elsewhere]) expect((await asked('/auth/sign-in/email', wrong, by)).status).toBe(401);
      expect((await asked('/auth/sign-in/email', { email, password })).status).toBe(403);
      const link = keepSecret('link', await mailbox.token(email, 'Confirm your address'));
      expect((await asked('/auth/verify-email', { token: link, password })).status).toBe(200);
      keepSession();
      expect((await asked('/auth/verify-email', { token: link, password })).status).toBe(400);
      await asked('/auth/sign-out', {});
      await asked('/auth/request-password-reset', { email });
      const reset = keepSecret('link', await mailbox.token(email, 'Set a new password'));
      password = marker('NewPassword');
      expect((await asked('/auth/reset-password', { token: reset, newPassword: 'short' })).status).toBe(400);
      expect((await asked('/auth/reset-password', { token: reset, newPassword: password })).status).toBe(200);
      expect((await asked('/auth/reset-password', { token: reset, newPassword: password })).status).toBe(400);
      expect((await asked('/auth/sign-in/email', { email, password })).status).toBe(200);
      keepSession();
      // What is asked for in the wrong place.
      const { controlUrl } = stage().service;
      for (const path of [
        `/auth/verify-email?token=${link}`,
        `/auth/reset-password/${reset}?callbackURL=/`,
        `/keys/${password}`,
      ]) {
        await stage().keep(call(`${controlUrl}${path}`, {}, { [password]: password, token: link }));
      }
      await expectNoContent(stage());
    });

    it('after a change of address and an invitation', async () => {
      const to = `new${randomBytes(9).toString('hex')}@example.test`;
      expect((await asked('/auth/change-email', { newEmail: to, password: marker('WrongPassword') })).status).toBe(400);
      expect((await asked('/auth/change-email', { newEmail: to, password })).status).toBe(200);
      keepSecret('link', await stage().mailbox.token(to, 'Confirm your new address'));
      const made = await asked('/workspaces', { name: 'Team' });
      const { id } = made.json as { id: string };
      const invited = await asked(`/workspaces/${id}/invitations`, { email: to, role: 'viewer' });
      expect(invited.status).toBe(201);
      const token = keepSecret('invitation', await stage().mailbox.token(to, 'invited'));
      for (const verb of ['read', 'accept', 'decline']) {
        expect((await asked(`/invitations/${verb}`, { token })).status).toBe(403);
      }
    });

    it('after a second factor', async () => {
      const enabled = await asked('/auth/two-factor/enable', { password });
      const { totpURI: uri, backupCodes } = enabled.json as { totpURI: string; backupCodes: readonly string[] };
      keepSecret('authenticator', new URL(uri).searchParams.get('secret') ?? undefined);
      for (const code of backupCodes) keepSecret('backup code', code);
      expect((await asked('/auth/two-factor/verify-totp', { code: totpCode(uri, Date.now() - 30_000) })).status).toBe(
        200,
      );
      keepSession();
      await asked('/auth/sign-out', {});
      expect((await asked('/auth/sign-in/email', { email, password })).status).toBe(200);
      expect((await asked('/auth/two-factor/verify-totp', { code: '000000' })).status).toBe(401);
      expect((await asked('/auth/two-factor/verify-totp', { code: totpCode(uri, Date.now()) })).status).toBe(200);
      keepSession();
      await asked('/auth/sign-out', {});
      await asked('/auth/sign-in/email', { email, password });
      expect((await asked('/auth/two-factor/verify-backup-code', { code: marker('BackupCode') })).status).toBe(401);
      expect((await asked('/auth/two-factor/verify-backup-code', { code: backupCodes[0] })).status).toBe(200);
      keepSession();
    });

    it('after apps were connected, used, refused and disconnected', async () => {
      const { service } = stage();
      const { controlUrl } = service;
      stage().onAll(answersWell);
      const person: Person = { email, password, accountId: '', browser };
      const app: AppAnswer = await newApp(service, person);
      keepSecret('secret of an app', app.client_secret);
      const started = await start(await clientOf(service, app));
      const callback = await authorize(service, person, { started, decision: allowed() });
      const code = keepSecret('code', new URL(callback).searchParams.get('code') ?? undefined);
      const { client, accessToken, refreshToken } = await connect(service, person, app);
      keepSecret('access token', accessToken);
      keepSecret('refresh token', refreshToken);
      for (const verifier of [started.verifier]) keepSecret('verifier', verifier);
      // A ticket with the token, for the content to go with; the token itself is no bearer on the broker.
      await stage().keep(call(`${controlUrl}/inference/tickets`, bearer(accessToken), { model: 'm/one' }));
      await stage().keep(call(`${service.baseUrl}/chat/completions`, bearer(accessToken), fullBody()));
      for (const path of ['/balance', '/usage']) await fetch(`${controlUrl}${path}`, { headers: bearer(accessToken) });
      // Everything that is wrong with an exchange.
      const token = `${client.serverMetadata().token_endpoint}`;
      const forms: readonly Record<string, string>[] = [
        {
          grant_type: 'authorization_code',
          code,
          redirect_uri: 'https://app.example/callback',
          code_verifier: content.Malformed,
        },
        { grant_type: 'authorization_code', code: content.Malformed, code_verifier: started.verifier },
        { grant_type: 'refresh_token', refresh_token: content.Malformed },
        { grant_type: content.Malformed, [content.Malformed]: content.Malformed },
      ];
      for (const secret of [app.client_secret ?? '', content.Malformed]) {
        const authorization = `Basic ${Buffer.from(`${app.client_id}:${secret}`).toString('base64')}`;
        for (const form of forms) {
          const answer = await fetch(token, {
            method: 'POST',
            headers: { authorization },
            body: new URLSearchParams(form),
          });
          expect(answer.status).toBeGreaterThanOrEqual(400);
        }
      }
      const revoke = `${client.serverMetadata().revocation_endpoint}`;
      const basic = `Basic ${Buffer.from(`${app.client_id}:${app.client_secret}`).toString('base64')}`;
      const ended = await fetch(revoke, {
        method: 'POST',
        headers: { authorization: basic },
        body: new URLSearchParams({ token: refreshToken }),
      });
      expect(ended.status).toBe(200);
      await asked(`/connect/apps/${app.id}/rotate-secret`, {}).then(({ json }) =>
        keepSecret('secret of an app', (json as AppAnswer).client_secret),
      );
      await expectNoContent(stage());
    });

    it('after keys were made, shown once and ended', async () => {
      for (const kind of ['inference', 'management']) {
        const made = await asked('/keys', { name: 'x', kind });
        expect(made.status).toBe(201);
        const { id, key } = made.json as { id: string; key: string };
        keepSecret('key', key);
        const { controlUrl } = stage().service;
        await stage().keep(call(`${controlUrl}/inference/tickets`, bearer(key), { model: 'm/one' }));
        expect((await browser.ask('DELETE', `${controlUrl}/keys/${id}`)).status).toBe(204);
        await stage().keep(call(`${controlUrl}/inference/tickets`, bearer(key), { model: 'm/one' }));
      }
    });
  });
}
