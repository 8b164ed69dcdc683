import { randomBytes } from 'node:crypto';
import type { AppAnswer } from '@sotto/contract/control/connect';
import { until } from '@sotto/test-servers';
import { describe, expect, it } from 'vitest';
import { Answer } from '../../kit/answer.ts';
import { showEarlierCode, totpCode } from '../../kit/authenticator.ts';
import { Browser } from '../../kit/browser.ts';
import { bearer } from '../../kit/client.ts';
import { allowed, authorize, clientOf, connect, newApp, type Person, start } from '../../kit/connected-apps.ts';
import { post } from '../../kit/send.ts';
import { disguises, found } from './disguises.ts';
import { expectNoContent } from './expect-no-content.ts';
import { addresses, content, email, fullBody, idsIn, marker, personName, stem } from './markers.ts';
import { answersWell } from './provider-answers.ts';
import type { StageOf } from './stage.ts';

/** Everything that people authenticate with: passwords, links, sessions, second factors, apps and their tokens. */
export function accountsSuite(stage: StageOf): void {
  describe('no sink holds credentials of people', () => {
    const browser = new Browser({ 'x-forwarded-for': addresses.ipv4 });
    const elsewhere = new Browser({ 'x-forwarded-for': addresses.ipv6 });
    let password = marker('Password');
    const asked = async (path: string, body: object, by = browser): Promise<{ status: number; json: unknown }> => {
      const answer = await by.ask('POST', `${stage().service.controlUrl}${path}`, { body });
      const text = await answer.text();
      await stage().keep(Promise.resolve(new Answer(answer.status, answer.headers, text)));
      return { status: answer.status, json: text === '' ? undefined : JSON.parse(text) };
    };
    const keepSecret = (what: string, secret: string | undefined): string => {
      if (secret === undefined || secret.length < 8) throw new Error(`no ${what}`);
      stage().secrets.set(`${what} ${stage().secrets.size}`, secret);
      return secret;
    };
    /** Keeps the browser's current session token, without its signature. */
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
      // Requests at the wrong place.
      const { controlUrl } = stage().service;
      for (const path of [
        `/auth/verify-email?token=${link}`,
        `/auth/reset-password/${reset}?callbackURL=/`,
        `/keys/${password}`,
      ]) {
        await stage().keep(post(`${controlUrl}${path}`, { [password]: password, token: link }, {}));
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

    let authenticator = '';
    it('after a second factor', async () => {
      const enabled = await asked('/auth/two-factor/enable', { password });
      const { totpURI: uri, backupCodes } = enabled.json as { totpURI: string; backupCodes: readonly string[] };
      authenticator = uri;
      keepSecret('authenticator', new URL(uri).searchParams.get('secret') ?? undefined);
      for (const code of backupCodes) keepSecret('backup code', code);
      const show = async (code: string) => (await asked('/auth/two-factor/verify-totp', { code })).status;
      expect(await showEarlierCode(uri, show)).toBe(200);
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

    it('after the person acted as an operator: nor does the audit log or a log hold an address', async () => {
      const { service, mailbox } = stage();
      const { controlUrl } = service;
      expect((await service.runControl(['operator', 'grant', email])).code).toBe(0);
      // The codes of now and of half a minute ago are used.
      const code = totpCode(authenticator, Date.now() + 30_000);
      expect((await asked('/auth/two-factor/verify-totp', { code })).status).toBe(200);
      const to = `invited${randomBytes(9).toString('hex')}@example.test`;
      expect((await asked('/operator/invitations', { email: to })).status).toBe(201);
      await mailbox.newest(to, 'invited to sign up');
      const { accountId } = stage().pauper;
      for (const act of ['disable', 'enable']) {
        expect((await asked(`/operator/accounts/${accountId}/${act}`, {})).status).toBe(200);
      }
      const credit = { amount_usd: 0.000000001, reference: randomBytes(9).toString('hex') };
      expect((await asked(`/operator/accounts/${accountId}/credit`, credit)).status).toBe(200);
      for (const path of [
        `/operator/accounts?search=${email}`,
        '/operator/accounts',
        '/operator/providers',
        '/operator/orders',
        '/operator/books',
        '/operator/audit?format=csv',
        '/operator/sign-up',
        '/account/audit',
      ]) {
        const answer = await browser.ask('GET', `${controlUrl}${path}`);
        expect([path, answer.status]).toEqual([path, 200]);
        const text = await answer.text();
        // The operator sees people, and neither what they ask nor which models and keys they use.
        for (const { inferenceKey, managementKey } of [stage().account, stage().pauper]) {
          for (const key of [inferenceKey, managementKey]) expect(text).not.toContain(key);
        }
        if (!path.startsWith('/operator/providers')) expect(text).not.toContain('m/one');
      }
      const { rows } = await service.pool.query<{ row: string }>('select a::text as row from acts a');
      expect(rows.length).toBeGreaterThan(4);
      const { controlLog } = await stage().sinks();
      for (const sink of [rows.map(({ row }) => row).join('\n'), controlLog]) {
        for (const secret of [email, personName, to]) expect(sink).not.toContain(secret);
      }
      await expectNoContent(stage());
    });

    it('after the budget of a workspace alerted by mail and webhook: neither names content, a model or a key, nor the event a person', async () => {
      const { service, mailbox, receiver } = stage();
      stage().onAll(answersWell);
      const changed = async (method: string, path: string, body: object): Promise<Record<string, string>> => {
        const answer = await browser.ask(method, `${service.controlUrl}${path}`, { body });
        expect([path, answer.status]).toEqual([path, method === 'POST' ? 201 : 200]);
        return (await answer.json()) as Record<string, string>;
      };
      const account = (await (await browser.ask('GET', `${service.controlUrl}/account`)).json()) as { id: string };
      const credit = ['account', 'credit', account.id, '1', '--reference', randomBytes(9).toString('hex')];
      expect((await service.runControl(credit)).code).toBe(0);
      const { id: workspace_id = '' } = await changed('POST', '/workspaces', { name: 'Alerted' });
      const made = await changed('POST', '/keys', { name: 'alerted', kind: 'inference', workspace_id });
      const key = keepSecret('key', made.key);
      const { secret } = await changed('PUT', `/workspaces/${workspace_id}/webhook`, {
        url: `https://127.0.0.1:${receiver.port}/`,
      });
      keepSecret('secret of a webhook', secret);
      const budgets = `/workspaces/${workspace_id}/budgets`;
      await changed('PUT', budgets, { limit_usd: 1 });
      const url = `${service.baseUrl}/chat/completions`;
      // The key and the credit reach the broker within a second.
      await until(async () => (await post(url, fullBody(), bearer(key))).status === 200, 'the request is served');
      const spent = async (): Promise<number> => {
        const answer = await browser.ask('GET', `${service.controlUrl}${budgets}`);
        return ((await answer.json()) as { data: { spent_usd: number }[] }).data[0]?.spent_usd ?? 0;
      };
      await until(async () => (await spent()) > 0, 'the charge is booked');
      await changed('PUT', budgets, { limit_usd: 0.000_000_001 });
      const mail = await mailbox.newest(email, 'budget');
      await until(() => receiver.received.length > 0, 'the webhook was told');
      const events = receiver.received.map((event) => JSON.stringify(event)).join('\n');
      const { pool } = service;
      // It names the workspace, and only the workspace.
      const { [workspace_id]: _, ...others } = await idsIn(pool);
      expect(events).toContain(workspace_id);
      expect(found(events, { ...others, email: disguises(email) })).toEqual([]);
      const theirs = { content: disguises(stem), key: disguises(key), model: ['m/two', 'm/one'] };
      for (const text of [mail.text, events]) expect(found(text, theirs)).toEqual([]);
      const { controlLog } = await stage().sinks();
      for (const hidden of [email, String(receiver.port)]) expect(controlLog).not.toContain(hidden);
      await expectNoContent(stage());
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
      keepSecret('verifier', started.verifier);
      // Buys a ticket with the token, so that content can follow. The broker does not accept the token itself.
      await stage().keep(post(`${controlUrl}/inference/tickets`, { model: 'm/one' }, bearer(accessToken)));
      await stage().keep(post(`${service.baseUrl}/chat/completions`, fullBody(), bearer(accessToken)));
      for (const path of ['/balance', '/usage']) await fetch(`${controlUrl}${path}`, { headers: bearer(accessToken) });
      // Every error of a token exchange.
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
      const postAs = async (url: string, secret: string, form: Readonly<Record<string, string>>): Promise<number> => {
        const headers = { authorization: `Basic ${Buffer.from(`${app.client_id}:${secret}`).toString('base64')}` };
        const answer = await fetch(url, { method: 'POST', headers, body: new URLSearchParams(form) });
        return answer.status;
      };
      const clientSecret = app.client_secret ?? '';
      for (const secret of [clientSecret, content.Malformed]) {
        for (const form of forms) expect(await postAs(token, secret, form)).toBeGreaterThanOrEqual(400);
      }
      const revoke = `${client.serverMetadata().revocation_endpoint}`;
      expect(await postAs(revoke, clientSecret, { token: refreshToken })).toBe(200);
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
        await stage().keep(post(`${controlUrl}/inference/tickets`, { model: 'm/one' }, bearer(key)));
        expect((await browser.ask('DELETE', `${controlUrl}/keys/${id}`)).status).toBe(204);
        await stage().keep(post(`${controlUrl}/inference/tickets`, { model: 'm/one' }, bearer(key)));
      }
    });
  });
}
