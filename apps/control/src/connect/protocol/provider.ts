import type { IncomingMessage, ServerResponse } from 'node:http';
import { appScopes } from '@sotto/wire';
import type { Configuration, KoaContextWithOIDC, Provider } from 'oidc-provider';
import type pg from 'pg';
import { isDatabaseUnavailable } from '../../database/database.ts';
import { needsSecureCookies } from '../../sessions/cookies.ts';
import { isSecretOf } from '../apps/app-clients.ts';
import { endGrant } from '../grants/end-grants.ts';
import { findPerson, subjectOf } from '../grants/people.ts';
import { requestCookieName, requestCookiePath } from '../interactions/request-cookie.ts';
import { type AdapterDependencies, artifactAdapters } from './adapters.ts';
import type { ProtocolKeys } from './key-store.ts';
import { errorPage, loggedOutPage, logoutPage, protocolPagePolicy } from './pages.ts';

export interface ProviderDependencies extends Omit<AdapterDependencies, 'InvalidGrant'> {
  readonly pool: pg.Pool;
  /** The public control origin, without `/v1`. */
  readonly origin: string;
  readonly onFailure: (error: unknown) => void;
}

/** Where the protocol lives on the control origin. */
export const connectBasePath = '/v1/connect';

export type OidcProvider = Provider;

/** The protocol with one set of keys: the library's object, and what answers a request. */
export interface Protocol {
  readonly provider: OidcProvider;
  /** Answers a request for an endpoint: its path below `connectBasePath`, with the query. */
  readonly handle: (request: IncomingMessage, response: ServerResponse, endpoint: string) => Promise<void>;
}

const minuteS = 60;
const dayS = 24 * 60 * minuteS;
/** How long a request of an app waits to be answered. Who has no account yet makes one meanwhile. */
const requestS = 60 * minuteS;
/** How long an app may be away before its connection ends. */
const refreshTokenS = 30 * dayS;

/** Endpoints below `connectBasePath`, by the library's names for them. */
export const protocolRoutes = {
  authorization: '/authorize',
  token: '/token',
  userinfo: '/userinfo',
  jwks: '/jwks',
  revocation: '/revoke',
  introspection: '/introspect',
  end_session: '/logout',
} as const;

