import { queryOptions, useQuery, useQueryClient } from '@tanstack/react-query';
import { call } from '../api/call.ts';
import { forgetTab } from './tab-state.ts';

/** Whoever is signed in. */
export interface SignedInUser {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  readonly emailVerified: boolean;
  /** Whether a sign-in with the password asks for a code. */
  readonly twoFactorEnabled: boolean;
}

/** Who is signed in, asked once and then kept; null: nobody. */
export const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: async ({ signal }): Promise<SignedInUser | null> =>
    (await call<{ user: SignedInUser } | null>('/auth/get-session', { signal }))?.user ?? null,
  staleTime: 5 * 60_000,
});

/** Undefined while it is not known yet. */
export const useSignedIn = (): SignedInUser | null | undefined => useQuery(sessionQuery).data;

/** Ends the session here and at the service, and forgets all that it had shown. */
export function useSignOut(): () => Promise<void> {
  const client = useQueryClient();
  return async () => {
    await call('/auth/sign-out', { method: 'POST' });
    client.clear();
    forgetTab();
    client.setQueryData(sessionQuery.queryKey, null);
  };
}
