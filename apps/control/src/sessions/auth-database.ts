import type { BetterAuthOptions } from 'better-auth';
import { drizzleAdapter } from 'better-auth/adapters/drizzle';
import { APIError } from 'better-auth/api';
import { and, eq, isNotNull } from 'drizzle-orm';
import {
  type AuthDatabase,
  authAccount,
  authPasskey,
  authSession,
  authTwoFactor,
  authUser,
  authVerification,
} from '../database/auth-schema.ts';
import { accounts } from '../database/schema.ts';
import { guardCreate } from './guard-create.ts';
import { guardIncrements, hashTokens } from './hashed-token-adapter.ts';
import { noteFailures } from './noted-failures.ts';
import type { openidSessions } from './openid-sessions.ts';
import { limitPasskeys } from './passkeys.ts';
import { assertBegunByProvider, callbackPath, hidePasswords } from './password-policy.ts';
import type { passwordRaceGuard } from './password-race-guard.ts';
import { assertMaySignUp, type SignUpPolicy } from './sign-up-policy.ts';

/** A user who has just been created. */
export interface SignedUpUser {
  readonly id: string;
  readonly email: string;
  readonly name: string;
}

export interface DatabaseDependencies {
  /** better-auth uses only the tables of `auth-schema.ts`. */
  readonly db: AuthDatabase;
  readonly maxPasskeys: number;
  /** False: people sign in only with the OpenID provider. */
  readonly hasPasswords: boolean;
  readonly now: () => number;
}

/**
 * How better-auth reads and writes: only hashes of tokens, no more passkeys than allowed, no way to sign in to a disabled account, no
 * passwords if they are off, and failures with their cause.
 */
export function authDatabase({ db, maxPasskeys, hasPasswords, now }: DatabaseDependencies) {
  const adapter = drizzleAdapter(db, {
    provider: 'pg',
    schema: {
      user: authUser,
      session: authSession,
      account: authAccount,
      verification: authVerification,
      twoFactor: authTwoFactor,
      passkey: authPasskey,
    },
    // Without a transaction, a sign-up that fails half-way leaves a user without a credential, who can neither sign in
    // nor sign up again.
    transaction: true,
  });
  const withMaximum = limitPasskeys(maxPasskeys, now);
  // A link of a disabled account would prove, later, that the account belongs to the new holder of its address.
  const ofEnabled = guardCreate('account', now, (_, userId) => assertEnabled(db, userId));
  return (options: BetterAuthOptions) => {
    const stored = ofEnabled(withMaximum(guardIncrements(adapter(options))));
    return noteFailures(hashTokens(hasPasswords ? stored : hidePasswords(stored)));
  };
}

export interface HookDependencies {
  readonly db: AuthDatabase;
  readonly hasPasswords: boolean;
  readonly signUp: Pick<SignUpPolicy, 'mode' | 'admits' | 'allowsAddress'>;
  /**
   * Creates the account, wallet and workspace that every user has. Runs after user and credential are committed and
   * before the sign-up is answered. A throw fails the sign-up with 500 and leaves a user who can sign in. The callback
   * must therefore be idempotent, and the first use of a session must call it again.
   */
  readonly onSignUp: (user: SignedUpUser) => Promise<void>;
  /** Called after the address of a user, its verification or a way to sign in has changed. Must not throw. */
  readonly onIdentityChanged: (userId: string) => Promise<void>;
}

/** What happens around every write of a user, a session or a way to sign in. */
export const databaseHooks = (
  { db, hasPasswords, signUp, onSignUp, onIdentityChanged }: HookDependencies,
  {
    raceGuard,
    providerSessions,
  }: {
    readonly raceGuard: ReturnType<typeof passwordRaceGuard>;
    readonly providerSessions: ReturnType<typeof openidSessions>;
  },
) =>
  ({
    user: {
      create: {
        // Every way to create a user passes here.
        before: async ({ email }, ctx) =>
          assertMaySignUp(signUp, email, ctx?.path === callbackPath ? 'openid' : 'password'),
        after: ({ id, email, name }) => onSignUp({ id, email, name }),
      },
      update: {
        // No user: it was deleted meanwhile.
        after: async (user: SignedUpUser | null) => {
          if (user !== null) await onIdentityChanged(user.id);
        },
      },
    },
    session: {
      create: {
        // Every way to sign in passes here.
        before: async ({ userId }, ctx) => {
          if (!hasPasswords) await assertBegunByProvider(userId, ctx);
          await assertEnabled(db, userId);
        },
        after: (session, ctx) => providerSessions.begun(session, ctx),
      },
    },
    // Sign-in needs only the person's identity. Do not store the provider's tokens, which may give access to more.
    account: {
      create: {
        before: async (row, ctx) => {
          providerSessions.noteIdToken(row, ctx);
          return withoutTokens(row);
        },
        after: ({ userId }) => onIdentityChanged(userId),
      },
      update: {
        before: async (row, ctx) => {
          providerSessions.noteIdToken(row, ctx);
          if (ctx?.path !== '/change-password' || typeof row.password !== 'string') return withoutTokens(row);
          await raceGuard.replacePassword(row.password, ctx.request);
          // `replacePassword` has stored it: false cancels better-auth's own update.
          return false;
        },
      },
    },
  }) satisfies BetterAuthOptions['databaseHooks'];

async function assertEnabled(db: AuthDatabase, userId: string): Promise<void> {
  const disabled = await db
    .select({ id: accounts.id })
    .from(accounts)
    .where(and(eq(accounts.userId, userId), isNotNull(accounts.disabledAt)));
  if (disabled.length === 0) return;
  throw new APIError('FORBIDDEN', {
    code: 'account_disabled',
    message: 'This account is disabled. Ask the operator of this deployment',
  });
}

const withoutTokens = async <Row extends object>(row: Row) => ({
  data: { ...row, accessToken: null, refreshToken: null, idToken: null },
});
