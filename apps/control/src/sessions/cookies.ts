/** The prefix of every cookie that the sessions noun sets. */
export const cookiePrefix = 'sotto';

const sessionCookieNames: ReadonlySet<string> = new Set([
  `${cookiePrefix}.session_token`,
  `__Secure-${cookiePrefix}.session_token`,
]);

/**
 * The tokens of all session cookies in a `cookie` header, valid or not, without their signatures. One that is spelled in
 * another way that better-auth reads (quoted, percent-encoded) is the same.
 */
export const sessionTokensOf = (cookieHeader: string | undefined): readonly string[] =>
  (cookieHeader?.split(';') ?? []).flatMap((pair) => {
    const [name = '', ...value] = pair.split('=');
    return sessionCookieNames.has(name.trim()) ? [tokenOf(value.join('=').trim())] : [];
  });

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
