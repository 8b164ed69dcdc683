import type { IncomingHttpHeaders } from 'node:http';
import type { Auth } from './auth.ts';
import { hasSessionCookie } from './cookies.ts';

/** The user and the session that a valid session cookie belongs to. */
export interface SessionIdentity {
  readonly userId: string;
  readonly email: string;
  readonly emailVerified: boolean;
  readonly sessionId: string;
  /** Start of the session, in Unix seconds. */
  readonly signedInAt: number;
}

/**
 * Reads the session of a request to another route. Returns undefined if the request does not have a valid session
 * cookie. It does not renew the session: only `GET /v1/auth/get-session` can, because it sets the cookie again as well.
 * Throws if the database cannot be reached.
 */
export async function readSession(auth: Auth, headers: IncomingHttpHeaders): Promise<SessionIdentity | undefined> {
  if (headers.cookie === undefined || !hasSessionCookie(headers.cookie)) return undefined;
  const found = await auth.api.getSession({
    headers: new Headers({ cookie: headers.cookie }),
    query: { disableRefresh: true },
  });
  if (!found) return undefined;
  const { user, session } = found;
  const { id: userId, email, emailVerified } = user;
  const signedInAt = Math.floor(session.createdAt.getTime() / 1000);
  return { userId, email, emailVerified, sessionId: session.id, signedInAt };
}
