import { randomBytes } from 'node:crypto';
import { ClientError } from '../errors.ts';

/**
 * A proxy that somebody else runs. It sees the address of this machine, and neither plane of the service does. It resolves
 * names, so that this machine asks no resolver for them.
 */
export interface Relay {
  readonly kind: 'socks5' | 'http';
  readonly host: string;
  readonly port: number;
  readonly user: string | undefined;
  readonly password: string | undefined;
  /** For tests, whose services have no TLS: whether it carries plain http. */
  readonly carriesPlainHttp: boolean;
}

const kinds: Readonly<Record<string, { readonly kind: Relay['kind']; readonly port: number }>> = {
  'socks5:': { kind: 'socks5', port: 1080 },
  'socks5h:': { kind: 'socks5', port: 1080 },
  'http:': { kind: 'http', port: 8080 },
};

const takes =
  'must be of the form socks5://host:port or http://host:port, with user:password@ before the host if it needs them';

/** Reads the address of a relay. Throws `option_invalid`. */
export function readRelay(address: string, carriesPlainHttp = false): Relay {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  const known = url && kinds[url.protocol];
  const user = url && decoded(url.username);
  const password = url && decoded(url.password);
  if (
    url === undefined ||
    known === undefined ||
    user === undefined ||
    password === undefined ||
    url.hostname === '' ||
    !/^\/?$/.test(url.pathname) ||
    url.search !== ''
  ) {
    throw new ClientError('option_invalid', undefined, { detail: `\`relay\` ${takes}.` });
  }
  return {
    kind: known.kind,
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? known.port : Number(url.port),
    user: user === '' ? undefined : user,
    password: password === '' ? undefined : password,
    carriesPlainHttp,
  };
}

/**
 * Requires TLS for an address that the relay would carry. Otherwise the relay would read the key and the content. Throws
 * `option_invalid`.
 */
export function requireTlsThrough({ carriesPlainHttp }: Relay, address: string): void {
  const { origin, protocol } = new URL(address);
  if (protocol === 'https:' || carriesPlainHttp) return;
  const detail = `\`relay\` cannot carry ${origin}: it has no TLS, so the relay would read your key and content. Use an https origin, or no relay.`;
  throw new ClientError('option_invalid', 'relay', { detail });
}

/** Returns undefined for a malformed escape. */
function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** The same relay with a new random user, so that Tor and others use a circuit that no other connection uses. */
export const onNewCircuit = (relay: Relay): Relay => ({
  ...relay,
  user: randomBytes(12).toString('hex'),
  password: randomBytes(12).toString('hex'),
});
