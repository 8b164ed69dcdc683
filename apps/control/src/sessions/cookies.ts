/** Prefix of every cookie that this module sets. */
export const cookiePrefix = 'sotto';

/** Returns the undecoded values of all our cookies with this name in a `cookie` header. */
export const cookieValues = (cookieHeader: string | undefined, name: string): readonly string[] =>
  (cookieHeader?.split(';') ?? []).flatMap((pair) => {
    const [given = '', ...value] = pair.split('=');
    const plain = given.trim().replace(/^__Secure-/, '');
    return plain === `${cookiePrefix}.${name}` ? [value.join('=').trim()] : [];
  });

/**
 * Returns the tokens of all session cookies in a `cookie` header, valid or not, without their signatures. Reads quoted
 * and percent-encoded values, too, because better-auth accepts them.
 */
export const sessionTokensOf = (cookieHeader: string | undefined): readonly string[] =>
  cookieValues(cookieHeader, 'session_token').map(tokenOf);

function tokenOf(value: string): string {
  const bare = value.startsWith('"') ? value.slice(1, -1) : value;
  let signed = bare;
  try {
    signed = decodeURIComponent(bare);
  } catch {
    // The value is not percent-encoded.
  }
  const dot = signed.lastIndexOf('.');
  return dot < 0 ? signed : signed.slice(0, dot);
}

/** Whether a `cookie` header carries a session cookie, valid or not. */
export const hasSessionCookie = (cookieHeader: string | undefined): boolean => sessionTokensOf(cookieHeader).length > 0;

/**
 * Whether cookies of this origin carry `Secure`. They always do, except on plain http to a loopback host, where some
 * browsers would drop them.
 */
export function needsSecureCookies(origin: string): boolean {
  const { protocol, hostname } = new URL(origin);
  return !(protocol === 'http:' && isLoopbackHost(hostname));
}

function isLoopbackHost(hostname: string): boolean {
  return (
    hostname === 'localhost' ||
    hostname.endsWith('.localhost') ||
    hostname === '[::1]' ||
    /^127\.\d+\.\d+\.\d+$/.test(hostname)
  );
}
