import { useQuery } from '@tanstack/react-query';
import { Link, useSearch } from '@tanstack/react-router';
import type { FormEvent, ReactNode } from 'react';
import { call, sentenceOf } from '../../api/call.ts';
import { useChange } from '../../api/use-change.ts';
import { safeReturnTo } from '../../session/return-to.ts';
import { signInMethodsQuery } from '../../session/sign-in-methods.ts';
import { Button, buttonClass } from '../../ui/button.tsx';
import { TextField } from '../../ui/field.tsx';
import { Entry } from './entry.tsx';
import { NewPasswordField } from './password-field.tsx';

export function SignUpPage() {
  const { data: methods } = useQuery(signInMethodsQuery);
  const signingUp = useChange({
    mutationFn: (given: { name: string; email: string; password: string }) =>
      call('POST /v1/auth/sign-up/email', { body: given }),
  });
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const [name, email, password] = ['name', 'email', 'newPassword'].map((field) => String(form.get(field)));
    signingUp.mutate({ name: name ?? '', email: email ?? '', password: password ?? '' });
  };
  if (signingUp.isSuccess) return <Made email={signingUp.variables.email} isMailed={methods?.mail === 'sent'} />;
  return (
    <Entry title="Create an account">
      <form onSubmit={submit} className="space-y-4">
        <TextField label="Name" name="name" autoComplete="name" required maxLength={100} />
        <TextField label="Email" name="email" type="email" autoComplete="email" required />
        <NewPasswordField label="Password" />
        {signingUp.isError && (
          <p role="alert" className="text-danger">
            {sentenceOf(signingUp.error)}
          </p>
        )}
        <Button type="submit" look="primary" busy={signingUp.isPending} className="w-full">
          Create the account
        </Button>
      </form>
      <p className="mt-4 text-sm text-muted">
        You have one? <SignInLink className="text-accent underline underline-offset-2">Sign in</SignInLink>
      </p>
    </Entry>
  );
}

/** The same for an address that has an account already: its owner is told by mail. */
function Made({ email, isMailed }: { email: string; isMailed: boolean }) {
  if (isMailed) {
    return (
      <Entry title="Look at your mail" lead="One step is left.">
        <p>
          A link was mailed to <strong className="break-all">{email}</strong>. It confirms the address, with the
          password that you chose, within an hour.
        </p>
        <p className="mt-3 text-sm text-muted">Nothing came? Sign in, and another link is sent.</p>
        <SignInLink className={`${buttonClass()} mt-4`}>Sign in</SignInLink>
      </Entry>
    );
  }
  return (
    <Entry title="Almost there" lead="Your account is made.">
      <SignInLink className={buttonClass('primary')}>Sign in</SignInLink>
    </Entry>
  );
}

/** Leads on to where signing in was asked for. */
function SignInLink({ className, children }: { className: string; children: ReactNode }) {
  const { return_to: returnTo } = useSearch({ from: '/sign-up' });
  return (
    <Link to="/sign-in" search={{ return_to: safeReturnTo(returnTo) }} className={className}>
      {children}
    </Link>
  );
}
