import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { FormEvent } from 'react';
import { call, sentenceOf } from '../../api/call.ts';
import { useChange } from '../../api/use-change.ts';
import { signInMethodsQuery } from '../../session/sign-in-methods.ts';
import { Button, buttonClass } from '../../ui/button.tsx';
import { TextField } from '../../ui/field.tsx';
import { Notice } from '../../ui/surface.tsx';
import { Entry } from './entry.tsx';

export function ForgotPasswordPage() {
  const { data: methods } = useQuery(signInMethodsQuery);
  const asking = useChange({
    mutationFn: (email: string) => call('POST /v1/auth/request-password-reset', { body: { email } }),
  });
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    asking.mutate(String(new FormData(event.currentTarget).get('email')));
  };
  if (asking.isSuccess) {
    return (
      <Entry title="Look at your mail">
        <p>
          If <strong className="break-all">{asking.variables}</strong> has an account, a link was mailed to it. It is
          good once, for an hour.
        </p>
        {methods?.mail === 'printed' && (
          <p className="mt-3 text-sm text-muted">Here mail is printed where the service runs.</p>
        )}
        <Link to="/sign-in" className={`${buttonClass()} mt-4`}>
          Back to signing in
        </Link>
      </Entry>
    );
  }
  return (
    <Entry title="Set a new password" lead="By a link that is mailed to you.">
      {methods?.mail === 'none' ? (
        <Notice tone="warn">This deployment sends no mail. Ask whoever runs it for a way back in.</Notice>
      ) : (
        <form onSubmit={submit} className="space-y-4">
          <TextField label="Email" name="email" type="email" autoComplete="email" required />
          {asking.isError && (
            <p role="alert" className="text-danger">
              {sentenceOf(asking.error)}
            </p>
          )}
          <Button type="submit" look="primary" busy={asking.isPending} className="w-full">
            Mail me a link
          </Button>
        </form>
      )}
      <p className="mt-4 text-sm">
        <Link to="/sign-in" className="text-accent underline underline-offset-2">
          Back to signing in
        </Link>
      </p>
    </Entry>
  );
}
