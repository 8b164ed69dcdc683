import { setTimeout as sleep } from 'node:timers/promises';
import type { Contract } from '@sotto/contract';
import { signInContracts } from '@sotto/contract/control/sign-in';
import { serveRoutes } from '@sotto/server';
import { assertStorable, maxAuthBytes } from '@sotto/wire';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { requireSession, type SessionDependencies } from '../credentials/session-credentials.ts';
import { readParams } from '../serve/read-params.ts';
import { atOnce } from '../sessions/at-once.ts';
import type { Auth } from '../sessions/auth.ts';
import { notingFailures } from '../sessions/noted-failures.ts';
import { assertOwnAddress, foreignOrigin, isFromOurPages } from '../sessions/same-origin.ts';
import { authRequest, type PassedRequest, sendAuthAnswer, type ToEnvelope } from './auth-exchange.ts';

export interface ServeAuthOptions {
  readonly auth: Pick<Auth, 'handler' | 'methods' | 'revocation' | 'passkeyReview'>;
  readonly sessions: SessionDependencies;
  /** The public control origin, without `/v1`. */
  readonly origin: string;
  /** The origins whose pages may call with cookies. */
  readonly allowedOrigins: readonly string[];
  readonly toEnvelope: ToEnvelope;
  /**
   * Called for every answer of 500 or above and every error with a failure behind it, such as 401 because no session could be read.
   * Throws a better error if it knows one.
   */
  readonly onFailed?: (error: unknown) => Promise<void>;
  /** Called for a request that better-auth answers with 401. Throws a better error if it knows the cause. */
  readonly onUnauthenticated?: (request: FastifyRequest, route: Contract) => Promise<void>;
  /** Called before better-auth, with the route and the body's fields. Throws to refuse the request. */
  readonly admit?: (request: FastifyRequest, route: Contract, body: object) => Promise<void>;
}

/** How a route differs from the others. */
interface Passing {
  /**
   * Minimum time of an answer. The work behind the route takes a different time for addresses with and without an account. The minimum
   * is well above that time, so that timing does not reveal an account.
   */
  readonly minimumMs?: number;
  /** Whether to ask a second time, after this answer. */
  readonly asksAgain?: (first: Response) => boolean;
  /** better-auth reads the query. */
  readonly takesQuery?: true;
}

/**
 * Serves the routes of sign-in by their contracts. No other endpoint of better-auth exists. It gets a request of our making: the route's path, the fields
 * of the contract, a few headers. Success bodies are its own; `toEnvelope` builds error bodies.
 *
 * The answers of passed routes come from `auth.handler`. Calls of `auth.api` would skip the origin check and the `onRequest` and `onResponse` of plugins.
 */
