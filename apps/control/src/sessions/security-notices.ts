import type { BetterAuthPlugin } from 'better-auth';
import { createAuthMiddleware, isAPIError } from 'better-auth/api';
import type { NodePgDatabase } from 'drizzle-orm/node-postgres';
import type { Mail } from '../mail/mail.ts';
import type { authMails } from './auth-mails.ts';
import { voidProofs } from './email-proofs.ts';

export interface SecurityNoticesOptions {
  readonly db: NodePgDatabase<Record<string, unknown>>;
  readonly mails: ReturnType<typeof authMails>;
  readonly post: ((mail: Mail) => void) | undefined;
}

/** What the owner of an account is told of by mail, whoever did it. */
const notices: Readonly<Record<string, string>> = {
  '/change-password': 'Your password was changed',
  '/two-factor/disable': 'Your authenticator app is no longer asked for',
  '/two-factor/generate-backup-codes': 'Your account has new backup codes',
  '/passkey/verify-registration': 'Your account has a new passkey',
  '/passkey/delete-passkey': 'A passkey of your account was removed',
};

/** Tells of changes to what opens an account; a new password also voids what the old one had begun. */
export const securityNotices = ({ db, mails, post }: SecurityNoticesOptions) =>
  ({
    id: 'sotto-notices',
    hooks: {
      after: [
        {
          matcher: ({ path }) => path !== undefined && path in notices,
          handler: createAuthMiddleware(async (ctx) => {
            const { returned, session, newSession } = ctx.context;
            const user = session?.user ?? newSession?.user;
            const notice = notices[ctx.path];
            if (isAPIError(returned) || user === undefined || notice === undefined) return;
            if (ctx.path === '/change-password') await voidProofs(db, user.id);
            post?.(mails.notice(user.email, notice));
          }),
        },
      ],
    },
  }) satisfies BetterAuthPlugin;
