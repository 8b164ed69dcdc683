import { useMutation } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { FormEvent } from 'react';
import { call, sentenceOf } from '../../api/call.ts';
import { Button, buttonClass } from '../../ui/button.tsx';
import { TextField } from '../../ui/field.tsx';
import { Entry } from './entry.tsx';

export function SignUpPage() {
  const signingUp = useMutation({
    mutationFn: (given: { name: string; email: string; password: string }) =>
      call('/auth/sign-up/email', { method: 'POST', body: given }),
  });
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const [name, email, password] = ['name', 'email', 'password'].map((field) => String(form.get(field)));
    signingUp.mutate({ name: name ?? '', email: email ?? '', password: password ?? '' });
  };
  if (signingUp.isSuccess) {
    return (
      <Entry title="Almost there" lead="Your account is made.">
        <Link to="/sign-in" className={buttonClass('primary')}>
          Sign in
        </Link>
      </Entry>
    );
  }
  return (
    <Entry title="Create an account">
      <form onSubmit={submit} className="space-y-4">
        <TextField label="Name" name="name" autoComplete="name" required maxLength={100} />
        <TextField label="Email" name="email" type="email" autoComplete="email" required />
        <TextField
          label="Password"
          name="password"
          type="password"
          autoComplete="new-password"
          minLength={8}
          maxLength={128}
          hint="At least 8 characters."
          required
        />
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
        You have one?{' '}
        <Link to="/sign-in" className="text-accent underline underline-offset-2">
          Sign in
        </Link>
      </p>
    </Entry>
  );
}
