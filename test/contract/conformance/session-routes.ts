import { randomUUID } from 'node:crypto';
import { controlOrigin } from '@sotto/contract/control';
import type { AppAnswer, OrderAnswer, WorkspaceRole } from '@sotto/wire';
import { beforeAll, describe, expect, it } from 'vitest';
import { Browser } from '../../people/connect/browser.ts';
import { clientOf, consentTo, start } from '../../people/connect/flow.ts';
import { newApp } from '../../people/connect/people.ts';
import { type Answer, bearer, expectError, get, type HeaderMap, post, send } from './client.ts';
import { type Person, peopleOf } from './people.ts';
import type { Concept } from './suite.ts';

/** Who calls: whoever has no session, others' sessions, and each role in one workspace of the owner's. */
const callers = [
  'nobody',
  'an inference key',
  'a management key',
  'an ended session',
  'another account',
  "another workspace's member",
  'viewer',
  'member',
  'admin',
  'owner',
] as const;
type Caller = (typeof callers)[number];

const withKey: readonly Caller[] = ['an inference key', 'a management key'];
const withoutSession: readonly Caller[] = ['nobody', ...withKey, 'an ended session'];
const strangers: readonly Caller[] = ['another account', "another workspace's member"];
const roles: readonly Caller[] = ['viewer', 'member', 'admin', 'owner'];

/** The status that each caller gets. */
type Expected = Readonly<Record<Caller, number>>;

const expectedOf = (status: (caller: Caller) => number): Expected =>
  Object.fromEntries(
    callers.map((caller) => [
      caller,
      withKey.includes(caller) ? 403 : withoutSession.includes(caller) ? 401 : status(caller),
    ]),
  ) as Expected;

/** Of the workspace: from a role on; those who are not in it are told of nothing. */
const inWorkspace = (weakest: WorkspaceRole, ok: number): Expected =>
  expectedOf((caller) => {
    if (strangers.includes(caller)) return 404;
    return roles.indexOf(caller) >= roles.indexOf(weakest) ? ok : 403;
  });
/** The same to all. */
const everybody = (status: number): Expected =>
  Object.fromEntries(callers.map((caller) => [caller, status])) as Expected;
/** Of whoever asks, about themselves. */
const aboutOneself = (ok: number): Expected => expectedOf(() => ok);
/** Of the owner's account, which even admins of its workspaces are not told of. */
const ofTheOwner = (ok: number, others = 404): Expected => expectedOf((caller) => (caller === 'owner' ? ok : others));
/** As `expected`, but a management key of the account reads it as well, and an inference key is told what it is not for. */
const orManagementKey = (expected: Expected): Expected => ({
  ...expected,
  'an inference key': 403,
  'a management key': 200,
});

interface Row {
  /** As the description has it. */
  readonly route: string;
  /** Where a route has several rows. */
  readonly what?: string;
  readonly expected: Expected;
  /** Made by the owner for this one call. */
  readonly prepare?: (caller: Caller) => Promise<string>;
  readonly call: (as: HeaderMap, prepared: string) => Promise<Answer>;
  /** It ends the session that it is called with. */
  readonly inFreshSession?: boolean;
}

const model = 'acme/small';
const preferences = {
  provider_allow_fallbacks: true,
  provider_max_attempts: 2,
  provider_minimum_privacy: 'anonymous',
  provider_sort: 'default',
  provider_ignore: [],
};

