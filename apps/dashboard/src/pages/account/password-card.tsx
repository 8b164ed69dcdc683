import { useQuery } from '@tanstack/react-query';
import { call } from '../../api/call.ts';
import { useChange } from '../../api/use-change.ts';
import { useForm } from '../../api/use-form.ts';
import type { SignedInUser } from '../../session/session.ts';
import { Button } from '../../ui/button.tsx';
import { Form } from '../../ui/form.tsx';
import { Card, ErrorLine, Loaded, Notice } from '../../ui/surface.tsx';
import { CurrentPasswordField, NewPasswordField } from '../sign-in/password-field.tsx';
import { hasPasswordQuery } from './account-queries.ts';

export function PasswordCard({ user }: { user: SignedInUser }) {
  return (
    <Loaded query={useQuery(hasPasswordQuery)} label="The password is loading">
      {(hasPassword) => (
        <Card title="Password">{hasPassword ? <ChangeForm /> : <NoPassword email={user.email} />}</Card>
      )}
    </Loaded>
  );
}

function ChangeForm() {
  const form = useForm('POST /v1/auth/change-password', {
    rest: { revokeOtherSessions: true },
    clears: ['currentPassword', 'newPassword'],
    refreshes: { queryKey: ['account'] },
    says: 'Password changed. Your other sessions have ended.',
  });
  return (
    <Form form={form} action="Change password" look="plain">
      <CurrentPasswordField {...form.text('currentPassword', { every: true })} label="Current password" />
      <NewPasswordField {...form.text('newPassword')} label="New password" />
      <p className="text-sm text-muted">A new password ends your other sessions.</p>
    </Form>
  );
}

function NoPassword({ email }: { email: string }) {
  const asking = useChange({
    mutationFn: () => call('POST /v1/auth/request-password-reset', { body: { email } }),
  });
  return (
    <div className="space-y-4">
      <p>Your account does not have a password. You sign in with your provider or a passkey.</p>
      {asking.isSuccess && <Notice tone="good">We sent you a link to set one.</Notice>}
      <ErrorLine error={asking.error} />
      <Button busy={asking.isPending} onClick={() => asking.mutate()}>
        Send a link to set one
      </Button>
    </div>
  );
}
