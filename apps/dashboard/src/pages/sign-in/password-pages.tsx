import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useForm } from '../../api/use-form.ts';
import { forgetLinkToken, linkToken } from '../../session/link-token.ts';
import { leaveSession, signInMethodsQuery } from '../../session/session.ts';
import { buttonClass, linkClass } from '../../ui/button.tsx';
import { TextField } from '../../ui/field.tsx';
import { Form } from '../../ui/form.tsx';
import { Notice } from '../../ui/surface.tsx';
import { Entry, LinkIncomplete } from './entry.tsx';
import { NewPasswordField } from './password-field.tsx';

export function ForgotPasswordPage() {
  const { data: methods } = useQuery(signInMethodsQuery);
  const form = useForm('POST /v1/auth/request-password-reset', {});
  const { isSuccess, variables } = form.change;
  if (isSuccess) {
    return (
      <Entry title="Check your mail">
        <p>
          If <strong className="wrap-anywhere">{variables.email}</strong> has an account, we sent a link to it. It works
          once, within an hour.
        </p>
        {methods?.mail === 'printed' && (
          <p className="mt-3 text-sm text-muted">This deployment prints mail to the service’s terminal.</p>
        )}
        <Link to="/sign-in" className={`${buttonClass()} mt-4`}>
          Back to sign-in
        </Link>
      </Entry>
    );
  }
  return (
    <Entry
      title="Set a new password"
      lead={methods?.mail === 'none' || methods?.password === false ? undefined : 'We send you a link by mail.'}
    >
      {methods?.password === false ? (
        <PasswordsOff provider={methods.openid?.name} />
      ) : methods?.mail === 'none' ? (
        <Notice tone="warn">This deployment sends no mail. Ask its operator to restore your access.</Notice>
      ) : (
        <Form form={form} action="Send link" wide>
          <TextField {...form.text('email')} label="Email" autoComplete="email" />
        </Form>
      )}
      <p className="mt-4 text-sm">
        <Link to="/sign-in" className={linkClass}>
          Back to sign-in
        </Link>
      </p>
    </Entry>
  );
}

/** Shown instead of a form that the service would refuse. */
function PasswordsOff({ provider }: { provider: string | undefined }) {
  return <Notice tone="info">This deployment takes no passwords. Sign in with {provider}.</Notice>;
}

export function ResetPasswordPage() {
  const { data: methods } = useQuery(signInMethodsQuery);
  const [token] = useState(() => linkToken('reset-password'));
  const client = useQueryClient();
  const form = useForm('POST /v1/auth/reset-password', {
    rest: { token: token ?? '' },
    onSuccess: () => {
      forgetLinkToken('reset-password');
      // The service has ended all sessions, including this browser's.
      leaveSession(client);
    },
  });
  if (form.change.isSuccess) {
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
      {methods?.password === false ? (
        <PasswordsOff provider={methods.openid?.name} />
      ) : (
        <Form form={form} action="Set password" wide>
          <NewPasswordField {...form.text('newPassword')} label="New password" />
        </Form>
      )}
    </Entry>
  );
}
