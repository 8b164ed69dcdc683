import type { IncomingMessage, ServerResponse } from 'node:http';
import { appScopes } from '@sotto/contract/control/app-scopes';
import type { Configuration, KoaContextWithOIDC, Provider } from 'oidc-provider';
import { isDatabaseUnavailable } from '../../database/failures.ts';
import { needsSecureCookies } from '../../sessions/cookies.ts';
import { endGrant } from '../grants/end-grants.ts';
import { type AdapterDependencies, artifactAdapters, isSecretOf } from './adapters.ts';
import type { ProtocolKeys } from './key-store.ts';
import { errorPage, loggedOutPage, logoutPage, protocolPagePolicy } from './pages.ts';
import { people } from './people.ts';

export interface ProviderDependencies extends Omit<AdapterDependencies, 'InvalidGrant'> {
  /** The public control origin, without `/v1`. */
  readonly origin: string;
  readonly onFailure: (error: unknown) => void;
}

/** Path prefix of the protocol on the control origin. */
export const connectBasePath = '/v1/connect';

export type OidcProvider = Provider;

/** The protocol with one set of keys: the library's object, and the function that answers requests. */
export interface Protocol {
  readonly provider: OidcProvider;
  /** Answers a request. `endpoint` is its path below `connectBasePath`, with the query. */
  readonly handle: (request: IncomingMessage, response: ServerResponse, endpoint: string) => Promise<void>;
}

const minuteS = 60;
const dayS = 24 * 60 * minuteS;
/** How long an app's request waits for an answer. Long enough for a person to create an account first. */
const requestS = 60 * minuteS;
/** How long a person may take to confirm that they sign out. */
const formS = 10 * minuteS;
/** How long an app may be inactive before its connection ends. */
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

/**
 * Builds the OAuth 2.1 and OpenID Connect provider of Connected Apps (`docs/use/connected-apps.md`). Loads the library
 * only if they are enabled.
 */
export async function buildProtocol(deps: ProviderDependencies, keys: ProtocolKeys): Promise<Protocol> {
  const library = await loadLibrary();
  const { origin } = deps;
  const isSecure = needsSecureCookies(origin);
  const provider = new library.Provider(`${origin}${connectBasePath}`, {
    adapter: artifactAdapters({ ...deps, InvalidGrant: library.errors.InvalidGrant }),
    jwks: { keys: [...keys.signing] },
    cookies: cookiesOf(keys, isSecure),
    ...tokens,
    ...people(deps.pool),
    ...grants,
    routes: protocolRoutes,
    ttl,
    features,
    interactions: consent(library.interactionPolicy, isSecure),
    renderError: async (ctx, out) => {
      if (ctx.accepts('json', 'html') === 'html') ctx.body = errorPage(out.error, out.error_description);
      else ctx.body = out;
    },
  });
  // Only hashes of secrets are stored, so compare hashes.
  provider.Client.prototype.compareClientSecret = function compareClientSecret(presented: string): boolean {
    return isSecretOf(this.clientSecret, presented);
  };
  // `asFromOrigin` sets the forwarded headers by our origin. A client's headers never decide whether this is https.
  provider.proxy = true;
  answerFailures(provider, deps);
  const handle = provider.callback();
  return {
    provider,
    handle: async (request, response, endpoint) => {
      asFromOrigin(request, origin, endpoint);
      await handle(request, response);
    },
  };
}

type Library = typeof import('oidc-provider');

async function loadLibrary(): Promise<Pick<Library, 'Provider' | 'errors' | 'interactionPolicy'>> {
  // Not its index, which warns that each Node without an LTS label is unsupported. Those from npm have none.
  const [{ Provider: OidcProvider }, errors, interactionPolicy] = (await Promise.all([
    // @ts-expect-error The types know the index only.
    import('oidc-provider/lib/provider.js'),
    // @ts-expect-error
    import('oidc-provider/lib/helpers/errors.js'),
    // @ts-expect-error
    import('oidc-provider/lib/helpers/interaction_policy/index.js'),
  ])) as [Pick<Library, 'Provider'>, Library['errors'], Library['interactionPolicy']];
  return { Provider: OidcProvider, errors, interactionPolicy };
}

