/** The prefix of every cookie that the sessions noun sets. */
export const cookiePrefix = 'sotto';

/** The values of all cookies of ours of one name in a `cookie` header, as they stand there. */
export const cookieValues = (cookieHeader: string | undefined, name: string): readonly string[] =>
  (cookieHeader?.split(';') ?? []).flatMap((pair) => {
    const [given = '', ...value] = pair.split('=');
    const plain = given.trim().replace(/^__Secure-/, '');
    return plain === `${cookiePrefix}.${name}` ? [value.join('=').trim()] : [];
  });

/**
 * The tokens of all session cookies in a `cookie` header, valid or not, without their signatures. One that is spelled in
 * another way that better-auth reads (quoted, percent-encoded) is the same.
 */
export const sessionTokensOf = (cookieHeader: string | undefined): readonly string[] =>
  cookieValues(cookieHeader, 'session_token').map(tokenOf);

function tokenOf(value: string): string {
  const bare = value.startsWith('"') ? value.slice(1, -1) : value;
  let signed = bare;
  try {
    signed = decodeURIComponent(bare);
  } catch {
    // Not encoded.
  }
  const dot = signed.lastIndexOf('.');
  return dot < 0 ? signed : signed.slice(0, dot);
}

/** Whether a `cookie` header carries a session cookie, valid or not. */
export const hasSessionCookie = (cookieHeader: string | undefined): boolean => sessionTokensOf(cookieHeader).length > 0;

/**
 * Whether cookies of this origin carry `Secure`: always, except on plain http to a loopback host, where some browsers
 * would drop them (design section 6, row "sessions").
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
