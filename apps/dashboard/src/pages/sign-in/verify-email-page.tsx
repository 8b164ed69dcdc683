import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useRouter } from '@tanstack/react-router';
import { useState } from 'react';
import { ApiError, sentenceOf } from '../../api/errors.ts';
import { useForm } from '../../api/use-form.ts';
import { forgetLinkToken, linkToken } from '../../session/link-token.ts';
import { enterSession, sessionQuery } from '../../session/session.ts';
import { buttonClass, linkClass } from '../../ui/button.tsx';
import { Form } from '../../ui/form.tsx';
import { ErrorState, Loading } from '../../ui/surface.tsx';
import { Entry, LinkIncomplete } from './entry.tsx';
import { CurrentPasswordField } from './password-field.tsx';

/** The page of a mail's link that confirms an address: of a new account, or a new address of an account. */
export function VerifyEmailPage() {
  // The token is used and forgotten before the next page has loaded. Until then, this page stays.
  const [token] = useState(() => linkToken('verify-email'));
  const client = useQueryClient();
  const router = useRouter();
  const { data: user, error, refetch } = useQuery(sessionQuery);
  const [isOther, setOther] = useState(false);
  const form = useForm('POST /v1/auth/verify-email', {
    rest: { token: token ?? '' },
    onError: (failure) => setOther(failure instanceof ApiError && failure.type === 'refused'),
    onSuccess: async ({ signedIn }) => {
      forgetLinkToken('verify-email');
      await enterSession(client);
      await router.navigate({ to: signedIn ? '/account' : '/sign-in' });
    },
  });
  const { isError, error: refusal } = form.change;
  // A user of another account must know the password of the account that the link is for.
  const needsPassword = !user || isOther;
  if (token === null) return <LinkIncomplete title="Confirm your address" />;
  if (error !== null) return <ErrorState error={error} onRetry={() => void refetch()} />;
  if (user === undefined) return <Loading label="The page is loading" />;
  return (
    <Entry
      title="Confirm your address"
      lead={
        user
          ? `You are signed in as ${user.email}.`
          : 'Enter the password that you chose. This proves that the account is yours.'
      }
    >
      <Form form={form} showsErrors action="Confirm" wide>
        {needsPassword && <CurrentPasswordField {...form.text('password')} label="Password" autoFocus />}
        {isError && (
          <div role="alert" className="space-y-2">
            <p className="text-danger">{sentenceOf(refusal)}</p>
            <p className="text-sm">
              You did not choose a password here?{' '}
              <Link to="/forgot-password" className={linkClass}>
                Set one by mail
              </Link>
              . Then the account is yours, and earlier access to it ends.
            </p>
          </div>
        )}
      </Form>
      {user && (
        <Link to="/account" className={`${buttonClass('quiet', true)} mt-3`}>
          Not now
        </Link>
      )}
    </Entry>
  );
}
