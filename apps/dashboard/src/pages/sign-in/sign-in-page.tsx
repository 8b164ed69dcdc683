import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useRouter, useSearch } from '@tanstack/react-router';
import { Fingerprint } from 'lucide-react';
import { type FormEvent, useCallback, useEffect, useState } from 'react';
import { ApiError, call, sentenceOf } from '../../api/call.ts';
import { useChange } from '../../api/use-change.ts';
import { canUsePasskeys, offerPasskeys, passkeySentence, signInWithPasskey } from '../../session/passkeys.ts';
import { safeReturnTo } from '../../session/return-to.ts';
import { enterSession } from '../../session/session.ts';
import { signInMethodsQuery } from '../../session/sign-in-methods.ts';
import { Button } from '../../ui/button.tsx';
import { TextField } from '../../ui/field.tsx';
import { Notice } from '../../ui/surface.tsx';
import { Entry } from './entry.tsx';
import { errorWords } from './openid-words.ts';
import { SecondStep } from './second-step.tsx';
import { UnverifiedNotice } from './unverified-notice.tsx';

interface Given {
  readonly email: string;
  readonly password: string;
}

export function SignInPage() {
  const { return_to: returnTo, error } = useSearch({ from: '/sign-in' });
  const [isHalf, setHalf] = useState(false);
  const client = useQueryClient();
  const router = useRouter();
  const enter = useCallback(async () => {
    await enterSession(client);
    router.history.push(safeReturnTo(returnTo));
  }, [client, router, returnTo]);
  useEffect(() => {
    const leaving = new AbortController();
    void offerPasskeys(leaving.signal).then((isSignedIn) => (isSignedIn ? enter() : undefined));
    return () => leaving.abort();
  }, [enter]);
  const { data: methods } = useQuery(signInMethodsQuery);

  if (isHalf) return <SecondStep onDone={enter} onBack={() => setHalf(false)} />;
  return (
    <Entry title="Sign in">
      <div className="space-y-4">
        {error !== undefined && <Notice tone="danger">{errorWords(error)}</Notice>}
        <PasswordForm onDone={(needsSecond) => (needsSecond ? setHalf(true) : void enter())} />
        {canUsePasskeys() && <PasskeyButton onDone={enter} />}
        {methods?.openid && <OpenidButton name={methods.openid.name} returnTo={safeReturnTo(returnTo)} />}
      </div>
      <p className="mt-4 text-sm text-muted">
        No account yet?{' '}
        <Link
          to="/sign-up"
          search={{ return_to: safeReturnTo(returnTo) }}
          className="text-accent underline underline-offset-2"
        >
          Sign up
        </Link>
      </p>
    </Entry>
  );
}

function PasswordForm({ onDone }: { onDone: (needsSecond: boolean) => void }) {
  const signingIn = useChange({
    mutationFn: (given: Given) => call('POST /v1/auth/sign-in/email', { body: given }),
    onSuccess: (answer) => onDone('twoFactorRedirect' in answer),
  });
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    signingIn.mutate({ email: String(form.get('email')), password: String(form.get('password')) });
  };
  const isUnverified = signingIn.error instanceof ApiError && signingIn.error.type === 'email_not_verified';
  return (
    <form onSubmit={submit} className="space-y-4">
      <TextField label="Email" name="email" type="email" autoComplete="username webauthn" required />
      <div>
        <TextField label="Password" name="password" type="password" autoComplete="current-password" required />
        <p className="mt-1 text-right text-sm">
          <Link to="/forgot-password" className="text-accent underline underline-offset-2">
            Forgot it?
          </Link>
        </p>
      </div>
      {isUnverified && <UnverifiedNotice email={signingIn.variables?.email ?? ''} />}
      {signingIn.isError && !isUnverified && (
        <p role="alert" className="text-danger">
          {sentenceOf(signingIn.error)}
        </p>
      )}
      <Button type="submit" look="primary" busy={signingIn.isPending} className="w-full">
        Sign in
      </Button>
    </form>
  );
}

function PasskeyButton({ onDone }: { onDone: () => Promise<void> }) {
  const showing = useChange({ mutationFn: () => signInWithPasskey(), onSuccess: onDone });
  const sentence = passkeySentence(showing.error);
  return (
    <div className="space-y-2">
      <Button
        className="w-full"
        busy={showing.isPending}
        icon={<Fingerprint aria-hidden className="size-4" />}
        onClick={() => showing.mutate()}
      >
        Sign in with a passkey
      </Button>
      {sentence !== undefined && (
        <p role="alert" className="text-sm text-danger">
          {sentence}
        </p>
      )}
    </div>
  );
}

function OpenidButton({ name, returnTo }: { name: string; returnTo: string }) {
  const going = useChange({
    mutationFn: () =>
      call('POST /v1/auth/sign-in/social', {
        body: { provider: 'openid', callbackURL: returnTo, errorCallbackURL: '/sign-in' },
      }),
    onSuccess: ({ url }) => window.location.assign(url),
  });
  return (
    <div className="space-y-2">
      <Button className="w-full" busy={going.isPending || going.isSuccess} onClick={() => going.mutate()}>
        Continue with {name}
      </Button>
      {going.isError && (
        <p role="alert" className="text-sm text-danger">
          {sentenceOf(going.error)}
        </p>
      )}
    </div>
  );
}
