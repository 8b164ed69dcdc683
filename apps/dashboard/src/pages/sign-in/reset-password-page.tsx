import { useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { FormEvent } from 'react';
import { call, sentenceOf } from '../../api/call.ts';
import { useChange } from '../../api/use-change.ts';
import { forgetLinkToken, linkToken } from '../../session/link-token.ts';
import { leaveSession } from '../../session/session.ts';
import { Button, buttonClass } from '../../ui/button.tsx';
import { Entry } from './entry.tsx';
import { LinkIncomplete } from './link-incomplete.tsx';
import { NewPasswordField } from './password-field.tsx';

export function ResetPasswordPage() {
  const token = linkToken('reset-password');
  const client = useQueryClient();
  const setting = useChange({
    mutationFn: (newPassword: string) =>
      call('POST /v1/auth/reset-password', { body: { token: token ?? '', newPassword } }),
    onSuccess: () => {
      forgetLinkToken('reset-password');
      // All sessions have ended, this browser's with them.
      leaveSession(client);
    },
  });
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    setting.mutate(String(new FormData(event.currentTarget).get('newPassword')));
  };
  if (setting.isSuccess) {
    return (
      <Entry title="Your password is set" lead="Every session of the account has ended.">
        <Link to="/sign-in" className={buttonClass('primary')}>
          Sign in
        </Link>
      </Entry>
    );
  }
  if (token === null) return <LinkIncomplete title="Set a new password" />;
  return (
    <Entry title="Set a new password" lead="It ends every session of the account.">
      <form onSubmit={submit} className="space-y-4">
        <NewPasswordField />
        {setting.isError && (
          <p role="alert" className="text-danger">
            {sentenceOf(setting.error)}
          </p>
        )}
        <Button type="submit" look="primary" busy={setting.isPending} className="w-full">
          Set the password
        </Button>
      </form>
    </Entry>
  );
}
