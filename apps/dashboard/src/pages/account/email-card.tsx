import { useQuery } from '@tanstack/react-query';
import type { FormEvent } from 'react';
import { sentenceOf } from '../../api/call.ts';
import { useChange } from '../../api/use-change.ts';
import type { SignedInUser } from '../../session/session.ts';
import { signInMethodsQuery } from '../../session/sign-in-methods.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { TextField } from '../../ui/field.tsx';
import { Card, Notice } from '../../ui/surface.tsx';
import { changeEmail, hasPasswordQuery, sendVerification } from './account-queries.ts';

/** The address: whether it is proved, and another one. */
export function EmailCard({ user }: { user: SignedInUser }) {
  const { data: methods } = useQuery(signInMethodsQuery);
  const hasMail = methods !== undefined && methods.mail !== 'none';
  return (
    <Card title="Email">
      <div className="space-y-4">
        <p className="flex flex-wrap items-center gap-2">
          <span className="break-all">{user.email}</span>
          {user.emailVerified ? <Badge tone="good">Confirmed</Badge> : <Badge tone="warn">Not confirmed</Badge>}
        </p>
        {!user.emailVerified && hasMail && <Unconfirmed email={user.email} />}
        {methods?.mail === 'none' && (
          <p className="text-sm text-muted">
            This deployment sends no mail, so an address can be neither confirmed nor changed here.
          </p>
        )}
        {hasMail && <ChangeForm />}
      </div>
    </Card>
  );
}

function Unconfirmed({ email }: { email: string }) {
  const sending = useChange({ mutationFn: sendVerification });
  return (
    <Notice tone="warn">
      <p>Until it is confirmed, passkeys, an authenticator app and invitations wait.</p>
      <div className="mt-2 flex flex-wrap items-center gap-2">
        <Button small busy={sending.isPending} onClick={() => sending.mutate({ email })}>
          Mail me a link
        </Button>
        {sending.isSuccess && <span>It is on its way.</span>}
        {sending.isError && <span role="alert">{sentenceOf(sending.error)}</span>}
      </div>
    </Notice>
  );
}

function ChangeForm() {
  const { data: hasPassword } = useQuery(hasPasswordQuery);
  const changing = useChange({ mutationFn: changeEmail });
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const target = event.currentTarget;
    const form = new FormData(target);
    const password = form.get('password');
    changing.mutate(
      { newEmail: String(form.get('newEmail')), ...(password === null ? {} : { password: String(password) }) },
      { onSuccess: () => target.reset() },
    );
  };
  return (
    <form onSubmit={submit} className="space-y-4">
      <TextField label="New address" name="newEmail" type="email" autoComplete="email" required />
      {hasPassword === true && (
        <TextField label="Your password" name="password" type="password" autoComplete="current-password" required />
      )}
      {changing.isError && (
        <p role="alert" className="text-danger">
          {sentenceOf(changing.error)}
        </p>
      )}
      {changing.isSuccess && (
        <Notice tone="good">
          A link was mailed to <span className="break-all">{changing.variables.newEmail}</span>. The address changes
          when you follow it.
        </Notice>
      )}
      <Button type="submit" busy={changing.isPending}>
        Change the address
      </Button>
    </form>
  );
}
