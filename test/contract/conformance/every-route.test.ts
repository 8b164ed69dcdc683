import { randomBytes } from 'node:crypto';
import type { RouteDescription } from '@sotto/contract';
import { confidentialOrigin } from '@sotto/contract/confidential';
import { controlOrigin } from '@sotto/contract/control';
import type { AppAnswer } from '@sotto/contract/control/connect';
import { balanceAnswerSchema } from '@sotto/contract/control/usage';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Answer } from '../../kit/answer.ts';
import { Browser } from '../../kit/browser.ts';
import { bearer, ticketHeader } from '../../kit/client.ts';
import { type Concept, describeConformance } from '../../kit/conformance.ts';
import { connect, newApp, type Person as Visitor } from '../../kit/connected-apps.ts';
import { type Person, peopleOf } from '../../kit/people.ts';
import { get, type HeaderMap, post, send } from '../../kit/send.ts';
import { until } from '../../kit/service.ts';
import { everyTopology } from '../../kit/topologies.ts';
import { makeIssuer } from '../../kit/wallets.ts';

const issuer = await makeIssuer();
afterAll(() => issuer.stop());

const scimToken = randomBytes(24).toString('base64url');

type Credential = RouteDescription['credentials'][number];

/** Every caller, with the kind of credential that it validly holds. Callers with a bad credential have undefined. */
const callers = {
  nobody: undefined,
  'an inference key': 'inferenceKey',
  'a management key': 'managementKey',
  'an app with every scope': 'accessToken',
  'a session': 'session',
  'an operator': 'operator',
  'an operator without a fresh second factor': 'operator',
  'a ticket': 'ticket',
  'an attestation ticket': 'attestationTicket',
  'the identity provider': 'scimToken',
  'a made-up inference key': undefined,
  'a made-up management key': undefined,
  'a revoked inference key': undefined,
  'a revoked management key': undefined,
  'a key of a workspace that is gone': undefined,
  'an app that was disconnected': undefined,
  'an access token as a ticket': undefined,
  'a session that ended': undefined,
  'a used ticket': undefined,
  'an inference key in the query': undefined,
  'an inference key as Basic': undefined,
} as const satisfies Readonly<Record<string, Credential | undefined>>;
type Caller = keyof typeof callers;
const everyCaller = Object.keys(callers) as Caller[];

const uuid = '00000000-0000-4000-8000-000000000000';
const idOf = (path: string): string => path.replace(/\{\w+\}/g, uuid);
const nameOf = ({ method, path }: RouteDescription): string => `${method.toUpperCase()} ${path}`;

/** Routes that end the session which calls them. */
const endsSessions: ReadonlySet<string> = new Set(
  ['sign-out', 'revoke-session', 'revoke-other-sessions', 'revoke-sessions'].map((name) => `POST /v1/auth/${name}`),
);

/** The status that these routes return to a caller without a valid credential; other routes return 401 or 403. */
const toStrangers: Readonly<Record<string, number>> = {
  // Signing out without a session succeeds, and "no session" is a valid answer of get-session.
  'POST /v1/auth/sign-out': 200,
  'GET /v1/auth/get-session': 200,
  // The route rejects a malformed passkey before it checks the session.
  'POST /v1/auth/passkey/verify-registration': 400,
};

/** The status that these routes return to a session that has only its cookie. */
const toSessions: Readonly<Record<string, number>> = {
  // The route requires the password to be confirmed first.
  'GET /v1/auth/passkey/generate-register-options': 403,
};

/**
 * Bodies that pass validation, so that an authorized caller is served. Other routes get `{}`; their 400 shows access,
 * too.
 */
const bodies: Readonly<Record<string, object>> = {
  'POST /v1/chat/completions': { model: 'acme/small', messages: [{ role: 'user', content: 'hi' }] },
  'POST /v1/embeddings': { model: 'acme/embed', input: 'hi' },
  'POST /v1/inference/tickets': { model: 'acme/small' },
  'POST /v1/inference/attestation-tickets': { model: 'acme/wide' },
  'POST /v1/images/generations': { model: 'beta/paint', prompt: 'a sea' },
  'POST /v1/audio/speech': { model: 'beta/voice', input: 'hi' },
  'POST /v1/tee/attestation': { nonce: 'a'.repeat(64) },
  ...Object.fromEntries(
    Object.entries({
      'revoke-session': { token: 'x' },
      'change-password': { currentPassword: 'not it', newPassword: 'long enough' },
      'change-email': { newEmail: 'a@b.example', password: 'not it' },
      'delete-account': { email: 'a@b.example', password: 'not it' },
      'two-factor/enable': { password: 'not it' },
      'two-factor/generate-backup-codes': { password: 'not it' },
      'two-factor/disable': { password: 'not it' },
      'confirm-password': { password: 'not it' },
      'passkey/update-passkey': { id: uuid, name: 'x' },
      'passkey/delete-passkey': { id: uuid },
      'update-user': { name: 'x' },
    }).map(([name, body]) => [`POST /v1/auth/${name}`, body]),
  ),
};

