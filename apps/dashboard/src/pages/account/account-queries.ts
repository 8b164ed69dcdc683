import type { AnswerOf, BodyInput } from '@sotto/contract';
import type { ControlContracts } from '@sotto/contract/control';
import { queryOptions } from '@tanstack/react-query';
import { call, type Route } from '../../api/call.ts';
import { aboutWhatWasTyped } from '../../session/sign-in-methods.ts';

/** A sign-in that has not ended. */
export interface SessionRow {
  readonly id: string;
  readonly token: string;
  readonly userAgent: string | null;
  readonly createdAt: string;
  readonly updatedAt: string;
}

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

export interface PasskeyRow {
  readonly id: string;
  readonly name: string | null;
  readonly createdAt: string | null;
  readonly backedUp: boolean;
}

export const passkeysQuery = queryOptions({
  queryKey: ['account', 'passkeys'],
  queryFn: ({ signal }) => call('GET /v1/auth/passkey/list-user-passkeys', { signal }),
});

/** When a password was set by mail and left passkeys that are still to be reviewed; null where none are. */
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

/** A change by a route of better-auth: its 401 is about what was typed. */
const change =
  <Key extends Extract<Route, `POST /v1/auth/${string}`>>(route: Key) =>
  (body: BodyInput<ControlContracts[Key]>) =>
    aboutWhatWasTyped(call(route, { body } as never));

export const updateName = change('POST /v1/auth/update-user');
export const changeEmail = change('POST /v1/auth/change-email');
export const sendVerification = change('POST /v1/auth/send-verification-email');
export const changePassword = change('POST /v1/auth/change-password');
export const askForReset = change('POST /v1/auth/request-password-reset');
/** What an authenticator app is set up with; shown this once. */
export type Enrolment = AnswerOf<ControlContracts['POST /v1/auth/two-factor/enable']>;

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
