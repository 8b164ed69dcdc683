import { type QueryClient, queryOptions, useQuery, useQueryClient } from '@tanstack/react-query';
import { type Answer, call } from '../api/call.ts';
import { forgetHome } from './last-home.ts';
import { forgetTab, makeTabState } from './tab-state.ts';

/** The person who is signed in. */
export type SignedInUser = NonNullable<Answer<'GET /v1/auth/get-session'>>['user'];

const readSession = async (signal: AbortSignal): Promise<SignedInUser | null> =>
  (await call('GET /v1/auth/get-session', { signal }))?.user ?? null;

const sessionKey = ['session'] as const;

/** The signed-in user; null without a session. If the session has ended, it is still the user whose page is shown. */
export const sessionQuery = queryOptions({
  queryKey: sessionKey,
  queryFn: async ({ signal, client }) => {
    const user = await readSession(signal);
    const before = client.getQueryData<SignedInUser | null>(sessionKey);
    if (!before || before.id === user?.id) return user;
    if (user !== null) forgetUser(client);
    // The user may have typed something on this page, so it stays.
    else sessionEnded.update(() => true);
    return user ?? before;
  },
  staleTime: 5 * 60_000,
});

/** Undefined until the session is known. */
export const useSignedIn = (): SignedInUser | null | undefined => useQuery(sessionQuery).data;

/** Returns a function that ends the session here and at the service, and forgets everything it showed. */
export function useSignOut(): () => Promise<void> {
  const leave = useLeave();
  return async () => {
    await call('POST /v1/auth/sign-out');
    leave();
  };
}

/** Returns a function that forgets everything that a session showed, in every tab, once the service has ended it. */
export function useLeave(): () => void {
  const client = useQueryClient();
  return () => {
    leaveSession(client);
    tellOtherTabs(null);
  };
}

/** The frame of every page observes these; they hold nothing about a user's account. */
const kept: ReadonlySet<unknown> = new Set([sessionKey[0], 'capabilities']);

/** Whether the session of the user whose page is shown has ended. The page stays, and asks to sign in again over it. */
export const sessionEnded = makeTabState(false);

/**
 * After a sign-in: loads the new session. The same user goes on where the session ended. For another user, this tab forgets
 * what the previous one saw. Resolves to whether it is the same user.
 */
export async function enterSession(client: QueryClient): Promise<boolean> {
  const isSame = await readAgain(client);
  const user = client.getQueryData(sessionQuery.queryKey);
  if (user) tellOtherTabs(user.id);
  return isSame;
}

/** Reads the session, which may have changed. Resolves to whether it is the same user. */
async function readAgain(client: QueryClient): Promise<boolean> {
  const user = await client.fetchQuery({
    // A key of its own: an answer to `sessionQuery` that is under way may be from before the change.
    queryKey: ['session', crypto.randomUUID()],
    queryFn: ({ signal }) => readSession(signal),
    gcTime: 0,
  });
  const isSame = changeUser(client, user);
  if (isSame) void client.invalidateQueries();
  if (user !== null) sessionEnded.update(() => false);
  return isSame;
}

/**
 * Forgets the previous user, unless it is the same one, before any page can show the next. Without a previous user, the
 * tab keeps its storage, such as the link of an invitation. Returns whether it is the same user.
 */
function changeUser(client: QueryClient, user: SignedInUser | null): boolean {
  const before = client.getQueryData(sessionQuery.queryKey);
  const isSame = before?.id === user?.id;
  if (before && !isSame) forgetUser(client);
  else if (!isSame) forgetShown(client);
  client.setQueryData(sessionQuery.queryKey, user);
  return isSame;
}

const forgetShown = (client: QueryClient): void =>
  client.removeQueries({ predicate: ({ queryKey }) => !kept.has(queryKey[0]) });

function forgetUser(client: QueryClient): void {
  forgetShown(client);
  forgetTab();
  forgetHome();
}

/** Forgets the session and everything it showed. */
export const leaveSession = (client: QueryClient): void => void changeUser(client, null);

const channelName = 'sotto.session';

/** Tells the other tabs who is signed in now, by the user's id; null after a sign-out. */
function tellOtherTabs(userId: string | null): void {
  const channel = new BroadcastChannel(channelName);
  channel.postMessage(userId);
  channel.close();
}

/**
 * Follows changes that another tab makes to the session of this browser: this tab forgets what the previous user saw, or closes its
 * question to sign in again. `onChange` is called if there is another user, or none. A sign-in at the OpenID provider ends
 * with a new page, so each page tells the others about the session that it was loaded with.
 */
export function followOtherTabs(client: QueryClient, onChange: () => void): void {
  new BroadcastChannel(channelName).addEventListener('message', ({ data: userId }) => {
    const known = client.getQueryData(sessionQuery.queryKey);
    if ((known?.id ?? null) === userId && !sessionEnded.now()) return;
    readAgain(client).then(
      (isSame) => (isSame ? undefined : onChange()),
      () => undefined,
    );
  });
  client.ensureQueryData(sessionQuery).then(
    (user) => (user === null ? undefined : tellOtherTabs(user.id)),
    () => undefined,
  );
}

/** The ways to sign in here, and whether the deployment sends mail. */
export const signInMethodsQuery = queryOptions({
  queryKey: ['sign-in-methods'],
  queryFn: ({ signal }) => call('GET /v1/auth/methods', { signal }),
  staleTime: Number.POSITIVE_INFINITY,
});
