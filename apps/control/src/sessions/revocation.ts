import { and, eq, inArray, ne } from 'drizzle-orm';
import { type AuthDatabase, authSession } from '../database/auth-schema.ts';
import { hashSessionToken } from './hashed-token-adapter.ts';

/**
 * Ends sessions of one user. better-auth's own endpoints treat the tokens of a listing as the tokens of cookies. With
 * hashed tokens, one would end nothing and answer 200, and the other only the caller's session.
 */
export const sessionRevocation = (db: AuthDatabase) => ({
  /** Ends the session that a token of a listing or of a cookie names, if it is the user's. */
  async endOne(userId: string, token: string): Promise<void> {
    const tokens = [token, hashSessionToken(token)];
    await db.delete(authSession).where(and(eq(authSession.userId, userId), inArray(authSession.token, tokens)));
  },

  async endOthers({ userId, sessionId }: { readonly userId: string; readonly sessionId: string }): Promise<void> {
    await db.delete(authSession).where(and(eq(authSession.userId, userId), ne(authSession.id, sessionId)));
  },
});
