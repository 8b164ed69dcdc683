/** The two origins of the service. */
export type OriginName = 'control' | 'confidential';

/** The first part of each path that only one origin serves. A path that both serve is not here. */
export const pathsOfOrigin: Readonly<Record<OriginName, readonly string[]>> = {
  control: [
    ...['/v1/auth', '/v1/balance', '/v1/billing', '/v1/capabilities', '/v1/catalog', '/v1/connect', '/v1/docs'],
    ...[
      '/v1/credits',
      '/v1/inference/tickets',
      '/v1/invitations',
      '/v1/keys',
      '/v1/models/uptime',
      '/v1/routing',
      '/v1/scim',
      '/v1/usage',
    ],
    ...[
      '/v1/inference/attestation-tickets',
      '/v1/tee/signature',
      '/v1/wallets',
      '/v1/workspaces',
      '/v1/account',
      '/v1/operator',
      '/v1/status',
    ],
  ],
  confidential: [...['/v1/audio', '/v1/chat', '/v1/embeddings', '/v1/gateway', '/v1/images', '/v1/inference/receipt']],
};

const through = 'or run `sotto proxy` on your machine, which speaks it.';

/** What the service does not offer, by path, and what to use instead. */
const notOffered: readonly (readonly [path: RegExp, instead: string])[] = [
  [/^\/v1\/responses\b/, `This service has no Responses API. Use POST /v1/chat/completions, ${through}`],
  [/^\/v1\/messages\b/, `This service has no Messages API. Use POST /v1/chat/completions, ${through}`],
  [/^\/v1\/completions\b/, 'This service has no legacy completions. Use POST /v1/chat/completions.'],
  [/^\/v1\/models\/./, 'A single model cannot be retrieved. GET /v1/models lists all of them.'],
];

/** The origins that a client may need, without a path. Undefined: unknown here. */
export type KnownOrigins = Readonly<Partial<Record<OriginName, string | undefined>>>;

/**
 * Says what to use instead of an address that an origin does not serve. Undefined if nothing is known about it. `serves` says
 * whether this origin has a route for a path.
 */
export function wrongTurn(
  path: string,
  here: OriginName,
  { serves, origins = {} }: { readonly serves: (path: string) => boolean; readonly origins?: KnownOrigins },
): string | undefined {
  const plain = path.replace(/\/{2,}/g, '/').replace(/(.)\/$/, '$1');
  if (plain !== path && (serves(plain) || isServedAt('confidential', plain) || isServedAt('control', plain)))
    return 'This path has a slash too many: the base URL of a client ends in /v1, and no path ends in a slash.';
  if (!path.startsWith('/v1/')) {
    const missing =
      serves(`/v1${path}`) || isServedAt('confidential', `/v1${path}`) || isServedAt('control', `/v1${path}`);
    return missing ? 'All paths begin with /v1: the base URL of a client ends in /v1.' : undefined;
  }
  if (/^\/v1\/chat\/completions\/(?:chat|embeddings|images|audio|models)\b/.test(path))
    return 'The base URL of a client ends in /v1, without /chat/completions.';
  if (path.startsWith('/v1/v1/')) return 'This path has /v1 twice: the base URL of the client ends in /v1 already.';
  const other = here === 'control' ? 'confidential' : 'control';
  if (isServedAt(other, path)) {
    const where = origins[other] === undefined ? '' : ` (${origins[other]})`;
    return `This is the ${here} origin. The ${other} origin${where} serves this path.`;
  }
  return notOffered.find(([pattern]) => pattern.test(path))?.[1];
}

const isServedAt = (origin: OriginName, path: string): boolean =>
  pathsOfOrigin[origin].some((first) => path === first || path.startsWith(`${first}/`));
