import type { BetterAuthPlugin } from 'better-auth';
import { isAPIError } from 'better-auth/api';
import type { AuthDatabase } from '../database/auth-schema.ts';
import { type Mail, mailOf } from '../mail/mail.ts';
import { voidProofs } from './email-proofs.ts';
import { onPaths } from './on-paths.ts';

export const setPasswordLink = (origin: string, token: string): string => `${origin}/reset-password#token=${token}`;

const ignoreNotice = 'If this was not you, there is nothing to do.';

/**
 * Mails about an account. Links lead to pages of the control origin. Secrets stand after `#`: browsers do not send that
 * part, so no server or proxy logs it.
 */
export const authMails = (origin: string) => ({
  verify: (to: string, token: string): Mail =>
    mailOf(to, 'Confirm your address', [
      'Someone signed up with this address. Confirm it within an hour, with the password that you chose:',
      `${origin}/verify-email#token=${token}`,
      ignoreNotice,
    ]),
  change: (to: string, token: string): Mail =>
    mailOf(to, 'Confirm your new address', [
      'An account shall have this address from now on. Confirm it within an hour:',
      `${origin}/verify-email#token=${token}`,
      ignoreNotice,
    ]),
  reset: (to: string, token: string): Mail =>
    mailOf(to, 'Set a new password', [
      'Set a new password within an hour. It ends all sessions of the account:',
      setPasswordLink(origin, token),
      ignoreNotice,
    ]),
  noPassword: (to: string, provider: string): Mail =>
    mailOf(to, 'Your account has no password', [
      `Someone asked for a new password of your account. It has none, because you sign in with ${provider}:`,
      `${origin}/sign-in`,
      ignoreNotice,
    ]),
  created: (to: string, token: string): Mail =>
    mailOf(to, 'Your account', [
      'An account was created for you. Set its password within a day:',
      setPasswordLink(origin, token),
    ]),
  known: (to: string): Mail =>
    mailOf(to, 'You have an account already', [
      'Someone signed up with this address, which has an account. Sign in to it, or set a new password:',
      `${origin}/sign-in`,
      `${origin}/forgot-password`,
      ignoreNotice,
    ]),
  passwordSet: (to: string, passkeys: number): Mail =>
    mailOf(to, 'Your password was changed', [
      'Your password was changed by a link in a mail to this address. All sessions of your account have ended.',
      ...(passkeys === 0
        ? []
        : [
            `${passkeys === 1 ? 'A passkey' : `${passkeys} passkeys`} of before can still sign in. Remove what you do not recognize:`,
            `${origin}/account`,
          ]),
      'If you did not do this, set a new password now and review who reads your mail:',
      `${origin}/forgot-password`,
    ]),
  deleted: (to: string): Mail =>
    mailOf(to, 'Your account was deleted', [
      'Your account, its keys and its workspaces were deleted, at the request of someone who was signed in to it.',
      'This cannot be undone. If it was not you, tell whoever runs this service:',
      origin,
    ]),
  notice: (to: string, what: string): Mail =>
    mailOf(to, what, [
      `${what}.`,
      'If this was not you, set a new password at once, which ends all sessions, and look at the account:',
      `${origin}/forgot-password`,
    ]),
});

/** How a plugin mails the owner of an account. */
export interface OwnerMails {
  readonly mails: ReturnType<typeof authMails>;
  /** Sends a mail without waiting for it. Undefined if this deployment sends no mail. */
  readonly post: ((mail: Mail) => void) | undefined;
}

interface SecurityNoticesOptions extends OwnerMails {
  readonly db: AuthDatabase;
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
        onPaths(Object.keys(notices), async (ctx) => {
          const { returned, session, newSession } = ctx.context;
          const user = session?.user ?? newSession?.user;
          const notice = notices[ctx.path];
          if (isAPIError(returned) || user === undefined || notice === undefined) return;
          if (ctx.path === '/change-password') await voidProofs(db, user.id);
          post?.(mails.notice(user.email, notice));
        }),
      ],
    },
  }) satisfies BetterAuthPlugin;
