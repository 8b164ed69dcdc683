import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { ControlConfig } from '@sotto/control';
import { type JWK, Provider } from 'oidc-provider';

/** The provider's claims about a person. With `unverified` in it, the address counts as unverified. */
const claimsOf = (sub: string, email: string) => ({
  sub,
  email,
  email_verified: !email.includes('unverified'),
  name: `Name of ${sub}`,
});

/** The settings of control for a provider on a port. */
export const openidAt = (port: number): NonNullable<ControlConfig['signIn']['openid']> => ({
  ...{ issuer: `http://127.0.0.1:${port}`, clientId: 'sotto', clientSecret: 'a client secret', name: 'Example Inc' },
  ...{ scopes: [], groupsClaim: 'groups' },
});

export interface OpenidServer {
  readonly issuer: string;
  /** The key that signs its tokens, by the name in its JWKS. */
  readonly key: { readonly kid: string; readonly private: KeyObject };
  /** Ends a session of a person for our client, as a sign-out at the provider does. */
  logOut(subject: string, sid: string): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Starts a real provider. Its sign-in pages accept the person that `who` names by the subject. Default of `emailOf`: the subject is
 * the address.
 */
export async function startProvider(
  port: number,
  redirectUri: string,
  who: () => string,
  emailOf = (sub: string): string => sub,
  groupsOf = (_sub: string): readonly string[] => [],
): Promise<OpenidServer> {
  const issuer = `http://127.0.0.1:${port}`;
  const keys = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const kid = 'signing';
  const provider = new Provider(issuer, {
    jwks: { keys: [{ ...keys.privateKey.export({ format: 'jwk' }), kid, use: 'sig', alg: 'RS256' } as JWK] },
    clients: [
      {
        ...{ client_id: 'sotto', client_secret: 'a client secret', redirect_uris: [redirectUri] },
        backchannel_logout_uri: new URL('/v1/auth/openid/logout', redirectUri).href,
        backchannel_logout_session_required: true,
      },
    ],
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name', 'groups'] },
    conformIdTokenClaims: false,
    // Its dispatcher refuses to send tokens to this machine.
    fetch: (url, options) => {
      const { dispatcher: _, ...others } = { dispatcher: undefined, ...options };
      return fetch(url, others as RequestInit);
    },
    pkce: { required: () => true },
    findAccount: (_ctx, sub) => ({
      accountId: sub,
      claims: () => ({ ...claimsOf(sub, emailOf(sub)), groups: groupsOf(sub) }),
    }),
    features: { devInteractions: { enabled: false }, backchannelLogout: { enabled: true } },
    interactions: { url: (_ctx, interaction) => `/interaction/${interaction.uid}` },
    cookies: { keys: ['a key for cookies'] },
  });
  const handle = provider.callback();
  const server: Server = createServer((request, response) => {
    if (!request.url?.startsWith('/interaction/')) return void handle(request, response);
    void (async () => {
      const { prompt, params, session } = await provider.interactionDetails(request, response);
      if (prompt.name === 'login') {
        return provider.interactionFinished(request, response, { login: { accountId: who() } });
      }
      const grant = new provider.Grant({ accountId: session?.accountId ?? '', clientId: String(params.client_id) });
      grant.addOIDCScope('openid email profile');
      return provider.interactionFinished(request, response, { consent: { grantId: await grant.save() } });
    })();
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return {
    issuer,
    key: { kid, private: keys.privateKey },
    async logOut(subject, sid) {
      // Its types lack the method by which the provider sends the token.
      const client = (await provider.Client.find('sotto')) as unknown as {
        backchannelLogout(subject: string, sid: string): Promise<void>;
      };
      await client.backchannelLogout(subject, sid);
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Follows the provider's redirects as a browser would. Resolves to the address that it sends back to. */
export async function throughProvider(start: string): Promise<string> {
  const cookies = new Map<string, string>();
  let address = start;
  for (let hops = 0; hops < 10; hops += 1) {
    const answer = await fetch(address, {
      redirect: 'manual',
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
    });
    await answer.body?.cancel();
    for (const line of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      cookies.set(name, value);
    }
    address = new URL(answer.headers.get('location') ?? '', address).href;
    if (address.includes('/v1/auth/callback/')) return address;
  }
  throw new Error(`lost at ${address}`);
}
