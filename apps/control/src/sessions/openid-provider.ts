import { setTimeout as sleep } from 'node:timers/promises';
import type { AuthContext, BetterAuthPlugin } from 'better-auth';
import { APIError } from 'better-auth/api';
import { genericOAuth } from 'better-auth/plugins/generic-oauth';
import { type LogoutToken, type NotVerified, readLogoutToken } from './openid-logout.ts';

/** The operator's own OpenID provider. */
export interface OpenidSettings {
  /** Exactly as the provider's discovery document states it. */
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Name on the sign-in page: "Continue with …". */
  readonly name: string;
  /** Asked for beside `openid`, `email` and `profile`. */
  readonly scopes: readonly string[];
  /** The claim of ID tokens that lists the groups of a person. */
  readonly groupsClaim: string;
}

/** The provider's id in a sign-in: `POST /v1/auth/sign-in/social {"provider": "openid"}`. */
const openidProviderId = 'openid';

type Provider = AuthContext['socialProviders'][number];

const answerMs = 10_000;

/**
 * Sign-in with the operator's OpenID provider: code flow with PKCE, state and nonce, and ID tokens verified by the
 * provider's keys. better-auth fetches the discovery document once, when it starts. If that fails, the provider is
 * missing until the process ends. This plugin fetches it at the first sign-in and retries at the next ones. No other
 * session waits for the provider's server.
 */
export function openidProvider({ issuer, clientId, clientSecret, name, scopes }: OpenidSettings, now: () => number) {
  let found: Promise<Provider> | undefined;
  let ready = (): Promise<Provider> => Promise.reject(unavailable());

  const discover = async (context: AuthContext): Promise<Provider> => {
    const { init } = genericOAuth({
      config: [
        {
          providerId: openidProviderId,
          name,
          discoveryUrl: `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`,
          clientId,
          clientSecret,
          scopes: ['openid', 'email', 'profile', ...scopes],
          pkce: true,
          requireIdTokenVerification: true,
        },
      ],
    });
    const initialized = await inTime(init({ ...context, socialProviders: [] }));
    const provider = initialized.context.socialProviders[0];
    // The document must be the issuer's own (OpenID Connect Discovery, 4.3).
    if (provider?.issuer !== issuer) throw unavailable();
    return provider;
  };
  const unavailable = () =>
    new APIError('SERVICE_UNAVAILABLE', { code: 'OPENID_UNAVAILABLE', message: `${name} cannot be reached now` });
  /** Rejects after 10 s: the provider's server, or a proxy before it, may take any time to answer. */
  const inTime = async <T>(answer: Promise<T>): Promise<T> => {
    const done = new AbortController();
    const timeout = sleep(answerMs, undefined, { ref: false, signal: done.signal }).then(() => {
      throw unavailable();
    });
    timeout.catch(() => {});
    try {
      return await Promise.race([answer, timeout]);
    } finally {
      done.abort();
    }
  };

  const plugin = {
    id: 'sotto-openid',
    init(context) {
      ready = (): Promise<Provider> => {
        found ??= discover(context).catch((error: unknown) => {
          found = undefined;
          throw error;
        });
        return found;
      };
      const provider: Provider = {
        id: openidProviderId,
        name,
        issuer,
        requiresIdTokenNonce: true,
        accountSubject: async (answer) => (await ready()).accountSubject(answer),
        createAuthorizationURL: async (request) => (await ready()).createAuthorizationURL(request),
        validateAuthorizationCode: async (request) => inTime((await ready()).validateAuthorizationCode(request)),
        // Only an ID token states who the user is and which client it is for.
        getUserInfo: async (tokens) =>
          tokens.idToken === undefined ? null : inTime((await ready()).getUserInfo(tokens)),
      };
      return { context: { socialProviders: [provider] } };
    },
  } satisfies BetterAuthPlugin;

  /** Verifies a logout token of the provider. Throws `OPENID_UNAVAILABLE` if its keys cannot be read now. */
  const verifyLogout = async (token: string): Promise<LogoutToken | NotVerified> => {
    const { idToken } = await ready();
    if (idToken === undefined || !('jwks' in idToken)) throw unavailable();
    return inTime(readLogoutToken(token, { ...idToken, issuer, now: new Date(now()) }));
  };
  return { plugin, verifyLogout };
}

/** Refuses a user whose email address the OpenID provider has not verified. */
export const refuseUnverified = ({
  user,
  source,
}: {
  readonly user: { readonly emailVerified?: boolean | undefined };
  readonly source: { readonly method: string };
}): { error: string } | undefined =>
  source.method === 'oauth' && user.emailVerified !== true ? { error: 'email_not_verified' } : undefined;
