import type { BetterAuthPlugin } from 'better-auth';
import { createAuthMiddleware, isAPIError } from 'better-auth/api';
import type { NodePgDatabase } from 'drizzle-orm/node-postgres';
import type { Mail } from '../mail/mail.ts';
import { voidProofs } from './email-proofs.ts';

/** The link of a token to set a password. */
export const setPasswordLink = (origin: string, token: string): string => `${origin}/reset-password#token=${token}`;

const ignoreNotice = 'If this was not you, there is nothing to do.';

/**
 * Mails about an account. Links lead to pages of the control origin. Secrets stand after `#`: browsers do not send that
 * part, so no server or proxy logs it.
 */
export const authMails = (origin: string) => ({
  verify: (to: string, token: string): Mail => ({
    to,
    subject: 'Confirm your address',
    text: [
      'Someone signed up with this address. Confirm it within an hour, with the password that you chose:',
      `${origin}/verify-email#token=${token}`,
      ignoreNotice,
    ].join('\n'),
  }),
  change: (to: string, token: string): Mail => ({
    to,
    subject: 'Confirm your new address',
    text: [
      'An account shall have this address from now on. Confirm it within an hour:',
      `${origin}/verify-email#token=${token}`,
      ignoreNotice,
    ].join('\n'),
  }),
  reset: (to: string, token: string): Mail => ({
    to,
    subject: 'Set a new password',
    text: [
      'Set a new password within an hour. It ends all sessions of the account:',
      setPasswordLink(origin, token),
      ignoreNotice,
    ].join('\n'),
  }),
  created: (to: string, token: string): Mail => ({
    to,
    subject: 'Your account',
    text: ['An account was created for you. Set its password within a day:', setPasswordLink(origin, token)].join('\n'),
  }),
  known: (to: string): Mail => ({
    to,
    subject: 'You have an account already',
    text: [
      'Someone signed up with this address, which has an account. Sign in to it, or set a new password:',
      `${origin}/sign-in`,
      `${origin}/forgot-password`,
      ignoreNotice,
    ].join('\n'),
  }),
  passwordSet: (to: string, passkeys: number): Mail => ({
    to,
    subject: 'Your password was changed',
    text: [
      'Your password was changed by a link in a mail to this address. All sessions of your account have ended.',
      ...(passkeys === 0
        ? []
        : [
            `${passkeys === 1 ? 'A passkey' : `${passkeys} passkeys`} of before can still sign in. Remove what you do not recognize:`,
            `${origin}/account`,
          ]),
      'If you did not do this, set a new password now and review who reads your mail:',
      `${origin}/forgot-password`,
    ].join('\n'),
  }),
  deleted: (to: string): Mail => ({
    to,
    subject: 'Your account was deleted',
    text: [
      'Your account, its keys and its workspaces were deleted, at the request of someone who was signed in to it.',
      'This cannot be undone. If it was not you, tell whoever runs this service:',
      origin,
    ].join('\n'),
  }),
  notice: (to: string, what: string): Mail => ({
    to,
    subject: what,
    text: [
      `${what}.`,
      'If this was not you, set a new password at once, which ends all sessions, and look at the account:',
      `${origin}/forgot-password`,
    ].join('\n'),
  }),
});

interface SecurityNoticesOptions {
  readonly db: NodePgDatabase<Record<string, unknown>>;
  readonly mails: ReturnType<typeof authMails>;
  readonly post: ((mail: Mail) => void) | undefined;
}

/** Changes that the owner of an account is always told of by mail: the subject, by path. */
const notices: Readonly<Record<string, string>> = {
  '/change-password': 'Your password was changed',
  '/two-factor/disable': 'Your authenticator app is no longer asked for',
  '/two-factor/generate-backup-codes': 'Your account has new backup codes',
  '/passkey/verify-registration': 'Your account has a new passkey',
  '/passkey/delete-passkey': 'A passkey of your account was removed',
};

/** Mails the owner when a way to sign in changes. A new password also voids everything that the old one had begun. */
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