const cookieOf = (isSecure: boolean) =>
  ({ httpOnly: true, sameSite: 'lax', secure: isSecure, signed: true, path: connectBasePath }) as const;

function cookiesOf(keys: ProtocolKeys, isSecure: boolean): Configuration['cookies'] {
  const prefix = isSecure ? '__Secure-' : '';
  return {
    keys: [...keys.cookies],
    names: {
      session: `${prefix}sotto.connect_session`,
      interaction: `${prefix}sotto.connect_interaction`,
      resume: `${prefix}sotto.connect_resume`,
    },
    long: cookieOf(isSecure),
    short: cookieOf(isSecure),
  };
}

/** How apps ask for tokens. */
const tokens: Configuration = {
  scopes: [...appScopes],
  responseTypes: ['code'],
  clientAuthMethods: ['client_secret_basic', 'client_secret_post', 'none'],
  clientDefaults: { id_token_signed_response_alg: 'ES256' },
  enabledJWA: { idTokenSigningAlgValues: ['ES256'] },
  pkce: { required: () => true },
  allowOmittingSingleRegisteredRedirectUri: false,
  rotateRefreshToken: true,
  issueRefreshToken: async (_ctx, client) => client.grantTypeAllowed('refresh_token'),
  clientBasedCORS: (_ctx, corsOrigin, client) =>
    client.tokenEndpointAuthMethod === 'none' &&
    (client.redirectUris ?? []).some((uri) => new URL(uri).origin === corsOrigin),
};

/** How long connections last. */
const grants: Configuration = {
  // A connection lasts as long as its tokens, even after the browser session in which it was made.
  expiresWithSession: async () => false,
  revokeGrantPolicy: () => true,
  // Never reuse an earlier grant: each connection has its own.
  loadExistingGrant: async ({ oidc }) => {
    const grantId = oidc.result?.consent?.grantId;
    return grantId === undefined ? undefined : oidc.provider.Grant.find(grantId);
  },
};

const ttl: Configuration['ttl'] = {
  AccessToken: 10 * minuteS,
  AuthorizationCode: minuteS,
  IdToken: 60 * minuteS,
  Interaction: requestS,
  RefreshToken: refreshTokenS,
  // A stranger can ask for a form to sign out. A browser without a person who signed in is remembered for that form only.
  Session: (_ctx, { accountId }) => (accountId === undefined ? formS : refreshTokenS),
};

const features: Configuration['features'] = {
  devInteractions: { enabled: false },
  dPoP: { enabled: false },
  pushedAuthorizationRequests: { enabled: false },
  resourceIndicators: { enabled: false },
  userinfo: { enabled: true },
  revocation: { enabled: true, allowedPolicy: async (_ctx, client, token) => token.clientId === client.clientId },
  introspection: { enabled: true, allowedPolicy: async (_ctx, client, token) => token.clientId === client.clientId },
  rpInitiatedLogout: {
    enabled: true,
    logoutSource: async (ctx, form) => {
      ctx.body = logoutPage(ctx.oidc.client?.clientName, form);
    },
    postLogoutSuccessSource: async (ctx) => {
      ctx.body = loggedOutPage();
    },
  },
};

