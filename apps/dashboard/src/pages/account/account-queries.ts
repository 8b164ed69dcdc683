import { queryOptions } from '@tanstack/react-query';
import { type Answer, call } from '../../api/call.ts';
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

export const deletePasskey = (id: string) =>
  aboutWhatWasTyped(call('POST /v1/auth/passkey/delete-passkey', { body: { id } }));
export const endPasskeyReview = () => aboutWhatWasTyped(call('POST /v1/auth/passkey/reviewed'));
export const revokeSession = (token: string) =>
  aboutWhatWasTyped(call('POST /v1/auth/revoke-session', { body: { token } }));
export const revokeOthers = () => aboutWhatWasTyped(call('POST /v1/auth/revoke-other-sessions'));