/** Operators must have shown a second factor to change one. */
const changesFactors: ReadonlySet<string> = new Set(
  ['enable', 'generate-backup-codes', 'disable'].map((name) => `POST /v1/auth/two-factor/${name}`),
);

/** Calls every route of both origins with every kind of credential, valid and invalid. */
const everyRoute: Concept = (suite) => {
  const people = peopleOf(suite);
  const { url, signUp, signIn, verifyAddress, makeWorkspace, makeKey } = people;
  const headersOf = new Map<Caller, HeaderMap>();
  let person: Person;
  let operators: readonly Person[] = [];

  beforeAll(async () => {
    person = await signUp();
    await verifyAddress(person);
    operators = [await signUp(), await signUp()];
    for (const operator of operators) await people.makeOperator(operator);
    const workspaceId = await makeWorkspace(person);
    const remove = async (path: string): Promise<void> => {
      const { status } = await send('DELETE', url(path), { headers: person.session });
      expect(status).toBe(204);
    };
    const [inference, management] = [
      await makeKey(person, workspaceId),
      await makeKey(person, workspaceId, 'management'),
    ];
    const [endedInference, endedManagement] = [
      await makeKey(person, workspaceId),
      await makeKey(person, workspaceId, 'management'),
    ];
    const doomed = await makeWorkspace(person);
    const orphan = await makeKey(person, doomed);
    const token = await tokenOf(await registerApp());
    const before = await grants();
    const endedToken = await tokenOf(await registerApp());
    for (const id of await grants()) if (!before.includes(id)) await remove(`/connect/grants/${id}`);
    await remove(`/keys/${endedInference.id}`);
    await remove(`/keys/${endedManagement.id}`);
    await remove(`/workspaces/${doomed}`);
    const signedOut = await signIn(person);
    expect((await post(url('/auth/sign-out'), {}, signedOut)).status).toBe(200);
    await people.fund(person);
    const used = await ticket(inference.key);
    await until(async () => {
      const { status } = await post(
        `${suite.service.baseUrl}/chat/completions`,
        bodies['POST /v1/chat/completions'],
        used,
      );
      return status === 401;
    }, 'the ticket is used');
    const madeUp = (kind: string): string => `sotto_${kind}_${randomBytes(36).toString('base64url')}`;
    const known: Partial<Record<Caller, HeaderMap>> = {
      nobody: {},
      'an inference key': bearer(inference.key),
      'a management key': bearer(management.key),
      'an app with every scope': bearer(token),
      'a made-up inference key': bearer(madeUp('inf')),
      'a made-up management key': bearer(madeUp('mgt')),
      'a revoked inference key': bearer(endedInference.key),
      'a revoked management key': bearer(endedManagement.key),
      'a key of a workspace that is gone': bearer(orphan.key),
      'an app that was disconnected': bearer(endedToken),
      'an access token as a ticket': ticketHeader(token),
      'the identity provider': bearer(scimToken),
      'a session that ended': signedOut,
      'a used ticket': used,
      'an inference key in the query': {},
      'a session': await signIn(person),
      'an inference key as Basic': { authorization: `Basic ${Buffer.from(`${inference.key}:`).toString('base64')}` },
    };
    for (const [caller, headers] of Object.entries(known)) headersOf.set(caller as Caller, headers);
    await signOperatorsIn();
    keyInQuery = inference.key;
    // Both planes must know that the key is revoked.
    await until(async () => {
      const asked = ['a revoked inference key', 'a key of a workspace that is gone'] as const;
      const answers = await Promise.all(
        asked.map((caller) => get(`${suite.service.baseUrl}/models`, headersOf.get(caller) ?? {})),
      );
      return answers.every(({ status }) => status === 401);
    }, 'the broker knows what was revoked');
  });

  /** Gives both operators a session. They are different users, because some routes end all sessions of a user. */
  const signOperatorsIn = async (): Promise<void> => {
    for (const [index, caller] of (['an operator', 'an operator without a fresh second factor'] as const).entries()) {
      const operator = operators[index];
      if (operator === undefined) throw new Error('an operator is missing');
      headersOf.set(caller, await signIn(operator));
      if (caller === 'an operator') {
        await suite.service.pool.query(
          `update auth_session set factor_at = now() where user_id in (select id from auth_user where email = $1)`,
          [operator.email],
        );
      }
    }
  };
  let keyInQuery = '';
  const grants = async (): Promise<string[]> => {
    const { json } = await get(url('/connect/grants'), person.session);
    return (json as { data: { id: string }[] }).data.map(({ id }) => id);
  };
  const ticket = async (key: string, kind: 'ticket' | 'attestationTicket' = 'ticket'): Promise<HeaderMap> => {
    const [path, model] = kind === 'ticket' ? ['tickets', 'acme/small'] : ['attestation-tickets', 'acme/wide'];
    const { json } = await post(url(`/inference/${path}`), { model }, bearer(key));
    return ticketHeader((json as { ticket: string }).ticket);
  };
  const visitor = async (): Promise<Visitor> => {
    const browser = new Browser();
    const { email, password } = person;
    expect((await browser.ask('POST', url('/auth/sign-in/email'), { body: { email, password } })).status).toBe(200);
    return { ...person, browser };
  };
  const registerApp = async (): Promise<AppAnswer> => newApp(suite.service, await visitor());
  const tokenOf = async (app: AppAnswer): Promise<string> =>
    (await connect(suite.service, await visitor(), app)).accessToken;

  /** Returns the headers of a caller. A credential that the call uses up is created for that call. */
  const showing = async (caller: Caller, name: string): Promise<HeaderMap> => {
    const kind = callers[caller];
    if (kind === 'ticket' || kind === 'attestationTicket') return ticket(keyInQuery, kind);
    if (kind === 'session' && endsSessions.has(name)) headersOf.set(caller, await signIn(person));
    const headers = headersOf.get(caller);
    if (headers === undefined) throw new Error(`nobody is ${caller}`);
    return headers;
  };

  const callRoute = async (
    origin: string,
    route: RouteDescription,
    { caller, headers }: { readonly caller: Caller; readonly headers: HeaderMap },
  ): Promise<Answer> => {
    const query = caller === 'an inference key in the query' ? `?key=${keyInQuery}&authorization=${keyInQuery}` : '';
    const body = route.method === 'get' || route.method === 'delete' ? undefined : (bodies[nameOf(route)] ?? {});
    return send(route.method.toUpperCase(), `${origin}${idOf(route.path)}${query}`, { headers, body });
  };

  const brokerOrigin = (): string => new URL(suite.service.baseUrl).origin;
  describe.each([
    ['the control plane', controlOrigin, () => new URL(suite.service.controlUrl).origin],
    ['the broker', confidentialOrigin, brokerOrigin],
  ] as const)('every route of %s', (_, { routes }, origin) => {
    it.each(routes.map((route) => [nameOf(route), route] as const))('%s', async (name, route) => {
      const open =
        route.credentials.length === 0
          ? await callRoute(origin(), route, { caller: 'nobody', headers: {} })
          : undefined;
      if (endsSessions.has(name)) await signOperatorsIn();
      const asked = everyCaller.map(async (caller): Promise<string | undefined> => {
        const headers = await showing(caller, name);
        const { status, text, headers: said } = await callRoute(origin(), route, { caller, headers });
        const kind = callers[caller];
        // An operator's credential is a session.
        const opens = route.credentials.some((each) => each === kind || (each === 'session' && kind === 'operator'));
        const isForOperators = route.credentials.includes('operator');
        const expected = (): boolean => {
          if (open !== undefined) return status === open.status;
          // Sessions of others must not learn who is an operator.
          if (isForOperators && caller === 'a session') return status === 404;
          const isStale = caller === 'an operator without a fresh second factor';
          if (isStale && ((isForOperators && route.method !== 'get') || changesFactors.has(name)))
            return status === 403;
          if (opens && toSessions[name] !== undefined) return status === toSessions[name];
          if (opens) return ![401, 403, 500].includes(status);
          // GET /v1/models on the broker is hidden: a request without a bearer gets 404.
          const hasBearer = headers.authorization?.startsWith('Bearer ') === true;
          const isHidden = origin() === brokerOrigin() && name === 'GET /v1/models' && !hasBearer;
          if (isHidden) return status === 404;
          // A strict query schema may reject the extra parameters with 400.
          if (caller === 'an inference key in the query' && status === 400) return true;
          return toStrangers[name] === undefined ? status === 401 || status === 403 : status === toStrangers[name];
        };
        // An answer for one caller must not be cached.
        const isKept = route.credentials.length > 0 && said.get('cache-control') !== 'no-store';
        if (isKept) return `${caller}: ${status}, but cache-control is ${said.get('cache-control')}`;
        return expected() ? undefined : `${caller}: ${status} ${text.slice(0, 200)}`;
      });
      const wrong = (await Promise.all(asked)).filter((each) => each !== undefined);
      if (endsSessions.has(name)) {
        headersOf.set('a session', await signIn(person));
        await signOperatorsIn();
      }
      expect(wrong).toEqual([]);
    });
  });

  it('no route fails where a request promises JSON and sends no body', async () => {
    const writes = controlOrigin.routes.filter(({ method }) => method !== 'get');
    const failed: string[] = [];
    for (const route of writes) {
      const name = nameOf(route);
      const address = `${new URL(suite.service.controlUrl).origin}${idOf(route.path)}`;
      for (const caller of ['nobody', 'a session'] as const) {
        const headers = { ...(await showing(caller, name)), 'content-type': 'application/json' };
        const { status } = await send(route.method.toUpperCase(), address, { headers });
        if (status === 500) failed.push(`${name} by ${caller}: ${status}`);
      }
    }
    headersOf.set('a session', await signIn(person));
    expect(failed).toEqual([]);
  });

  describe('pages of other origins', () => {
    const page = 'https://page.example';
    const asked = async (route: RouteDescription, method: string): Promise<Headers> => {
      const address = `${new URL(suite.service.controlUrl).origin}${idOf(route.path)}`;
      const headers = { origin: page, 'access-control-request-method': route.method.toUpperCase() };
      return (await send(method, address, { headers })).headers;
    };

    it('are let to nothing that a session opens, and to nothing with a cookie', async () => {
      const bySession = controlOrigin.routes.filter(
        ({ credentials }) => credentials.includes('session') || credentials.includes('operator'),
      );
      expect(bySession.length).toBeGreaterThan(50);
      for (const route of controlOrigin.routes) {
        for (const method of ['OPTIONS', route.method.toUpperCase()]) {
          const headers = await asked(route, method);
          expect(headers.has('access-control-allow-credentials'), `${method} ${route.path}`).toBe(false);
          if (bySession.includes(route)) {
            expect(headers.has('access-control-allow-origin'), `${method} ${route.path}`).toBe(false);
          }
        }
      }
    });
  });

  describe('what a key reads', () => {
    it('is its own account and nothing of another', async () => {
      const [one, other] = [suite.spareAccount(), suite.spareAccount()];
      const body = { model: 'acme/small', messages: [{ role: 'user', content: 'hi' }] };
      for (const { inferenceKey } of [one, one, other]) {
        const answer = await post(`${suite.service.baseUrl}/chat/completions`, body, bearer(inferenceKey));
        expect(answer.status, answer.text).toBe(200);
      }
      const rows = async (by: string, query = ''): Promise<UsageRow[]> => {
        const answer = await get(url(`/usage${query}`), bearer(by));
        return answer.status === 200 ? (answer.json as { data: UsageRow[] }).data : [];
      };
      await until(async () => (await rows(one.managementKey)).length === 2, 'it is booked');
      await until(async () => (await rows(other.managementKey)).length === 1, 'it is booked');
      const [own] = await rows(one.managementKey);
      for (const query of [`?workspace_id=${one.workspaceId}`, `?key_id=${own?.key_id}`]) {
        expect(await rows(one.managementKey, query), query).toHaveLength(2);
        expect(await rows(other.managementKey, query), query).toEqual([]);
        const daily = await get(url(`/usage/daily${query}`), bearer(other.managementKey));
        if (daily.status === 200) expect((daily.json as { data: unknown[] }).data, query).toEqual([]);
      }
      const availableTo = async ({ managementKey }: { managementKey: string }): Promise<number> =>
        balanceAnswerSchema.parse((await get(url('/balance'), bearer(managementKey))).json).available;
      expect(await availableTo(one)).toBeLessThan(await availableTo(other));
    });
  });
};

interface UsageRow {
  readonly key_id: string;
}

await describeConformance('every route', [everyRoute], {
  accounts: 2,
  features: ['connected apps', 'test payments', 'images', 'speech'],
  environment: {
    ...issuer.environment,
    // It does not run.
    ...{
      OIDC_ISSUER: 'http://127.0.0.1:1',
      OIDC_CLIENT_ID: 'sotto',
      OIDC_CLIENT_SECRET: 'x',
      OIDC_NAME: 'Example Inc',
    },
    SCIM_TOKEN: scimToken,
  },
  planes: everyTopology,
});
