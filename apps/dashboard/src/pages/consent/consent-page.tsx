import type { InteractionAnswer } from '@sotto/contract/control/connect';
import { queryOptions, useQuery } from '@tanstack/react-query';
import { useRouter, useSearch } from '@tanstack/react-router';
import { Check } from 'lucide-react';
import { call } from '../../api/call.ts';
import { ApiError, sentenceOf } from '../../api/errors.ts';
import { capabilitiesQuery } from '../../api/queries.ts';
import { useChange } from '../../api/use-change.ts';
import { useSignedIn, useSignOut } from '../../session/session.ts';
import { Button, linkClass } from '../../ui/button.tsx';
import { ErrorLine, ErrorState, Loading, Notice } from '../../ui/surface.tsx';
import { Entry } from '../sign-in/entry.tsx';
import { ConsentForm } from './consent-form.tsx';

/** `/connect/consent?uid=…`: who asks, what for, and the decision. The protocol sends browsers here. */
export function ConsentPage() {
  const { uid } = useSearch({ from: '/session/connect/consent' });
  const { data: capabilities } = useQuery(capabilitiesQuery);
  const { data: request, error, refetch } = useQuery(interactionQuery(uid));
  if (capabilities?.connected_apps.enabled === false) {
    return (
      <Entry title="Apps cannot connect here">
        <p>The operator of this service has disabled connected apps.</p>
      </Entry>
    );
  }
  if (request !== undefined) return <Request key={uid} uid={uid} request={request} />;
  if (error === null) {
    return (
      <Entry title="An app asks">
        <Loading label="The request is loading" />
      </Entry>
    );
  }
  return (
    <Entry title="This request cannot be completed">
      {isFinal(error) ? (
        <p role="alert">{sentenceOf(error)}</p>
      ) : (
        <ErrorState error={error} onRetry={() => void refetch()} />
      )}
    </Entry>
  );
}

/** Asking again would change nothing. */
const isFinal = (error: unknown): boolean => error instanceof ApiError && error.status >= 400 && error.status < 429;

function Request({ uid, request }: { uid: string; request: InteractionAnswer }) {
  const { app, scopes, returning } = request;
  const user = useSignedIn();
  return (
    <Entry
      title={`Connect ${app.name}?`}
      lead={
        <>
          You are signed in as <span className="font-medium break-all text-text">{user?.email ?? request.email}</span>.
        </>
      }
    >
      <div className="space-y-5">
        <div>
          <p className="mb-2">
            <span className="font-medium">{app.name}</span>{' '}
            <a href={app.homepage} target="_blank" rel="noreferrer" className={`break-all ${linkClass}`}>
              {app.homepage}
            </a>{' '}
            asks to:
          </p>
          <ul className="space-y-2">
            {scopes.map(({ scope, sentence }) => (
              <li key={scope} className="flex items-start gap-2.5">
                <Check aria-hidden className="mt-1 size-4 shrink-0 text-accent" />
                <span>{sentence}</span>
              </li>
            ))}
          </ul>
        </div>
        <Notice tone="warn">
          This service has not checked who runs this app. Allow it only if you just came from it. Either way you
          continue to <span className="font-medium break-all">{app.redirect_host}</span>.
        </Notice>
        {returning && (
          <p className="text-sm text-muted">
            This app is already connected. Allowing it again adds a second connection.
          </p>
        )}
        {request.sign_in_again ? <SignInAgain uid={uid} app={app.name} /> : <ConsentForm uid={uid} request={request} />}
        <p className="text-sm text-muted">
          It stays connected until you disconnect it, for a year at most, and ends after 30 days without use.
        </p>
      </div>
    </Entry>
  );
}

/** The app asks for a sign-in newer than this session. The session ends only when the user presses the button. */
function SignInAgain({ uid, app }: { uid: string; app: string }) {
  const signOut = useSignOut();
  const router = useRouter();
  const leaving = useChange({
    mutationFn: signOut,
    onSuccess: () =>
      router.navigate({
        to: '/sign-in',
        search: { return_to: `/connect/consent?uid=${encodeURIComponent(uid)}` },
      }),
  });
  return (
    <div className="space-y-3">
      <p>{app} wants to be sure that it is you: sign out here, sign in again, and you come back to this page.</p>
      <ErrorLine error={leaving.error} />
      <Button look="primary" busy={leaving.isPending} onClick={() => leaving.mutate()}>
        Sign in again
      </Button>
    </div>
  );
}

/** The request of an app, in the browser where it began. It is not cached, because another user may have signed in. */
const interactionQuery = (uid: string) =>
  queryOptions({
    queryKey: ['interactions', uid],
    queryFn: ({ signal }) => call('GET /v1/connect/interactions/{uid}', { params: { uid }, signal }),
    staleTime: 0,
    gcTime: 0,
  });