/** Asks the person for every connection, on a page of the dashboard. */
function consent(library: Library['interactionPolicy'], isSecure: boolean): Configuration['interactions'] {
  const policy = library.base();
  // An earlier consent never gives a new connection silently.
  policy
    .get('consent')
    ?.checks.add(
      new library.Check('not_confirmed', 'the person has to confirm', 'consent_required', ({ oidc }) =>
        oidc.result?.consent === undefined ? library.Check.REQUEST_PROMPT : library.Check.NO_NEED_TO_PROMPT,
      ),
    );
  return {
    policy,
    url: async (ctx, { uid }) => {
      ctx.cookies.set(requestCookieName(isSecure), uid, {
        ...cookieOf(isSecure),
        signed: false,
        path: requestCookiePath(uid),
        maxAge: requestS * 1000,
      });
      return `/connect/consent?uid=${encodeURIComponent(uid)}`;
    },
  };
}

/** Sets the headers of every answer, ends the grant that a logout ends, and answers 500 or 503 after a failure. */
function answerFailures(provider: OidcProvider, deps: ProviderDependencies): void {
  const failures = new WeakMap<KoaContextWithOIDC, unknown>();
  const note = (ctx: KoaContextWithOIDC, error: unknown): void => {
    failures.set(ctx, error);
    if (!isDatabaseUnavailable(error)) deps.onFailure(error);
  };
  provider.onerror = deps.onFailure;
  provider.on('server_error', note);
  provider.use(async (ctx: KoaContextWithOIDC, next) => {
    ctx.set('content-security-policy', protocolPagePolicy);
    ctx.set('referrer-policy', 'no-referrer');
    try {
      const ending = await grantToEnd(provider, ctx);
      await next();
      if (ending !== undefined && ctx.status === 303) await endGrant(deps, ending);
    } catch (error) {
      note(ctx, error);
      ctx.status = 500;
      ctx.body = { error: 'server_error', error_description: 'An internal error occurred.' };
    }
    if (isDatabaseUnavailable(failures.get(ctx))) answerUnavailable(ctx);
  });
}

/**
 * Returns the grant that a confirmed logout ends: the one that this browser made for the app. The library would keep
 * it, because its tokens outlive the browser's session.
 */
async function grantToEnd(provider: OidcProvider, ctx: KoaContextWithOIDC): Promise<string | undefined> {
  if (ctx.method !== 'POST' || ctx.path !== `${protocolRoutes.end_session}/confirm`) return undefined;
  const session = await provider.Session.get(ctx);
  const { clientId, postLogoutRedirectUri } = session.state ?? {};
  // The library also logs out to switch the account of a browser. That does not end a connection.
  const isSwitch = typeof postLogoutRedirectUri === 'string' && postLogoutRedirectUri.startsWith(provider.issuer);
  return typeof clientId === 'string' && !isSwitch ? session.grantIdFor(clientId) : undefined;
}

function answerUnavailable(ctx: KoaContextWithOIDC): void {
  ctx.status = 503;
  ctx.set('retry-after', '1');
  ctx.body = { error: 'temporarily_unavailable', error_description: 'The service is not ready. Try again shortly.' };
}

/** Replaces a request's own claims about host, scheme and path by the public origin and the matched route. */
function asFromOrigin(request: IncomingMessage & { originalUrl?: string }, origin: string, endpoint: string): void {
  const { protocol, host } = new URL(origin);
  request.headers.host = host;
  request.headers['x-forwarded-proto'] = protocol.slice(0, -1);
  delete request.headers['x-forwarded-host'];
  delete request.headers['x-forwarded-for'];
  request.originalUrl = `${connectBasePath}${endpoint}`;
  request.url = endpoint;
}

/** Name of the cookie that ties an app's request to the browser in which it began. Its value is the request's id. */
export const requestCookieName = (isSecure: boolean): string => `${isSecure ? '__Secure-' : ''}sotto.connect_request`;

/** Path of the cookie. Each request has its own, so that two requests in one browser do not interfere. */
const requestCookiePath = (uid: string): string => `/v1/connect/interactions/${uid}`;

export function cookieValue(header: string | undefined, name: string): string | undefined {
  const pair = header?.split(';').find((each) => each.trim().startsWith(`${name}=`));
  return pair?.trim().slice(name.length + 1);
}
