import { useQuery, useQueryClient } from '@tanstack/react-query';
import type { FormEvent } from 'react';
import { sentenceOf } from '../../api/call.ts';
import { useChange } from '../../api/use-change.ts';
import type { SignedInUser } from '../../session/session.ts';
import { Button } from '../../ui/button.tsx';
import { TextField } from '../../ui/field.tsx';
import { Loading } from '../../ui/skeleton.tsx';
import { Card, ErrorState, Notice } from '../../ui/surface.tsx';
import { useAnnounce } from '../../ui/toasts.tsx';
import { NewPasswordField } from '../sign-in/password-field.tsx';
import { askForReset, changePassword, hasPasswordQuery } from './account-queries.ts';

export function PasswordCard({ user }: { user: SignedInUser }) {
  const { data: hasPassword, error, refetch } = useQuery(hasPasswordQuery);
  if (error !== null) return <ErrorState error={error} onRetry={() => void refetch()} />;
  if (hasPassword === undefined) return <Loading label="The password is loading" />;
  return <Card title="Password">{hasPassword ? <ChangeForm /> : <NoPassword email={user.email} />}</Card>;
}

function ChangeForm() {
  const client = useQueryClient();
  const announce = useAnnounce();
  const changing = useChange({
    mutationFn: changePassword,
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: ['account'] });
      announce({ text: 'Your password is changed, and your other sessions have ended.' });
    },
  });
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const target = event.currentTarget;
    const form = new FormData(target);
    changing.mutate(
      {
        currentPassword: String(form.get('currentPassword')),
        newPassword: String(form.get('newPassword')),
        revokeOtherSessions: true,
      },
      { onSuccess: () => target.reset() },
    );
  };
  return (
    <form onSubmit={submit} className="space-y-4">
      <TextField
        label="Current password"
        name="currentPassword"
        type="password"
        autoComplete="current-password"
        required
        error={changing.isError ? sentenceOf(changing.error) : undefined}
      />
      <NewPasswordField />
      <p className="text-sm text-muted">A new one ends your other sessions.</p>
      <Button type="submit" busy={changing.isPending}>
        Change the password
      </Button>
    </form>
  );
}

function NoPassword({ email }: { email: string }) {
  const asking = useChange({ mutationFn: askForReset });
  return (
    <div className="space-y-4">
      <p>Your account has none: you sign in with your provider or a passkey.</p>
      {asking.isSuccess && <Notice tone="good">A link to set one was mailed to you.</Notice>}
      {asking.isError && (
        <p role="alert" className="text-danger">
          {sentenceOf(asking.error)}
        </p>
      )}
      <Button busy={asking.isPending} onClick={() => asking.mutate({ email })}>
        Mail me a link to set one
      </Button>
    </div>
  );
}
