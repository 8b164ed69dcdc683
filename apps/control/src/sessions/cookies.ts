/** The prefix of every cookie that the sessions noun sets. */
export const cookiePrefix = 'sotto';

const sessionCookieNames: ReadonlySet<string> = new Set([
  `${cookiePrefix}.session_token`,
  `__Secure-${cookiePrefix}.session_token`,
]);

/** The value of a session cookie in a `cookie` header, valid or not; undefined where there is none. */
export function sessionCookieOf(cookieHeader: string | undefined): string | undefined {
  for (const pair of cookieHeader?.split(';') ?? []) {
    const [name = '', ...value] = pair.split('=');
    if (sessionCookieNames.has(name.trim())) return value.join('=').trim();
  }
  return undefined;
}

/** Whether a `cookie` header carries a session cookie, valid or not. */
export const hasSessionCookie = (cookieHeader: string | undefined): boolean =>
  sessionCookieOf(cookieHeader) !== undefined;

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
