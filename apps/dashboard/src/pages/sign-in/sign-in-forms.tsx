import { Link } from '@tanstack/react-router';
import { Fingerprint } from 'lucide-react';
import { ApiError } from '../../api/errors.ts';
import { useChange } from '../../api/use-change.ts';
import { useForm } from '../../api/use-form.ts';
import { passkeySentence, signInWithPasskey } from '../../session/passkeys.ts';
import { Button, linkClass } from '../../ui/button.tsx';
import { TextField } from '../../ui/field.tsx';
import { Form } from '../../ui/form.tsx';
import { Notice } from '../../ui/surface.tsx';
import { MailAgain } from './entry.tsx';
import { CurrentPasswordField } from './password-field.tsx';

interface PasswordFormProps {
  /** The address of a user who signs in again over a page, which must stay. */
  readonly email?: string;
  readonly onDone: (needsSecond: boolean) => void | Promise<void>;
}

/** Signs in with address and password. `onDone` learns whether a second factor is needed. */
export function PasswordForm({ email, onDone }: PasswordFormProps) {
  const form = useForm('POST /v1/auth/sign-in/email', {
    start: { email },
    onSuccess: (answer) => onDone('twoFactorRedirect' in answer),
  });
  const { error, variables } = form.change;
  const isUnverified = error instanceof ApiError && error.type === 'email_not_verified';
  return (
    <Form form={form} showsErrors={isUnverified} action="Sign in" wide>
      <TextField {...form.text('email')} label="Email" autoComplete="username webauthn" />
      <div>
        <CurrentPasswordField {...form.text('password')} label="Password" />
        <p className="mt-1 text-right text-sm">
          <Link to="/forgot-password" {...(email === undefined ? {} : { target: '_blank' })} className={linkClass}>
            Forgot password?{email !== undefined && <span className="sr-only"> (opens a new tab)</span>}
          </Link>
        </p>
      </div>
      {isUnverified && <UnverifiedNotice email={variables?.email ?? ''} />}
    </Form>
  );
}

interface PasskeyButtonProps {
  readonly onDone: () => Promise<void>;
  /** Why a passkey that was chosen in the address field failed. */
  readonly offerError?: unknown;
}

/** Signs in with a passkey that the browser asks for. */
export function PasskeyButton({ onDone, offerError }: PasskeyButtonProps) {
  const showing = useChange({ mutationFn: () => signInWithPasskey(), onSuccess: onDone });
  const sentence = passkeySentence(showing.isIdle ? offerError : showing.error);
  return (
    <div className="space-y-2">
      <Button
        className="w-full"
        busy={showing.isPending}
        icon={<Fingerprint aria-hidden className="size-4" />}
        onClick={() => showing.mutate()}
      >
        Sign in with a passkey
      </Button>
      {sentence !== undefined && (
        <p role="alert" className="text-sm text-danger">
          {sentence}
        </p>
      )}
    </div>
  );
}

/** The password was right, but the address is not confirmed yet. */
function UnverifiedNotice({ email }: { email: string }) {
  return (
    <Notice tone="warn">
      <p>
        Confirm your address. We sent a link to <span className="wrap-anywhere">{email}</span>.
      </p>
      <MailAgain email={email} action="Send another link" />
    </Notice>
  );
}