/** Builds the OAuth 2.1 and OpenID Connect provider (interface 1, Connected Apps). Loaded only where it is switched on. */
export async function buildProtocol(deps: ProviderDependencies, keys: ProtocolKeys): Promise<Protocol> {
  const { errors, interactionPolicy, Provider: OidcProvider } = await import('oidc-provider');
  const { pool, origin } = deps;
  const isSecure = needsSecureCookies(origin);
  const cookie = { httpOnly: true, sameSite: 'lax', secure: isSecure, signed: true, path: connectBasePath } as const;
  const prefix = isSecure ? '__Secure-' : '';

  const policy = interactionPolicy.base();
  // Every connection is a decision of its own: nothing is given in silence because it was given before.
  policy
    .get('consent')
    ?.checks.add(
      new interactionPolicy.Check('not_confirmed', 'the person has to confirm', 'consent_required', ({ oidc }) =>
        oidc.result?.consent === undefined
          ? interactionPolicy.Check.REQUEST_PROMPT
          : interactionPolicy.Check.NO_NEED_TO_PROMPT,
      ),
    );

  const configuration: Configuration = {
    adapter: artifactAdapters({ ...deps, InvalidGrant: errors.InvalidGrant }),
    jwks: { keys: [...keys.signing] },
    cookies: {
      keys: [...keys.cookies],
      names: {
        session: `${prefix}sotto.connect_session`,
        interaction: `${prefix}sotto.connect_interaction`,
        resume: `${prefix}sotto.connect_resume`,
      },
      long: cookie,
      short: cookie,
    },
    scopes: [...appScopes],
    claims: { openid: ['sub'], email: ['email', 'email_verified'] },
    responseTypes: ['code'],
    clientAuthMethods: ['client_secret_basic', 'client_secret_post', 'none'],
    clientDefaults: { id_token_signed_response_alg: 'ES256' },
    enabledJWA: { idTokenSigningAlgValues: ['ES256'] },
    subjectTypes: ['pairwise'],
    sectorIdentifierUriValidate: () => false,
    pairwiseIdentifier: (_ctx, accountId, client) => subjectOf(pool, { appId: client.clientId, accountId }),
    findAccount: (_ctx, accountId) => findPerson(pool, accountId),
    pkce: { required: () => true },
    allowOmittingSingleRegisteredRedirectUri: false,
    rotateRefreshToken: true,
    issueRefreshToken: async (_ctx, client) => client.grantTypeAllowed('refresh_token'),
    // A connection lasts as long as its tokens, whatever happens to the browser that it was made in.
    expiresWithSession: async () => false,
    revokeGrantPolicy: () => true,
    // Never one from before: each connection has a grant of its own.
    loadExistingGrant: async ({ oidc }) => {
      const grantId = oidc.result?.consent?.grantId;
      return grantId === undefined ? undefined : oidc.provider.Grant.find(grantId);
    },
    clientBasedCORS: (_ctx, corsOrigin, client) =>
      client.tokenEndpointAuthMethod === 'none' &&
      (client.redirectUris ?? []).some((uri) => new URL(uri).origin === corsOrigin),
    routes: protocolRoutes,
    ttl: {
      AccessToken: 10 * minuteS,
      AuthorizationCode: minuteS,
      IdToken: 60 * minuteS,
      Interaction: requestS,
      RefreshToken: refreshTokenS,
      Session: refreshTokenS,
    },
    features: {
      devInteractions: { enabled: false },
      dPoP: { enabled: false },
      pushedAuthorizationRequests: { enabled: false },
      resourceIndicators: { enabled: false },
      userinfo: { enabled: true },
      revocation: { enabled: true, allowedPolicy: async (_ctx, client, token) => token.clientId === client.clientId },
      introspection: {
        enabled: true,
        allowedPolicy: async (_ctx, client, token) => token.clientId === client.clientId,
      },
      rpInitiatedLogout: {
        enabled: true,
        logoutSource: async (ctx, form) => {
          ctx.body = logoutPage(ctx.oidc.client?.clientName, form);
        },
        postLogoutSuccessSource: async (ctx) => {
          ctx.body = loggedOutPage();
        },
      },
    },
    interactions: {
      policy,
      url: async (ctx, { uid }) => {
        ctx.cookies.set(requestCookieName(isSecure), uid, {
          ...cookie,
          signed: false,
          path: requestCookiePath(uid),
          maxAge: requestS * 1000,
        });
        return `/connect/consent?uid=${encodeURIComponent(uid)}`;
      },
    },
    renderError: async (ctx, out) => {
      if (ctx.accepts('json', 'html') === 'html') ctx.body = errorPage(out.error, out.error_description);
      else ctx.body = out;
    },
  };

  const provider = new OidcProvider(`${origin}${connectBasePath}`, configuration);
  // Secrets rest hashed.
  provider.Client.prototype.compareClientSecret = function compareClientSecret(presented: string): boolean {
    return isSecretOf(this.clientSecret, presented);
  };
  // Whether this is https is said by the origin (`asFromOrigin`), never by a client's header.
  provider.proxy = true;
  provider.onerror = deps.onFailure;
  const failures = new WeakMap<KoaContextWithOIDC, unknown>();
  provider.on('server_error', (ctx, error) => {
    failures.set(ctx, error);
    if (!isDatabaseUnavailable(error)) deps.onFailure(error);
  });
  provider.use(async (ctx: KoaContextWithOIDC, next) => {
    ctx.set('content-security-policy', protocolPagePolicy);
    ctx.set('referrer-policy', 'no-referrer');
    try {
      const ending = await grantToEnd(provider, ctx);
      await next();
      if (ending !== undefined && ctx.status === 303) await endGrant(deps, ending);
    } catch (error) {
      failures.set(ctx, error);
      if (!isDatabaseUnavailable(error)) deps.onFailure(error);
      ctx.status = 500;
      ctx.body = { error: 'server_error', error_description: 'An internal error occurred.' };
    }
    if (isDatabaseUnavailable(failures.get(ctx))) answerUnavailable(ctx);
  });
  const handle = provider.callback();
  return {
    provider,
    handle: async (request, response, endpoint) => {
      asFromOrigin(request, origin, endpoint);
      await handle(request, response);
    },
  };
}

/**
 * The connection that a confirmed logout ends: the one that this browser made for the app which asked. The library
 * would spare it, because its tokens outlive the session of the browser.
 */
async function grantToEnd(provider: OidcProvider, ctx: KoaContextWithOIDC): Promise<string | undefined> {
  if (ctx.method !== 'POST' || ctx.path !== `${protocolRoutes.end_session}/confirm`) return undefined;
  const session = await provider.Session.get(ctx);
  const { clientId, postLogoutRedirectUri } = session.state ?? {};
  // The library's own way to change whose browser this is: nobody asked to end anything.
  const isSwitch = typeof postLogoutRedirectUri === 'string' && postLogoutRedirectUri.startsWith(provider.issuer);
  return typeof clientId === 'string' && !isSwitch ? session.grantIdFor(clientId) : undefined;
}

function answerUnavailable(ctx: KoaContextWithOIDC): void {
  ctx.status = 503;
  ctx.set('retry-after', '1');
  ctx.body = { error: 'temporarily_unavailable', error_description: 'The service is not ready. Try again shortly.' };
}

/** Has a request say of itself what is true of the public origin and of the route that was matched, whatever it said. */
function asFromOrigin(request: IncomingMessage & { originalUrl?: string }, origin: string, endpoint: string): void {
  const { protocol, host } = new URL(origin);
  request.headers.host = host;
  request.headers['x-forwarded-proto'] = protocol.slice(0, -1);
  delete request.headers['x-forwarded-host'];
  delete request.headers['x-forwarded-for'];
  request.originalUrl = `${connectBasePath}${endpoint}`;
  request.url = endpoint;
}
