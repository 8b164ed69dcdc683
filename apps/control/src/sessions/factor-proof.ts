import type { BetterAuthPlugin } from 'better-auth';
import { getSessionFromCtx, isAPIError } from 'better-auth/api';
import { eq } from 'drizzle-orm';
import { operators } from '../database/administration-schema.ts';
import { type AuthDatabase, authSession } from '../database/auth-schema.ts';
import { notFresh } from './fresh-proof.ts';
import { onPaths } from './on-paths.ts';

export interface FactorProofOptions {
  readonly db: AuthDatabase;
  readonly now: () => number;
}

/** How long a second factor lets an operator act. */
const factorMs = 5 * 60 * 1000;

export const isFreshFactor = (factorAt: Date | null, now: number): boolean =>
  now - (factorAt?.getTime() ?? 0) < factorMs;

const totpPath = '/two-factor/verify-totp';

/** Requests that add, replace or remove a second factor. */
const changesFactors = [
  '/two-factor/enable',
  '/two-factor/disable',
  '/two-factor/generate-backup-codes',
  '/passkey/generate-register-options',
  '/passkey/verify-registration',
  '/passkey/delete-passkey',
];

/**
 * Notes in a session when its user showed a second factor: a passkey, or a code of an authenticator app, at sign-in or
 * later. The first code, which enrolls an app, proves nothing about the past and does not count. Backup codes do not
 * count either. An operator changes factors only after showing one: otherwise the password alone would be enough to add
 * one and to act with it.
 */
export const factorProof = ({ db, now }: FactorProofOptions) =>
  ({
    id: 'sotto-factor-proof',
    hooks: {
      before: [
        onPaths(changesFactors, async (ctx) => {
          const found = await getSessionFromCtx(ctx);
          if (found === null) return;
          const [operator] = await db
            .select({ factorAt: authSession.factorAt })
            .from(authSession)
            .innerJoin(operators, eq(operators.userId, authSession.userId))
            .where(eq(authSession.id, found.session.id));
          if (operator === undefined || isFreshFactor(operator.factorAt, now())) return;
          throw notFresh();
        }),
      ],
      after: [
        onPaths([totpPath, '/passkey/verify-authentication'], async (ctx) => {
          const { returned, session, newSession } = ctx.context;
          if (isAPIError(returned)) return;
          const isEnrolment = ctx.path === totpPath && session !== null && session.user.twoFactorEnabled !== true;
          const id = (newSession ?? session)?.session.id;
          if (isEnrolment || id === undefined) return;
          await db
            .update(authSession)
            .set({ factorAt: new Date(now()) })
            .where(eq(authSession.id, id));
        }),
      ],
    },
  }) satisfies BetterAuthPlugin;
