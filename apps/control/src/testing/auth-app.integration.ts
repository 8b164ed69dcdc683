import { errorEnvelope, ServiceError } from '@sotto/wire';
import fastify, { type FastifyInstance, type LightMyRequestResponse } from 'fastify';
import { afterAll, beforeEach, vi } from 'vitest';
import { buildAuth } from '../sessions/auth.ts';
import type { SignedUpUser } from '../sessions/auth-database.ts';
import { assertSameOrigin } from '../sessions/same-origin.ts';
import { readSession } from '../sessions/session-reader.ts';
import type { ToEnvelope } from '../sign-in/auth-exchange.ts';
import { serveAuth } from '../sign-in/serve-auth.ts';
import { openTestDatabase } from './test-database.integration.ts';

export const origin = 'http://127.0.0.1:4000';
export const dashboard = 'https://dashboard.example';
export const password = 'correct horse battery';

const types: Record<number, string> = { 401: 'unauthenticated', 403: 'forbidden', 404: 'not_found', 413: 'too_large' };
const toEnvelope: ToEnvelope = (status, code, message, requestId) => {
  const type = types[status] ?? (status < 500 ? 'invalid_request' : 'internal_error');
  return { status, body: { error: { message: message ?? type, type, code, request_id: requestId } } };
};

/**
 * The sign-in part of the control plane, for one test file: better-auth's routes, and `/v1/whoami`, which requires a
 * session. It has its own database, which is emptied before each test.
 */
export async function authApp() {
  const database = await openTestDatabase();
  const logLines: string[] = [];
  const onSignUp = vi.fn<(user: SignedUpUser) => Promise<void>>();

  const authFor = (publicOrigin: string) =>
    buildAuth({
      db: database.db,
      secrets: ['a secret for tests, forty characters long'],
      origin: publicOrigin,
      trustedOrigins: [dashboard],
      maxPasskeys: 20,
      onSignUp,
      onIdentityChanged: async () => {},
      onClaimed: async () => {},
      onPasswordSet: async () => {},
      changeAddress: async () => true,
      deleteAccount: async () => undefined,
      mailer: undefined,
      onMailFailed: () => {},
      hasPasswords: true,
      openid: undefined,
      onOpenidSignIn: async () => {},
      signUp: {
        mode: 'open',
        admits: async () => true,
        allowsAddress: async () => true,
      },
      now: Date.now,
    });

  const buildApp = async (publicOrigin: string): Promise<FastifyInstance> => {
    const auth = authFor(publicOrigin);
    const instance = fastify({ logger: { level: 'trace', stream: { write: (line: string) => logLines.push(line) } } });
    // Bodies must arrive as bytes, as they do in our own servers.
    instance.removeAllContentTypeParsers();
    instance.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) =>
      done(null, body),
    );
    instance.setErrorHandler((error, request, reply) => {
      if (!(error instanceof ServiceError)) throw error;
      reply.code(error.status).send(errorEnvelope(error, request.id));
    });
    const allowedOrigins = [publicOrigin, dashboard];
    const sessions = { auth, pool: database.pool, allowedOrigins, onAccountCreated: async () => {}, now: Date.now };
    serveAuth(instance, { auth, sessions, origin: publicOrigin, allowedOrigins, toEnvelope });
    instance.route({
      method: ['GET', 'POST'],
      url: '/v1/whoami',
      handler: async (request, reply) => {
        const verdict = assertSameOrigin(request, [publicOrigin, dashboard]);
        if (!verdict.ok) return reply.code(403).send(verdict);
        return (await readSession(auth, request.headers)) ?? reply.code(401).send({});
      },
    });
    return instance;
  };

  const app = await buildApp(origin);
  afterAll(() => app.close());

  beforeEach(async () => {
    onSignUp.mockReset().mockResolvedValue();
    logLines.length = 0;
    await database.pool.query('delete from auth_user; delete from auth_verification');
  });

  const inject: FastifyInstance['inject'] = ((request: never) => app.inject(request)) as never;
  const query = (sql: string) => database.pool.query(sql);
  const post = (path: string, payload: object, headers: Record<string, string> = {}) =>
    app.inject({ method: 'POST', url: `/v1/auth${path}`, payload, headers });
  const get = (url: string, cookie?: string) => app.inject({ url, headers: cookie === undefined ? {} : { cookie } });
  const signUp = (email = 'ada@example.com') => post('/sign-up/email', { email, password, name: 'Ada' });
  const signIn = (headers: Record<string, string> = {}) =>
    post('/sign-in/email', { email: 'ada@example.com', password }, headers);
  const signedIn = async (): Promise<string> => {
    await signUp();
    return sessionCookieOf(await signIn());
  };
  return { authFor, buildApp, inject, query, post, get, signUp, signIn, signedIn, logLines, onSignUp };
}

export const setCookies = (response: LightMyRequestResponse): string[] => [response.headers['set-cookie'] ?? []].flat();
export const sessionCookieOf = (response: LightMyRequestResponse): string => {
  const line = setCookies(response).find((cookie) => cookie.includes('session_token='));
  if (line === undefined) throw new Error(`no session cookie in ${response.statusCode} ${response.body}`);
  return line.split(';', 1)[0] ?? '';
};
/** Returns the token inside a cookie, which is the part before the signature. */
export const tokenOf = (cookie: string): string => decodeURIComponent(cookie.split('=')[1] ?? '').split('.')[0] ?? '';
