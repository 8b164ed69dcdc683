import { useQuery } from '@tanstack/react-query';
import { useForm } from '../../api/use-form.ts';
import { signInMethodsQuery } from '../../session/session.ts';
import { Form } from '../../ui/form.tsx';
import { Card, Loaded } from '../../ui/surface.tsx';
import { CurrentPasswordField, NewPasswordField } from '../sign-in/password-field.tsx';
import { hasPasswordQuery } from './account-queries.ts';

export function PasswordCard() {
  return (
    <Loaded query={useQuery(hasPasswordQuery)} label="The password is loading">
      {(hasPassword) => <Card title="Password">{hasPassword ? <ChangeForm /> : <NoPassword />}</Card>}
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

/** The service mails no link to set one: the person would keep a way in after leaving the provider. */
function NoPassword() {
  const { data: methods } = useQuery(signInMethodsQuery);
  return (
    <p>
      Your account does not have a password. You sign in with {methods?.openid?.name ?? 'your provider'} or a passkey.
      The operator can give you a link to set one.
    </p>
  );
}
