import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useRouter, useSearch } from '@tanstack/react-router';
import { useCallback, useEffect, useState } from 'react';
import { call } from '../../api/call.ts';
import { useChange } from '../../api/use-change.ts';
import { canUsePasskeys, offerPasskeys } from '../../session/passkeys.ts';
import { safeReturnTo } from '../../session/return-to.ts';
import { enterSession, signInMethodsQuery } from '../../session/session.ts';
import { Button, linkClass } from '../../ui/button.tsx';
import { ErrorLine, Notice } from '../../ui/surface.tsx';
import { ThreeModes } from '../../verification/privacy-path.tsx';
import { Entry } from './entry.tsx';
import { Invited } from './invited.tsx';
import { SecondStep } from './second-step.tsx';
import { PasskeyButton, PasswordForm } from './sign-in-forms.tsx';

export function SignInPage() {
  const { return_to: returnTo, error } = useSearch({ from: '/sign-in' });
  const [isHalf, setHalf] = useState(false);
  const [offerError, setOfferError] = useState<unknown>();
  const client = useQueryClient();
  const router = useRouter();
  const enter = useCallback(async () => {
    await enterSession(client);
    router.history.push(safeReturnTo(returnTo));
  }, [client, router, returnTo]);
  const { data: methods } = useQuery(signInMethodsQuery);
  const hasPasswords = methods?.password !== false;
  useEffect(() => {
    if (methods?.passkey !== true) return;
    const leaving = new AbortController();
    offerPasskeys(leaving.signal)
      .then((isSignedIn) => (isSignedIn ? enter() : undefined))
      .catch(setOfferError);
    return () => leaving.abort();
  }, [enter, methods?.passkey]);

  if (isHalf) return <SecondStep onDone={enter} onBack={() => setHalf(false)} />;
  return (
    <Entry title="Sign in" aside={<ThreeModes />}>
      <div className="space-y-4">
        <Invited returnTo={safeReturnTo(returnTo)} />
        {error !== undefined && <Notice tone="danger">{errorWords(error)}</Notice>}
        {hasPasswords && <PasswordForm onDone={(needsSecond) => (needsSecond ? setHalf(true) : enter())} />}
        {methods?.passkey !== false && canUsePasskeys() && <PasskeyButton onDone={enter} offerError={offerError} />}
        {methods?.openid && (
          <OpenidButton name={methods.openid.name} returnTo={safeReturnTo(returnTo)} isOnly={!hasPasswords} />
        )}
      </div>
      {hasPasswords && methods?.sign_up !== 'closed' && (
        <p className="mt-4 text-sm text-muted">
          No account yet?{' '}
          <Link to="/sign-up" search={{ return_to: safeReturnTo(returnTo) }} className={linkClass}>
            Sign up
          </Link>
        </p>
      )}
    </Entry>
  );
}

interface OpenidButtonProps {
  readonly name: string;
  readonly returnTo: string;
  /** Whether there is no other way to sign in. */
  readonly isOnly: boolean;
}

export function OpenidButton({ name, returnTo, isOnly }: OpenidButtonProps) {
  const going = useChange({
    mutationFn: () =>
      call('POST /v1/auth/sign-in/social', {
        body: { provider: 'openid', callbackURL: returnTo, errorCallbackURL: '/sign-in' },
      }),
    onSuccess: ({ url }) => window.location.assign(url),
  });
  return (
    <div className="space-y-2">
      <Button
        className="w-full"
        look={isOnly ? 'primary' : 'plain'}
        busy={going.isPending || going.isSuccess}
        onClick={() => going.mutate()}
      >
        Continue with {name}
      </Button>
      <ErrorLine error={going.error} className="text-sm" />
    </div>
  );
}

const words: Readonly<Record<string, string>> = {
  email_not_verified: 'Your address is not verified there. Verify it with the provider, then try again.',
  email_not_found: 'The provider did not share your address, so you cannot sign in with it.',
  account_not_linked:
    'An account with your address exists, but the address is not verified. Set its password by mail first.',
  account_disabled: 'This account is disabled. Ask the operator of this deployment.',
  sign_up_refused: 'Your address cannot sign up here. Ask the operator of this deployment for an invitation.',
  signed_out: 'The provider ended this sign-in. Try again.',
  access_denied: 'You canceled the sign-in at the provider.',
};

/** The sentence for an error code of a sign-in at the OpenID provider. */
const errorWords = (code: string): string => words[code] ?? 'Sign-in failed. Try again.';
