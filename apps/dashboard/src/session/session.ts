import { type QueryClient, queryOptions, useQuery, useQueryClient } from '@tanstack/react-query';
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
    (await call('GET /v1/auth/get-session', { signal }))?.user ?? null,
  staleTime: 5 * 60_000,
});

/** Undefined while it is not known yet. */
export const useSignedIn = (): SignedInUser | null | undefined => useQuery(sessionQuery).data;

/** Ends the session here and at the service, and forgets all that it had shown. */
export function useSignOut(): () => Promise<void> {
  const client = useQueryClient();
  return async () => {
    await call('POST /v1/auth/sign-out');
    leaveSession(client);
  };
}

/** What stands around every page observes these; they say nothing of whom a page was shown to. */
const kept: ReadonlySet<unknown> = new Set([sessionQuery.queryKey[0], 'capabilities']);

const forgetShown = (client: QueryClient): void =>
  client.removeQueries({ predicate: ({ queryKey }) => !kept.has(queryKey[0]) });

/** After a sign-in: asks who one is now, and forgets what was shown to whoever it was before. */
export async function enterSession(client: QueryClient): Promise<void> {
  forgetShown(client);
  await client.fetchQuery({ ...sessionQuery, staleTime: 0 });
}

/** The session has ended: nobody is signed in, and what it had shown is forgotten. */
export function leaveSession(client: QueryClient): void {
  client.setQueryData(sessionQuery.queryKey, null);
  forgetShown(client);
  forgetTab();
}