/** Interface 5: every route that a session opens, called by everybody: the table of answers. */
export const sessionRoutes: Concept = (suite) => {
  const people = peopleOf(suite);
  const { url, signIn, signUp, verifyAddress, makeWorkspace, invite, join, makeKey } = people;

  describe('every route that a session opens', () => {
    const headersOf = new Map<Caller, HeaderMap>();
    const personOf = new Map<Caller, Person>();
    let owner: Person;
    let workspaceId = '';
    let app: AppAnswer;
    let order: OrderAnswer;
    /** Where the owner uses apps. */
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

    const at = (path = ''): string => url(`/workspaces/${workspaceId}${path}`);
    const inIt = (path: string): string => url(`${path}?workspace_id=${workspaceId}`);
    const auth = (path: string): string => url(`/auth/${path}`);
    const put = (path: string, body: unknown, headers: HeaderMap) => send('PUT', path, { headers, body });
    const patch = (path: string, body: unknown, headers: HeaderMap) => send('PATCH', path, { headers, body });
    const remove = (path: string, headers: HeaderMap) => send('DELETE', path, { headers });
    const newKey = (kind: string) => async () => (await makeKey(owner, workspaceId, kind)).id;
    const freshMember = async () => (await join(owner, workspaceId, 'viewer')).accountId;
    const invitation = (role: WorkspaceRole) => ({ email: `${randomUUID()}@people.example`, role });
    /** For nobody who calls here. */
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
    /** A request of an app, in the owner's browser; others come without what that browser has. */
    const appRequest = async (): Promise<string> => {
      const started = await start(await clientOf(suite.service, app));
      const consent = await consentTo(suite.service, { ...owner, browser }, started);
      await consent.read({ ...owner, browser });
      return consent.uid;
    };
    const wrongPassword = { password: 'not it' };

    const rows: readonly Row[] = [
      // Routing.
      {
        route: 'GET /v1/routing/preferences',
        expected: inWorkspace('viewer', 200),
        call: (as) => get(inIt('/routing/preferences'), as),
      },
      {
        route: 'PUT /v1/routing/preferences',
        expected: inWorkspace('admin', 200),
        call: (as) => put(inIt('/routing/preferences'), preferences, as),
      },
      {
        route: 'POST /v1/routing/preview',
        expected: inWorkspace('viewer', 200),
        call: (as) => post(url('/routing/preview'), { model, workspace_id: workspaceId }, as),
      },
      // Money and usage: of whoever asks; of a workspace, a stranger sees what they spent there, which is nothing.
      {
        route: 'GET /v1/balance',
        expected: orManagementKey(aboutOneself(200)),
        call: (as) => get(url('/balance'), as),
      },
      {
        route: 'GET /v1/usage',
        expected: orManagementKey(aboutOneself(200)),
        call: (as) => get(inIt('/usage'), as),
      },
      {
        route: 'GET /v1/usage/daily',
        expected: orManagementKey(aboutOneself(200)),
        call: (as) => get(inIt('/usage/daily'), as),
      },
      {
        route: 'POST /v1/billing/orders',
        expected: aboutOneself(400),
        call: (as) => post(url('/billing/orders'), { package_id: 'none', rail: 'test' }, as),
      },
      { route: 'GET /v1/billing/orders', expected: aboutOneself(200), call: (as) => get(url('/billing/orders'), as) },
      {
        route: 'GET /v1/billing/orders/{orderId}',
        expected: ofTheOwner(200),
        call: (as) => get(url(`/billing/orders/${order.id}`), as),
      },
      {
        route: 'GET /v1/billing/receipts',
        expected: aboutOneself(200),
        call: (as) => get(url('/billing/receipts'), as),
      },
      {
        route: 'GET /v1/billing/receipts/{receiptNumber}',
        expected: ofTheOwner(200),
        call: (as) => get(url(`/billing/receipts/${order.receipt_number}`), as),
      },
      {
        route: 'GET /v1/billing/settings',
        expected: aboutOneself(200),
        call: (as) => get(url('/billing/settings'), as),
      },
      {
        route: 'PUT /v1/billing/settings',
        expected: aboutOneself(200),
        call: (as) => put(url('/billing/settings'), { low_balance_usd: 1, auto_top_up: null }, as),
      },
      // Keys.
      { route: 'GET /v1/keys', expected: inWorkspace('viewer', 200), call: (as) => get(inIt('/keys'), as) },
      ...(['inference', 'management'] as const).flatMap((kind): Row[] => [
        {
          route: 'POST /v1/keys',
          what: kind,
          expected: inWorkspace(kind === 'inference' ? 'member' : 'owner', 201),
          call: (as) => post(url('/keys'), { name: 'x', kind, workspace_id: workspaceId }, as),
        },
        {
          route: 'PATCH /v1/keys/{id}',
          what: `another's, ${kind}`,
          expected: inWorkspace(kind === 'inference' ? 'admin' : 'owner', 200),
          prepare: newKey(kind),
          call: (as, id) => patch(url(`/keys/${id}`), { name: 'y' }, as),
        },
        {
          route: 'DELETE /v1/keys/{id}',
          what: `another's, ${kind}`,
          expected: inWorkspace(kind === 'inference' ? 'admin' : 'owner', 204),
          prepare: newKey(kind),
          call: (as, id) => remove(url(`/keys/${id}`), as),
        },
      ]),
      // Workspaces, members, invitations.
      { route: 'GET /v1/workspaces', expected: aboutOneself(200), call: (as) => get(url('/workspaces'), as) },
      {
        route: 'POST /v1/workspaces',
        expected: aboutOneself(400),
        call: (as) => post(url('/workspaces'), { name: '' }, as),
      },
      {
        route: 'PATCH /v1/workspaces/{id}',
        expected: inWorkspace('admin', 200),
        call: (as) => patch(at(), { name: 'Team' }, as),
      },
      {
        route: 'DELETE /v1/workspaces/{id}',
        expected: inWorkspace('owner', 204),
        prepare: async () => {
          const doomed = await makeWorkspace(owner);
          for (const role of ['viewer', 'member', 'admin'] as const) {
            const person = personOf.get(role);
            if (person === undefined) continue;
            const { token } = await invite(owner, doomed, person.email, role);
            expect((await people.accept(person, token)).status).toBe(200);
          }
          return doomed;
        },
        call: (as, id) => remove(url(`/workspaces/${id}`), as),
      },
      {
        route: 'GET /v1/workspaces/{id}/members',
        expected: inWorkspace('viewer', 200),
        call: (as) => get(at('/members'), as),
      },
      {
        route: 'PATCH /v1/workspaces/{id}/members/{memberId}',
        expected: inWorkspace('admin', 200),
        prepare: freshMember,
        call: (as, id) => patch(at(`/members/${id}`), { role: 'member' }, as),
      },
      {
        route: 'DELETE /v1/workspaces/{id}/members/{memberId}',
        expected: inWorkspace('admin', 204),
        prepare: freshMember,
        call: (as, id) => remove(at(`/members/${id}`), as),
      },
      {
        route: 'GET /v1/workspaces/{id}/invitations',
        expected: inWorkspace('admin', 200),
        call: (as) => get(at('/invitations'), as),
      },
      {
        route: 'POST /v1/workspaces/{id}/invitations',
        expected: inWorkspace('admin', 201),
        call: (as) => post(at('/invitations'), invitation('admin'), as),
      },
      {
        route: 'POST /v1/workspaces/{id}/invitations',
        what: 'of the workspace itself',
        expected: inWorkspace('owner', 201),
        prepare: async () => (await join(owner, workspaceId, 'viewer')).email,
        call: (as, email) => post(at('/invitations'), { email, role: 'owner' }, as),
      },
      {
        route: 'DELETE /v1/workspaces/{id}/invitations/{invitationId}',
        expected: inWorkspace('admin', 204),
        prepare: async () => (await foreignInvitation()).id,
        call: (as, id) => remove(at(`/invitations/${id}`), as),
      },
      ...['read', 'accept', 'decline'].map(
        (verb): Row => ({
          route: `POST /v1/invitations/${verb}`,
          what: "another's",
          expected: aboutOneself(403),
          prepare: async () => (await foreignInvitation()).token,
          call: (as, token) => post(url(`/invitations/${verb}`), { token }, as),
        }),
      ),
      { route: 'GET /v1/invitations', expected: aboutOneself(200), call: (as) => get(url('/invitations'), as) },
      ...['accept', 'decline'].map(
        (verb): Row => ({
          route: `POST /v1/invitations/{id}/${verb}`,
          what: "another's",
          expected: aboutOneself(404),
          prepare: async () => (await foreignInvitation()).id,
          call: (as, id) => post(url(`/invitations/${id}/${verb}`), {}, as),
        }),
      ),
      // Connected apps.
      { route: 'GET /v1/connect/grants', expected: aboutOneself(200), call: (as) => get(url('/connect/grants'), as) },
      {
        route: 'GET /v1/connect/grants',
        what: 'of the workspace',
        expected: inWorkspace('viewer', 200),
        call: (as) => get(inIt('/connect/grants'), as),
      },
      {
        route: 'DELETE /v1/connect/grants/{id}',
        what: "the owner's",
        expected: inWorkspace('admin', 204),
        prepare: grant,
        call: (as, id) => remove(url(`/connect/grants/${id}`), as),
      },
      { route: 'GET /v1/connect/apps', expected: aboutOneself(200), call: (as) => get(url('/connect/apps'), as) },
      {
        route: 'POST /v1/connect/apps',
        expected: aboutOneself(400),
        call: (as) => post(url('/connect/apps'), {}, as),
      },
      {
        route: 'PATCH /v1/connect/apps/{id}',
        expected: ofTheOwner(200),
        call: (as) => patch(url(`/connect/apps/${app.id}`), { name: 'x' }, as),
      },
      {
        route: 'POST /v1/connect/apps/{id}/rotate-secret',
        expected: ofTheOwner(200),
        prepare: async () => (await registerApp()).id,
        call: (as, id) => post(url(`/connect/apps/${id}/rotate-secret`), {}, as),
      },
      {
        route: 'DELETE /v1/connect/apps/{id}',
        expected: ofTheOwner(204),
        prepare: async () => (await registerApp()).id,
        call: (as, id) => remove(url(`/connect/apps/${id}`), as),
      },
      // Even its owner, from a browser where it did not begin.
      {
        route: 'GET /v1/connect/interactions/{uid}',
        expected: aboutOneself(404),
        prepare: appRequest,
        call: (as, uid) => get(url(`/connect/interactions/${uid}`), as),
      },
      {
        route: 'POST /v1/connect/interactions/{uid}',
        expected: aboutOneself(404),
        prepare: appRequest,
        call: (as, uid) => post(url(`/connect/interactions/${uid}`), { decision: 'deny' }, as),
      },
      // Who one is, and how one signs in.
      {
        route: 'GET /v1/auth/get-session',
        // Null without one.
        expected: everybody(200),
        call: (as) => get(auth('get-session'), as),
      },
      {
        route: 'GET /v1/auth/list-sessions',
        expected: aboutOneself(200),
        call: (as) => get(auth('list-sessions'), as),
      },
      {
        route: 'POST /v1/auth/sign-out',
        // There is nothing to refuse to whoever is signed out already.
        expected: everybody(200),
        inFreshSession: true,
        call: (as) => post(auth('sign-out'), {}, as),
      },
      {
        route: 'POST /v1/auth/change-password',
        expected: aboutOneself(400),
        call: (as) => post(auth('change-password'), { currentPassword: 'not it', newPassword: 'long enough' }, as),
      },
      {
        route: 'POST /v1/auth/change-email',
        expected: aboutOneself(400),
        call: (as) => post(auth('change-email'), { newEmail: `${randomUUID()}@new.example`, ...wrongPassword }, as),
      },
      ...['enable', 'generate-backup-codes', 'disable'].map(
        (name): Row => ({
          route: `POST /v1/auth/two-factor/${name}`,
          expected: aboutOneself(400),
          call: (as) => post(auth(`two-factor/${name}`), wrongPassword, as),
        }),
      ),
      {
        route: 'POST /v1/auth/confirm-password',
        expected: aboutOneself(400),
        call: (as) => post(auth('confirm-password'), wrongPassword, as),
      },
      {
        route: 'GET /v1/auth/passkey/review',
        expected: aboutOneself(200),
        call: (as) => get(auth('passkey/review'), as),
      },
      {
        route: 'POST /v1/auth/passkey/reviewed',
        expected: aboutOneself(200),
        call: (as) => post(auth('passkey/reviewed'), {}, as),
      },
      {
        route: 'GET /v1/auth/passkey/generate-register-options',
        // A session alone is not enough: the password is confirmed first.
        expected: aboutOneself(403),
        call: (as) => get(auth('passkey/generate-register-options'), as),
      },
      {
        route: 'POST /v1/auth/passkey/verify-registration',
        // What is no credential is refused before anybody asks whose it is.
        expected: everybody(400),
        call: (as) => post(auth('passkey/verify-registration'), { name: 'x', response: { id: 'x' } }, as),
      },
      {
        route: 'GET /v1/auth/passkey/list-user-passkeys',
        expected: aboutOneself(200),
        call: (as) => get(auth('passkey/list-user-passkeys'), as),
      },
      ...['update-passkey', 'delete-passkey'].map(
        (name): Row => ({
          route: `POST /v1/auth/passkey/${name}`,
          what: "another's",
          // Of the account that nobody here is.
          expected: aboutOneself(404),
          prepare: async () => strangersPasskey(),
          call: (as, id) =>
            post(auth(`passkey/${name}`), { id, ...(name === 'update-passkey' ? { name: 'x' } : {}) }, as),
        }),
      ),
      {
        route: 'GET /v1/auth/list-accounts',
        expected: aboutOneself(200),
        call: (as) => get(auth('list-accounts'), as),
      },
      {
        route: 'POST /v1/auth/update-user',
        expected: aboutOneself(200),
        call: (as) => post(auth('update-user'), { name: 'x' }, as),
      },
      {
        route: 'POST /v1/auth/revoke-session',
        // The same answer whether it was one's own, another's or none; another's goes on.
        expected: aboutOneself(200),
        // Of the session that the owner uses, but for the owner, who would end it.
        prepare: async (caller) => {
          if (caller === 'owner') return 'none';
          const current = (await get(auth('get-session'), owner.session)).json as { session: { id: string } };
          const { json } = await get(auth('list-sessions'), owner.session);
          return (json as { id: string; token: string }[]).find(({ id }) => id === current.session.id)?.token ?? '';
        },
        call: (as, token) => post(auth('revoke-session'), { token }, as),
      },
      {
        route: 'POST /v1/auth/revoke-other-sessions',
        expected: aboutOneself(200),
        call: (as) => post(auth('revoke-other-sessions'), {}, as),
      },
      // The last row, and the owner's call its last.
      {
        route: 'POST /v1/auth/revoke-sessions',
        expected: aboutOneself(200),
        call: (as) => post(auth('revoke-sessions'), {}, as),
      },
    ];

    /** A passkey of somebody else, as the database has it. */
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

    it('has its rows in this table', () => {
      const opened = controlOrigin.routes.flatMap(({ credentials, method, path }) =>
        credentials.includes('session') ? [`${method.toUpperCase()} ${path}`] : [],
      );
      expect(opened.length).toBeGreaterThan(50);
      expect([...new Set(rows.map(({ route }) => route))].sort()).toEqual([...opened].sort());
    });

    const cases = rows.flatMap((row) =>
      callers.map(
        (caller) => [row.what === undefined ? row.route : `${row.route} (${row.what})`, caller, row] as const,
      ),
    );
    it.each(cases)('%s: %s', async (_, caller, { expected, prepare, call, inFreshSession }) => {
      const prepared = (await prepare?.(caller)) ?? '';
      const person = personOf.get(caller);
      const isFresh = inFreshSession === true && person !== undefined;
      const answer = await call(isFresh ? await signIn(person) : (headersOf.get(caller) ?? {}), prepared);
      expect(answer.status, answer.text).toBe(expected[caller]);
      if (answer.status >= 400) {
        expectError(answer, answer.status, (answer.json as { error: { type: string } }).error.type);
      }
      // Whatever others do, the owner stays signed in.
      if (caller !== 'owner') expect((await get(url('/keys'), owner.session)).status).toBe(200);
    });
  });
};
