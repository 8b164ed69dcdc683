import type { InteractionAnswer } from '@sotto/wire';
import { useQuery } from '@tanstack/react-query';
import { useSearch } from '@tanstack/react-router';
import { Check } from 'lucide-react';
import { ApiError, sentenceOf } from '../../api/call.ts';
import { capabilitiesQuery } from '../../api/capabilities.ts';
import { useSignedIn } from '../../session/session.ts';
import { Loading } from '../../ui/skeleton.tsx';
import { ErrorState, Notice } from '../../ui/surface.tsx';
import { Entry } from '../sign-in/entry.tsx';
import { ConsentForm } from './consent-form.tsx';
import { interactionQuery } from './consent-queries.ts';
import { SignInAgain } from './sign-in-again.tsx';

/** `/connect/consent?uid=…`: who asks, what for, and the decision. The protocol sends browsers here. */
export function ConsentPage() {
  const { uid } = useSearch({ from: '/session/connect/consent' });
  const { data: capabilities } = useQuery(capabilitiesQuery);
  const { data: request, error, refetch } = useQuery(interactionQuery(uid));
  if (capabilities?.connected_apps.enabled === false) {
    return (
      <Entry title="Apps cannot connect here">
        <p>Whoever runs this service has connected apps switched off.</p>
      </Entry>
    );
  }
  if (request !== undefined) return <Request uid={uid} request={request} />;
  if (error === null) {
    return (
      <Entry title="An app asks">
        <Loading label="The request is loading" />
      </Entry>
    );
  }
  return (
    <Entry title="This cannot be answered">
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
            <a
              href={app.homepage}
              target="_blank"
              rel="noreferrer"
              className="break-all text-accent underline underline-offset-2"
            >
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
          Nobody has checked whose app this is. Allow it only if you came from it just now. Either way you go on to{' '}
          <span className="font-medium break-all">{app.redirect_host}</span>.
        </Notice>
        {returning && (
          <p className="text-sm text-muted">
            This app is connected already. Allowing it again makes another connection beside that one.
          </p>
        )}
        {request.sign_in_again ? <SignInAgain uid={uid} app={app.name} /> : <ConsentForm uid={uid} request={request} />}
        <p className="text-sm text-muted">
          It stays connected until you disconnect it, or it has been away for 30 days.
        </p>
      </div>
    </Entry>
  );
}
