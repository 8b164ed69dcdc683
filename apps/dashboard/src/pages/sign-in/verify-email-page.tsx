import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useRouter } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { ApiError, call, sentenceOf } from '../../api/call.ts';
import { useChange } from '../../api/use-change.ts';
import { forgetLinkToken, linkToken } from '../../session/link-token.ts';
import { enterSession, sessionQuery } from '../../session/session.ts';
import { aboutWhatWasTyped } from '../../session/sign-in-methods.ts';
import { Button, buttonClass } from '../../ui/button.tsx';
import { TextField } from '../../ui/field.tsx';
import { Loading } from '../../ui/skeleton.tsx';
import { ErrorState } from '../../ui/surface.tsx';
import { Entry } from './entry.tsx';
import { LinkIncomplete } from './link-incomplete.tsx';

/** Where the link of a mail leads that proves an address: one that signs up, or a new one of an account. */
export function VerifyEmailPage() {
  const token = linkToken('verify-email');
  const client = useQueryClient();
  const router = useRouter();
  const { data: user, error, refetch } = useQuery(sessionQuery);
  const [isOther, setOther] = useState(false);
  const verifying = useChange({
    mutationFn: (password: string | undefined) =>
      aboutWhatWasTyped(call('POST /v1/auth/verify-email', { body: { token: token ?? '', password } })),
    onError: (failure) => setOther(failure instanceof ApiError && failure.type === 'refused'),
    onSuccess: async ({ signedIn }) => {
      forgetLinkToken('verify-email');
      await enterSession(client);
      await router.navigate({ to: signedIn ? '/account' : '/sign-in' });
    },
  });
  // Whoever is signed in as somebody else shows the password of the account that the link is for.
  const needsPassword = !user || isOther;
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    verifying.mutate(needsPassword ? String(new FormData(event.currentTarget).get('password')) : undefined);
  };
  if (token === null && !verifying.isSuccess) return <LinkIncomplete title="Confirm your address" />;
  if (error !== null) return <ErrorState error={error} onRetry={() => void refetch()} />;
  if (user === undefined) return <Loading label="The page is loading" />;
  return (
    <Entry
      title="Confirm your address"
      lead={
        user
          ? `You are signed in as ${user.email}.`
          : 'With the password that you chose, so that nobody else uses your address.'
      }
    >
      <form onSubmit={submit} className="space-y-4">
        {needsPassword && (
          <TextField
            label="Password"
            name="password"
            type="password"
            autoComplete="current-password"
            autoFocus
            required
          />
        )}
        {verifying.isError && (
          <div role="alert" className="space-y-2">
            <p className="text-danger">{sentenceOf(verifying.error)}</p>
            <p className="text-sm">
              You did not choose a password here?{' '}
              <Link to="/forgot-password" className="text-accent underline underline-offset-2">
                Set one by mail
              </Link>
              : the account is yours then, and what somebody else did with it is gone.
            </p>
          </div>
        )}
        <Button type="submit" look="primary" busy={verifying.isPending} className="w-full">
          Confirm
        </Button>
      </form>
      {user && (
        <Link to="/account" className={`${buttonClass('quiet', true)} mt-3`}>
          Not now
        </Link>
      )}
    </Entry>
  );
}
