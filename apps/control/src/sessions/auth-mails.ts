import type { Mail } from '../mail/mail.ts';

const noHarm = 'If this was not you, there is nothing to do.';

/**
 * The mails about an account. Links lead to pages of the control origin; what is secret stands behind `#`, which
 * browsers keep to themselves, so that no server or proxy writes it down.
 */
export const authMails = (origin: string) => ({
  verify: (to: string, token: string): Mail => ({
    to,
    subject: 'Confirm your address',
    text: [
      'Somebody signed up with this address. Confirm it within an hour, with the password that you chose:',
      `${origin}/verify-email#token=${token}`,
      noHarm,
    ].join('\n'),
  }),
  change: (to: string, token: string): Mail => ({
    to,
    subject: 'Confirm your new address',
    text: [
      'An account shall have this address from now on. Confirm it within an hour:',
      `${origin}/verify-email#token=${token}`,
      noHarm,
    ].join('\n'),
  }),
  reset: (to: string, token: string): Mail => ({
    to,
    subject: 'Set a new password',
    text: [
      'Set a new password within an hour. It ends all sessions of the account:',
      `${origin}/reset-password#token=${token}`,
      noHarm,
    ].join('\n'),
  }),
  known: (to: string): Mail => ({
    to,
    subject: 'You have an account already',
    text: [
      'Somebody signed up with this address, which has an account. Sign in to it, or set a new password:',
      `${origin}/sign-in`,
      `${origin}/forgot-password`,
      noHarm,
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
