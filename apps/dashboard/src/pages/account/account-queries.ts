import { queryOptions } from '@tanstack/react-query';
import { type Answer, type Body, type BodyRoute, call, callWith } from '../../api/call.ts';
import { aboutWhatWasTyped } from '../../api/errors.ts';

/** A sign-in that has not ended. */
export type SessionRow = Answer<'GET /v1/auth/list-sessions'>[number];

export const sessionsQuery = queryOptions({
  queryKey: ['account', 'sessions'],
  queryFn: async ({ signal }) => {
    const [sessions, own] = await Promise.all([
      call('GET /v1/auth/list-sessions', { signal }),
      call('GET /v1/auth/get-session', { signal }),
    ]);
    const isOwn = ({ id }: SessionRow): boolean => id === own?.session.id;
    return sessions
      .map((session) => ({ ...session, isOwn: isOwn(session) }))
      .sort((a, b) => Number(b.isOwn) - Number(a.isOwn) || b.updatedAt.localeCompare(a.updatedAt));
  },
});

export type PasskeyRow = Answer<'GET /v1/auth/passkey/list-user-passkeys'>[number];

export const passkeysQuery = queryOptions({
  queryKey: ['account', 'passkeys'],
  queryFn: ({ signal }) => call('GET /v1/auth/passkey/list-user-passkeys', { signal }),
});

/** When a password was set by mail while passkeys stayed that still need a review; null if none do. */
export const passkeyReviewQuery = queryOptions({
  queryKey: ['account', 'passkey-review'],
  queryFn: async ({ signal }) => (await call('GET /v1/auth/passkey/review', { signal })).resetAt,
});

/** Whether the account has a password, or comes from the OpenID provider alone. */
export const hasPasswordQuery = queryOptions({
  queryKey: ['account', 'ways'],
  queryFn: async ({ signal }) =>
    (await call('GET /v1/auth/list-accounts', { signal })).some(({ providerId }) => providerId === 'credential'),
});

/** A change by a route of better-auth, whose 401 is about the typed password or code. */
const change =
  <Key extends Extract<BodyRoute, `POST /v1/auth/${string}`>>(route: Key) =>
  (body: Body<Key> & object) =>
    aboutWhatWasTyped(callWith(route, {}, body));

export const updateName = change('POST /v1/auth/update-user');
export const changeEmail = change('POST /v1/auth/change-email');
export const deleteAccount = change('POST /v1/auth/delete-account');
export const changePassword = change('POST /v1/auth/change-password');
export const askForReset = change('POST /v1/auth/request-password-reset');
/** The secret and backup codes for an authenticator app. No other answer holds them. */
export type Enrolment = Answer<'POST /v1/auth/two-factor/enable'>;

export const enableSecondFactor = change('POST /v1/auth/two-factor/enable');
export const verifyCode = change('POST /v1/auth/two-factor/verify-totp');
export const disableSecondFactor = change('POST /v1/auth/two-factor/disable');
export const newBackupCodes = change('POST /v1/auth/two-factor/generate-backup-codes');
export const renamePasskey = change('POST /v1/auth/passkey/update-passkey');
export const confirmPassword = change('POST /v1/auth/confirm-password');
export const deletePasskey = change('POST /v1/auth/passkey/delete-passkey');
export const endPasskeyReview = () => aboutWhatWasTyped(call('POST /v1/auth/passkey/reviewed'));
export const revokeSession = change('POST /v1/auth/revoke-session');
export const revokeOthers = () => aboutWhatWasTyped(call('POST /v1/auth/revoke-other-sessions'));
