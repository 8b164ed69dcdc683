import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link, useRouter, useSearch } from '@tanstack/react-router';
import type { FormEvent } from 'react';
import { call, sentenceOf } from '../../api/call.ts';
import { safeReturnTo } from '../../session/return-to.ts';
import { sessionQuery } from '../../session/session.ts';
import { Button } from '../../ui/button.tsx';
import { TextField } from '../../ui/field.tsx';
import { Entry } from './entry.tsx';

export function SignInPage() {
  const { return_to: returnTo } = useSearch({ from: '/sign-in' });
  const client = useQueryClient();
  const router = useRouter();
  const signingIn = useMutation({
    mutationFn: (given: { email: string; password: string }) =>
      call('/auth/sign-in/email', { method: 'POST', body: given }),
    onSuccess: async () => {
      client.clear();
      await client.fetchQuery(sessionQuery);
      router.history.push(safeReturnTo(returnTo));
    },
  });
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    signingIn.mutate({ email: String(form.get('email')), password: String(form.get('password')) });
  };
  return (
    <Entry title="Sign in">
      <form onSubmit={submit} className="space-y-4">
        <TextField label="Email" name="email" type="email" autoComplete="username webauthn" required />
        <TextField label="Password" name="password" type="password" autoComplete="current-password" required />
        {signingIn.isError && (
          <p role="alert" className="text-danger">
            {sentenceOf(signingIn.error)}
          </p>
        )}
        <Button type="submit" look="primary" busy={signingIn.isPending} className="w-full">
          Sign in
        </Button>
      </form>
      <p className="mt-4 text-sm text-muted">
        No account yet?{' '}
        <Link to="/sign-up" className="text-accent underline underline-offset-2">
          Sign up
        </Link>
      </p>
    </Entry>
  );
}
