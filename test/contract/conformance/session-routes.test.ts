import { randomUUID } from 'node:crypto';
import { controlOrigin } from '@sotto/contract/control';
import type { AppAnswer } from '@sotto/contract/control/connect';
import type { OrderAnswer } from '@sotto/contract/control/orders';
import type { WorkspaceRole } from '@sotto/contract/control/workspace-role';
import { budgetAnswerSchema } from '@sotto/contract/control/workspaces';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Answer } from '../../kit/answer.ts';
import { Browser } from '../../kit/browser.ts';
import { bearer } from '../../kit/client.ts';
import { type Concept, describeConformance } from '../../kit/conformance.ts';
import { clientOf, consentTo, newApp, start } from '../../kit/connected-apps.ts';
import { expectError } from '../../kit/expect-error.ts';
import { type Person, peopleOf } from '../../kit/people.ts';
import { get, type HeaderMap, post, send } from '../../kit/send.ts';
import { makeIssuer } from '../../kit/wallets.ts';
import {
  aboutOneself,
  type Caller,
  callers,
  everybody,
  inWorkspace,
  ofFactors,
  ofTheOwner,
  operators,
  orManagementKey,
  type Row,
  row,
} from './caller-table.ts';
import { operatorRows } from './operator-rows.ts';

const issuer = await makeIssuer();
afterAll(() => issuer.stop());

const model = 'acme/small';
const webhook = { url: 'https://127.0.0.1:9/' };
const policy = { allowed_models: null, max_key_limit_usd: null, max_key_days: null, openai_compatible: true };
const preferences = {
  provider_allow_fallbacks: true,
  provider_max_attempts: 2,
  provider_minimum_privacy: 'anonymous',
  provider_sort: 'default',
  provider_ignore: [],
};

