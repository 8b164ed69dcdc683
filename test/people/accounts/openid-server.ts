import { createServer, type Server } from 'node:http';
import { Provider } from 'oidc-provider';

/** The provider's claims about a person. With `unverified` in it, the address counts as unverified. */
const claimsOf = (sub: string, email: string) => ({
  sub,
  email,
  email_verified: !email.includes('unverified'),
  name: `Name of ${sub}`,
});

export interface OpenidServer {
  readonly issuer: string;
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
): Promise<OpenidServer> {
  const issuer = `http://127.0.0.1:${port}`;
  const provider = new Provider(issuer, {
    clients: [{ client_id: 'sotto', client_secret: 'a client secret', redirect_uris: [redirectUri] }],
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
    conformIdTokenClaims: false,
    pkce: { required: () => true },
    findAccount: (_ctx, sub) => ({ accountId: sub, claims: () => claimsOf(sub, emailOf(sub)) }),
    features: { devInteractions: { enabled: false } },
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
