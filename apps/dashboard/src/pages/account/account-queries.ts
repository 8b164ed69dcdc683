import { queryOptions } from '@tanstack/react-query';
import { call } from '../../api/call.ts';
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
      call<readonly SessionRow[]>('/auth/list-sessions', { signal }),
      call<{ session: { id: string } } | null>('/auth/get-session', { signal }),
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
  queryFn: ({ signal }) => call<readonly PasskeyRow[]>('/auth/passkey/list-user-passkeys', { signal }),
});

/** Whether the account has a password, or comes from the OpenID provider alone. */
export const hasPasswordQuery = queryOptions({
  queryKey: ['account', 'ways'],
  queryFn: async ({ signal }) =>
    (await call<readonly { providerId: string }[]>('/auth/list-accounts', { signal })).some(
      ({ providerId }) => providerId === 'credential',
    ),
});

const change =
  <Body extends object, Answer = unknown>(path: string) =>
  (body: Body): Promise<Answer> =>
    aboutWhatWasTyped(call<Answer>(`/auth/${path}`, { method: 'POST', body }));

export const updateName = change<{ name: string }>('update-user');
export const changeEmail = change<{ newEmail: string; password?: string }>('change-email');
export const sendVerification = change<{ email: string }>('send-verification-email');
export const changePassword = change<{
  currentPassword: string;
  newPassword: string;
  revokeOtherSessions: boolean;
}>('change-password');
export const askForReset = change<{ email: string }>('request-password-reset');

/** What an authenticator app is set up with; shown this once. */
export interface Enrolment {
  readonly totpURI: string;
  readonly backupCodes: readonly string[];
}

export const enableSecondFactor = change<{ password: string }, Enrolment>('two-factor/enable');
export const verifyCode = change<{ code: string }>('two-factor/verify-totp');
export const disableSecondFactor = change<{ password: string }>('two-factor/disable');
export const newBackupCodes = change<{ password: string }, { backupCodes: readonly string[] }>(
  'two-factor/generate-backup-codes',
);
export const renamePasskey = change<{ id: string; name: string }>('passkey/update-passkey');
export const deletePasskey = change<{ id: string }>('passkey/delete-passkey');
export const revokeSession = change<{ token: string }>('revoke-session');
export const revokeOthers = change<object>('revoke-other-sessions');
