import { useQuery } from '@tanstack/react-query';
import { errorElsewhere } from '../../api/errors.ts';
import { useChange } from '../../api/use-change.ts';
import type { SignedInUser } from '../../session/session.ts';
import { Button } from '../../ui/button.tsx';
import { Form, type FormProps } from '../../ui/change-form.tsx';
import { Card, ErrorLine, Loaded, Notice } from '../../ui/surface.tsx';
import { CurrentPasswordField, NewPasswordField } from '../sign-in/password-field.tsx';
import { askForReset, changePassword, hasPasswordQuery } from './account-queries.ts';

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
  const changing = useChange({
    mutationFn: changePassword,
    refreshes: { queryKey: ['account'] },
    says: 'Password changed. Your other sessions have ended.',
  });
  return (
    <Form
      change={changing}
      errors="inside"
      action="Change password"
      look="plain"
      onSubmit={(field, form) =>
        changing.mutate(
          {
            currentPassword: field('currentPassword'),
            newPassword: field('newPassword'),
            revokeOtherSessions: true,
          },
          { onSuccess: () => form.reset() },
        )
      }
    >
      <CurrentPasswordField label="Current password" name="currentPassword" error={errorElsewhere(changing.error)} />
      <NewPasswordField />
      <p className="text-sm text-muted">A new password ends your other sessions.</p>
    </Form>
  );
}

function NoPassword({ email }: { email: string }) {
  const asking = useChange({ mutationFn: askForReset });
  return (
    <div className="space-y-4">
      <p>Your account does not have a password. You sign in with your provider or a passkey.</p>
      {asking.isSuccess && <Notice tone="good">We sent you a link to set one.</Notice>}
      <ErrorLine error={asking.error} />
      <Button busy={asking.isPending} onClick={() => asking.mutate({ email })}>
        Send a link to set one
      </Button>
    </div>
  );
}

interface PasswordFormProps extends Pick<FormProps, 'change' | 'action' | 'look' | 'onCancel'> {
  readonly onPassword: (password: string) => void;
}

/** Asks for the password again before a way to sign in is changed. */
export function PasswordForm({ onPassword, ...form }: PasswordFormProps) {
  return (
    <Form {...form} errors="inside" onSubmit={(field) => onPassword(field('password'))}>
      <CurrentPasswordField label="Your password" error={errorElsewhere(form.change.error)} />
    </Form>
  );
}