/** Calls every route that requires a session as every caller, and compares the statuses with this table. */
const sessionRoutes: Concept = (suite) => {
  const people = peopleOf(suite);
  const { url, signIn, signUp, verifyAddress, makeOperator, makeWorkspace, invite, join, makeKey } = people;

  describe('every route that a session opens', () => {
    const headersOf = new Map<Caller, HeaderMap>();
    const personOf = new Map<Caller, Person>();
    let owner: Person;
    let workspaceId = '';
    let app: AppAnswer;
    let order: OrderAnswer;
    /** The browser in which the owner connects apps. */
    let browser: Browser;

    const browserOf = async ({ email, password }: Person): Promise<Browser> => {
      const browser = new Browser();
      await browser.ask('POST', url('/auth/sign-in/email'), { body: { email, password } });
      return browser;
    };
    const registerApp = (): Promise<AppAnswer> => newApp(suite.service, { ...owner, browser });

    beforeAll(async () => {
      owner = await signUp();
      workspaceId = await makeWorkspace(owner);
      personOf.set('owner', owner);
      for (const role of ['admin', 'member', 'viewer'] as const)
        personOf.set(role, await join(owner, workspaceId, role));
      personOf.set('another account', await signUp());
      personOf.set("another workspace's member", await join(owner, await makeWorkspace(owner), 'admin'));
      for (const caller of operators) {
        const operator = await signUp();
        await makeOperator(operator);
        personOf.set(caller, operator);
        if (caller !== 'an operator') continue;
        await suite.service.pool.query(
          'update auth_session set factor_at = now() where user_id in (select id from auth_user where email = $1)',
          [operator.email],
        );
      }
      for (const [caller, person] of personOf) {
        await verifyAddress(person);
        headersOf.set(caller, person.session);
      }
      const ended = await signIn(owner);
      expect((await post(url('/auth/sign-out'), {}, ended)).status).toBe(200);
      headersOf.set('an ended session', ended);
      headersOf.set('nobody', {});
      headersOf.set('an inference key', bearer((await makeKey(owner, workspaceId)).key));
      headersOf.set('a management key', bearer((await makeKey(owner, workspaceId, 'management')).key));
      browser = await browserOf(owner);
      app = await registerApp();
      const placed = await post(url('/billing/orders'), { package_id: 'usd-10', rail: 'test' }, owner.session);
      expect(placed.status, placed.text).toBe(201);
      order = placed.json as OrderAnswer;
    });

    /** Calls the route of a row. Its last parameter is what was prepared, unless the body takes that; every other one is the workspace. */
    const call = (
      { route, body, prepare, inWorkspace }: Row,
      headers: HeaderMap,
      prepared: string,
    ): Promise<Answer> => {
      const [method = '', path = ''] = route.replace('/v1', '').split(' ');
      const isForBody = typeof body === 'function' && body.length > 0;
      const last = prepare === undefined || isForBody ? workspaceId : prepared;
      const address = path.replace(/\{\w+\}(?=[^{]*$)/, last).replace('{id}', workspaceId);
      const query = inWorkspace ? `?workspace_id=${workspaceId}` : '';
      const sent = typeof body === 'function' ? body(prepared) : (body ?? (method === 'POST' ? {} : undefined));
      return send(method, url(`${address}${query}`), { headers, body: sent });
    };
    /** Prepares a row for a caller. Those who must be refused share what was prepared, because it stays as it was. */
    const preparedFor = (row: Row, caller: Caller): Promise<string> => {
      const made = (isRefused(row, caller) && shared.get(row)) || (row.prepare?.(caller) ?? Promise.resolve(''));
      if (isRefused(row, caller)) shared.set(row, made);
      return made;
    };
    const shared = new Map<Row, Promise<string>>();
    const isRefused = (row: Row, caller: Caller): boolean => row.expected[caller] >= 400;
    const newKey = (kind: string) => async () => (await makeKey(owner, workspaceId, kind)).id;
    const freshMember = async () => (await join(owner, workspaceId, 'viewer')).accountId;
    const freshBudget = async (): Promise<string> => {
      const path = url(`/workspaces/${workspaceId}/budgets`);
      const { json } = await send('PUT', path, { headers: owner.session, body: { limit_usd: 1000 } });
      return budgetAnswerSchema.parse(json).id;
    };
    /** Sets the webhook, which leads nowhere, and returns the workspace that the path names. */
    const freshWebhook = async (): Promise<string> => {
      const path = url(`/workspaces/${workspaceId}/webhook`);
      const { status } = await send('PUT', path, { headers: owner.session, body: webhook });
      expect(status).toBe(200);
      return workspaceId;
    };
    const freshApp = async () => (await registerApp()).id;
    /** A workspace of the owner with every role, to be deleted. */
    const doomedWorkspace = async () => {
      const doomed = await makeWorkspace(owner);
      for (const role of ['viewer', 'member', 'admin'] as const) {
        const person = personOf.get(role);
        if (person === undefined) continue;
        const { token } = await invite(owner, doomed, person.email, role);
        expect((await people.accept(person, token)).status).toBe(200);
      }
      return doomed;
    };
    const invitation = (role: WorkspaceRole) => ({ email: `${randomUUID()}@people.example`, role });
    /** An invitation for an address that belongs to no caller here. */
    const foreignInvitation = async () => invite(owner, workspaceId, `${randomUUID()}@people.example`, 'viewer');
    const grant = async (): Promise<string> => {
      const started = await start(await clientOf(suite.service, app));
      const consent = await consentTo(suite.service, { ...owner, browser }, started);
      await consent.answer(
        { ...owner, browser },
        { decision: 'allow', workspace_id: workspaceId, credit_limit_usd: 1 },
      );
      const { json } = await get(url('/connect/grants'), owner.session);
      return (json as { data: { id: string }[] }).data[0]?.id ?? '';
    };
    /** Starts a request of an app in the owner's browser. Other callers lack that browser's cookies. */
    const appRequest = async (): Promise<string> => {
      const started = await start(await clientOf(suite.service, app));
      const consent = await consentTo(suite.service, { ...owner, browser }, started);
      await consent.read({ ...owner, browser });
      return consent.uid;
    };
    const wrongPassword = { password: 'not it' };
    const reads = orManagementKey(aboutOneself(200));

    const rows: readonly Row[] = [
      ...operatorRows(suite, people),
      row('GET /v1/account', aboutOneself(200)),
      row('GET /v1/account/audit', aboutOneself(200)),
      row('GET /v1/workspaces/{id}/audit', inWorkspace('admin', 200)),
      row('GET /v1/routing/preferences', inWorkspace('viewer', 200), { inWorkspace: true }),
      row('PUT /v1/routing/preferences', inWorkspace('admin', 200), { inWorkspace: true, body: preferences }),
      row('POST /v1/routing/preview', inWorkspace('viewer', 200), {
        body: () => ({ model, workspace_id: workspaceId }),
      }),
      // Money and usage belong to the caller. A stranger who names the workspace sees their own spending there, which
      // is zero.
      row('GET /v1/balance', reads),
      row('GET /v1/usage', { ...reads, viewer: 403 }, { inWorkspace: true }),
      row('GET /v1/usage/refusals', { ...reads, viewer: 403 }, { inWorkspace: true }),
      row('GET /v1/usage/daily', reads, { inWorkspace: true }),
      row('POST /v1/billing/orders', aboutOneself(400), { body: { package_id: 'none', rail: 'test' } }),
      row('GET /v1/billing/grant', aboutOneself(200)),
      row('GET /v1/billing/orders', aboutOneself(200)),
      row('GET /v1/billing/orders/{orderId}', ofTheOwner(200), { prepare: async () => order.id }),
      row('GET /v1/billing/receipts', aboutOneself(200)),
      row('GET /v1/billing/receipts/{receiptNumber}', ofTheOwner(200), {
        prepare: async () => order.receipt_number ?? 'none',
      }),
      row('GET /v1/billing/settings', aboutOneself(200)),
      row('PUT /v1/billing/settings', aboutOneself(200), { body: { low_balance_usd: 1, auto_top_up: null } }),
      row('GET /v1/keys', inWorkspace('viewer', 200), { inWorkspace: true }),
      ...(['inference', 'management'] as const).flatMap((kind) => {
        const [creates, changes] =
          kind === 'inference' ? (['member', 'admin'] as const) : (['owner', 'owner'] as const);
        const another = { what: `another's, ${kind}`, prepare: newKey(kind) };
        return [
          row('POST /v1/keys', inWorkspace(creates, 201), {
            what: kind,
            body: () => ({ name: 'x', kind, workspace_id: workspaceId }),
          }),
          row('PATCH /v1/keys/{id}', inWorkspace(changes, 200), { ...another, body: { name: 'y' } }),
          row('POST /v1/keys/{id}/rotate-secret', inWorkspace(changes, 200), another),
          row('DELETE /v1/keys/{id}', inWorkspace(changes, 204), another),
        ];
      }),
      row('GET /v1/workspaces', aboutOneself(200)),
      row('POST /v1/workspaces', aboutOneself(400), { body: { name: '' } }),
      row('PATCH /v1/workspaces/{id}', inWorkspace('admin', 200), { body: { name: 'Team' } }),
      row('DELETE /v1/workspaces/{id}', inWorkspace('owner', 204), { prepare: doomedWorkspace }),
      row('GET /v1/workspaces/{id}/members', inWorkspace('viewer', 200)),
      row('PATCH /v1/workspaces/{id}/members/{memberId}', inWorkspace('admin', 200), {
        prepare: freshMember,
        body: { role: 'member' },
      }),
      row('DELETE /v1/workspaces/{id}/members/{memberId}', inWorkspace('admin', 204), { prepare: freshMember }),
      row('GET /v1/workspaces/{id}/budgets', inWorkspace('viewer', 200)),
      row('PUT /v1/workspaces/{id}/budgets', inWorkspace('admin', 200), { body: { limit_usd: 1000 } }),
      row('DELETE /v1/workspaces/{id}/budgets/{budgetId}', inWorkspace('admin', 204), { prepare: freshBudget }),
      row('GET /v1/workspaces/{id}/budget-settings', inWorkspace('viewer', 200)),
      row('PUT /v1/workspaces/{id}/budget-settings', inWorkspace('admin', 200), {
        body: { alert_percents: [80], member_budget_usd: null },
      }),
      row('GET /v1/workspaces/{id}/policy', inWorkspace('viewer', 200)),
      row('PUT /v1/workspaces/{id}/policy', inWorkspace('admin', 200), { body: policy }),
      row('GET /v1/workspaces/{id}/webhook', inWorkspace('admin', 200)),
      row('PUT /v1/workspaces/{id}/webhook', inWorkspace('admin', 200), { body: webhook }),
      row('DELETE /v1/workspaces/{id}/webhook', inWorkspace('admin', 204), { prepare: freshWebhook }),
      row('POST /v1/workspaces/{id}/webhook/test', inWorkspace('admin', 200), { prepare: freshWebhook }),
      row('GET /v1/workspaces/{id}/invitations', inWorkspace('admin', 200)),
      row('POST /v1/workspaces/{id}/invitations', inWorkspace('admin', 201), { body: () => invitation('admin') }),
      row('POST /v1/workspaces/{id}/invitations', inWorkspace('owner', 201), {
        what: 'of the workspace itself',
        prepare: async () => (await join(owner, workspaceId, 'viewer')).email,
        body: (email) => ({ email, role: 'owner' }),
      }),
      row('DELETE /v1/workspaces/{id}/invitations/{invitationId}', inWorkspace('admin', 204), {
        prepare: async () => (await foreignInvitation()).id,
      }),
      ...['read', 'accept', 'decline'].map((verb) =>
        row(`POST /v1/invitations/${verb}`, aboutOneself(403), {
          what: "another's",
          prepare: async () => (await foreignInvitation()).token,
          body: (token) => ({ token }),
        }),
      ),
      row('GET /v1/invitations', aboutOneself(200)),
      ...['accept', 'decline'].map((verb) =>
        row(`POST /v1/invitations/{id}/${verb}`, aboutOneself(404), {
          what: "another's",
          prepare: async () => (await foreignInvitation()).id,
        }),
      ),
      row('POST /v1/credits/codes', aboutOneself(201), { inFreshSession: true, body: { lots: 1 } }),
      row('GET /v1/credits/codes', aboutOneself(200)),
      row('DELETE /v1/credits/codes', aboutOneself(204)),
      row('GET /v1/connect/grants', aboutOneself(200)),
      row('GET /v1/connect/grants', inWorkspace('viewer', 200), { what: 'of the workspace', inWorkspace: true }),
      row('DELETE /v1/connect/grants/{id}', inWorkspace('admin', 204), { what: "the owner's", prepare: grant }),
      row('GET /v1/connect/apps', aboutOneself(200)),
      row('POST /v1/connect/apps', aboutOneself(400)),
      row('PATCH /v1/connect/apps/{id}', ofTheOwner(200), { prepare: async () => app.id, body: { name: 'x' } }),
      row('POST /v1/connect/apps/{id}/rotate-secret', ofTheOwner(200), { prepare: freshApp }),
      row('DELETE /v1/connect/apps/{id}', ofTheOwner(204), { prepare: freshApp }),
      // Only the browser that began the request gets it: even the owner gets 404 from another browser.
      row('GET /v1/connect/interactions/{uid}', aboutOneself(404), { prepare: appRequest }),
      row('POST /v1/connect/interactions/{uid}', aboutOneself(404), {
        prepare: appRequest,
        body: { decision: 'deny' },
      }),
      // Without a session the body is null.
      row('GET /v1/auth/get-session', everybody(200)),
      row('GET /v1/auth/list-sessions', aboutOneself(200)),
      // Signing out without a session succeeds.
      row('POST /v1/auth/sign-out', everybody(200), { inFreshSession: true }),
      row('POST /v1/auth/change-password', aboutOneself(400), {
        body: { currentPassword: 'not it', newPassword: 'long enough' },
      }),
      row('POST /v1/auth/change-email', aboutOneself(400), {
        body: () => ({ newEmail: `${randomUUID()}@new.example`, ...wrongPassword }),
      }),
      row('POST /v1/auth/delete-account', aboutOneself(400), {
        body: { email: 'ann@example.com', ...wrongPassword },
      }),
      row('POST /v1/auth/confirm-password', aboutOneself(400), { body: wrongPassword }),
      ...['enable', 'generate-backup-codes', 'disable'].map((name) =>
        row(`POST /v1/auth/two-factor/${name}`, ofFactors(400), { body: wrongPassword }),
      ),
      row('GET /v1/auth/passkey/review', aboutOneself(200)),
      row('POST /v1/auth/passkey/reviewed', aboutOneself(200)),
      // A session alone is not enough: the route requires the password to be confirmed first.
      row('GET /v1/auth/passkey/generate-register-options', aboutOneself(403)),
      // The route rejects a malformed credential before it checks the session.
      row('POST /v1/auth/passkey/verify-registration', everybody(400), { body: { name: 'x', response: { id: 'x' } } }),
      row('GET /v1/auth/passkey/list-user-passkeys', aboutOneself(200)),
      // These passkeys belong to an account outside this table.
      row('POST /v1/auth/passkey/update-passkey', aboutOneself(404), {
        what: "another's",
        prepare: strangersPasskey,
        body: (id) => ({ id, name: 'x' }),
      }),
      row('POST /v1/auth/passkey/delete-passkey', aboutOneself(404), {
        what: "another's",
        prepare: strangersPasskey,
        body: (id) => ({ id }),
      }),
      row('GET /v1/auth/list-accounts', aboutOneself(200)),
      row('POST /v1/auth/update-user', aboutOneself(200), { body: { name: 'x' } }),
      // The answer never reveals whether the token exists. A token of another account stays valid.
      row('POST /v1/auth/revoke-session', aboutOneself(200), {
        // The token of the owner's current session. The owner gets none, because the call would end that session.
        prepare: async (caller) => {
          if (caller === 'owner') return 'none';
          const current = (await get(url('/auth/get-session'), owner.session)).json as { session: { id: string } };
          const { json } = await get(url('/auth/list-sessions'), owner.session);
          return (json as { id: string; token: string }[]).find(({ id }) => id === current.session.id)?.token ?? '';
        },
        body: (token) => ({ token }),
      }),
      row('POST /v1/auth/revoke-other-sessions', aboutOneself(200)),
      // This row must be last, and the owner must be its last caller, because it ends the owner's session.
      row('POST /v1/auth/revoke-sessions', aboutOneself(200)),
    ];

    /** The id of another user's passkey, inserted into the database. */
    async function strangersPasskey(): Promise<string> {
      const person = await signUp();
      const id = randomUUID();
      await suite.service.pool.query(
        `insert into auth_passkey (id, name, public_key, user_id, credential_id, counter, device_type, backed_up)
         select $1, 'x', 'x', u.id, $1, 0, 'singleDevice', false from auth_user u where u.email = $2`,
        [id, person.email],
      );
      return id;
    }

    it('this table has a row for each', () => {
      const opened = controlOrigin.routes.flatMap(({ credentials, method, path }) =>
        credentials.includes('session') || credentials.includes('operator') ? [`${method.toUpperCase()} ${path}`] : [],
      );
      expect(opened.length).toBeGreaterThan(50);
      expect([...new Set(rows.map(({ route }) => route))].sort()).toEqual([...opened].sort());
    });

    const cases = rows.flatMap((row) =>
      callers.map(
        (caller) => [row.what === undefined ? row.route : `${row.route} (${row.what})`, caller, row] as const,
      ),
    );
    it.each(cases)('%s: %s', async (_, caller, row) => {
      const prepared = await preparedFor(row, caller);
      const person = personOf.get(caller);
      const isFresh = row.inFreshSession === true && person !== undefined;
      const answer = await call(row, isFresh ? await signIn(person) : (headersOf.get(caller) ?? {}), prepared);
      expect(answer.status, answer.text).toBe(row.expected[caller]);
      if (answer.status >= 400) {
        expectError(answer, answer.status, (answer.json as { error: { type: string } }).error.type);
      }
      // No call of another caller may end the owner's session.
      if (caller !== 'owner') expect((await get(url('/keys'), owner.session)).status).toBe(200);
    });
  });
};

await describeConformance(
  'session routes',
  [sessionRoutes],
  { features: ['connected apps', 'test payments'], environment: issuer.environment },
  // Control decides who may call by Postgres alone, so a Redis Cluster makes no difference.
);