export function serveAuth(app: FastifyInstance, options: ServeAuthOptions): void {
  const { auth, sessions } = options;
  const ask = asking(options);
  const pass =
    (how: Passing = {}) =>
    ({ body, request, reply }: PassedRequest & { readonly reply: FastifyReply }): Promise<FastifyReply> =>
      ask({ body, request }, reply, how);
  const passed = pass();
  const plane = {
    callerReader: () => async (request: FastifyRequest) => {
      if (!isFromOurPages(request, options.allowedOrigins)) throw foreignOrigin();
    },
    readParams,
    assertKeepable: assertStorable,
    optionsOf: () => ({ bodyLimit: maxAuthBytes }),
  };
  serveRoutes(app, plane)(signInContracts)({
    // Of two simultaneous sign-ups with one address, the second finds it taken. Asked again, better-auth answers like any sign-up with a
    // known address. Otherwise two simultaneous requests would reveal whether an address is new.
    'POST /v1/auth/sign-up/email': pass({ minimumMs: 400, asksAgain: ({ status }) => status === 422 }),
    'POST /v1/auth/sign-in/email': passed,
    'POST /v1/auth/sign-out': passed,
    'GET /v1/auth/get-session': passed,
    'GET /v1/auth/list-sessions': passed,
    'POST /v1/auth/revoke-session': async ({ body: { token }, request }) => {
      const { userId } = await requireSession(sessions, request);
      await auth.revocation.endOne(userId, token);
      return { status: true };
    },
    'POST /v1/auth/revoke-other-sessions': async ({ request }) => {
      await auth.revocation.endOthers(await requireSession(sessions, request));
      return { status: true };
    },
    'POST /v1/auth/revoke-sessions': passed,
    'POST /v1/auth/change-password': passed,
    'GET /v1/auth/methods': () => auth.methods(),
    'POST /v1/auth/send-verification-email': passed,
    'POST /v1/auth/verify-email': passed,
    'POST /v1/auth/change-email': pass({ minimumMs: 250 }),
    'POST /v1/auth/request-password-reset': pass({ minimumMs: 250 }),
    'POST /v1/auth/reset-password': passed,
    'POST /v1/auth/two-factor/enable': passed,
    'POST /v1/auth/two-factor/verify-totp': passed,
    'POST /v1/auth/two-factor/verify-backup-code': passed,
    'POST /v1/auth/two-factor/generate-backup-codes': passed,
    'POST /v1/auth/two-factor/disable': passed,
    'POST /v1/auth/confirm-password': passed,
    'GET /v1/auth/passkey/generate-register-options': passed,
    'POST /v1/auth/passkey/verify-registration': passed,
    'GET /v1/auth/passkey/generate-authenticate-options': passed,
    'POST /v1/auth/passkey/verify-authentication': passed,
    'GET /v1/auth/passkey/list-user-passkeys': passed,
    'POST /v1/auth/passkey/update-passkey': passed,
    'POST /v1/auth/passkey/delete-passkey': passed,
    'GET /v1/auth/passkey/review': async ({ request }) => {
      const { userId } = await requireSession(sessions, request);
      return { resetAt: (await auth.passkeyReview.resetAt(userId))?.toISOString() ?? null };
    },
    'POST /v1/auth/passkey/reviewed': async ({ request }) => {
      const { userId } = await requireSession(sessions, request);
      await auth.passkeyReview.end(userId);
      return { status: true };
    },
    'POST /v1/auth/sign-in/social': async (call) => {
      const { callbackURL, errorCallbackURL } = call.body;
      for (const [param, address] of Object.entries({ callbackURL, errorCallbackURL }))
        assertOwnAddress({ param, address }, options);
      return passed(call);
    },
    'GET /v1/auth/callback/{id}': pass({ takesQuery: true }),
    'GET /v1/auth/list-accounts': passed,
    'POST /v1/auth/delete-account': passed,
    'POST /v1/auth/update-user': passed,
  });
}

/** Returns the function that asks better-auth and sends its answer. */
function asking(options: ServeAuthOptions) {
  const { auth, toEnvelope, onFailed, onUnauthenticated, admit } = options;
  const inTurn = atOnce(hashesAtOnce);
  return async (passed: PassedRequest, reply: FastifyReply, how: Passing): Promise<FastifyReply> => {
    const startedAt = performance.now();
    const { request, body = {} } = passed;
    const contract = contractOf(request);
    if (how.takesQuery === true) assertStorable(request.query, 'The query');
    await admit?.(request, contract, body);
    let failure: unknown;
    const ask = async (): Promise<Response> => {
      const asked = await notingFailures(() =>
        auth
          .handler(authRequest(passed, { ...options, takesQuery: how.takesQuery === true }))
          .catch((error: unknown) => {
            // The message may contain SQL parameters, and so an email address. Log only the name.
            request.log.error({ error: error instanceof Error ? error.name : typeof error }, 'auth_failed');
            failure = error;
            return new Response(null, { status: 500 });
          }),
      );
      failure = asked.failure ?? failure;
      return asked.result;
    };
    const answer = async (): Promise<Response> => {
      const first = await ask();
      return how.asksAgain?.(first) === true ? ask() : first;
    };
    const response = await (contract.limits === undefined ? answer() : inTurn(answer));
    const leftMs = (how.minimumMs ?? 0) - (performance.now() - startedAt);
    if (leftMs > 0) await sleep(leftMs);
    if (response.status >= 500 || (response.status >= 400 && failure !== undefined)) await onFailed?.(failure);
    if (response.status === 401) await onUnauthenticated?.(request, contract);
    return sendAuthAnswer(response, { request, reply, toEnvelope });
  };
}

const contractsByUrl = new Map(
  Object.entries<Contract>(signInContracts).map(([key, contract]) => [
    key.replace(/^\w+ /, '').replace(/\{(\w+)\}/g, ':$1'),
    contract,
  ]),
);

function contractOf({ routeOptions: { url = '' } }: FastifyRequest): Contract {
  const contract = contractsByUrl.get(url);
  if (contract === undefined) throw new Error(`${url} has no contract`);
  return contract;
}

/**
 * Most of these requests hash a password, which keeps a core busy for a tenth of a second, and a sign-up holds a database connection
 * meanwhile. More at once would only wait for a connection until they fail.
 */
const hashesAtOnce = { running: 16, waiting: 128 } as const;
