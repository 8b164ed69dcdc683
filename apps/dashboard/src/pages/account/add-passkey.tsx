import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { needsNewSignIn } from '../../api/errors.ts';
import { useChange } from '../../api/use-change.ts';
import { useForm } from '../../api/use-form.ts';
import { deviceWords } from '../../format/device.ts';
import { addPasskey, addressForPasskeys, canUsePasskeys, passkeySentence } from '../../session/passkeys.ts';
import type { SignedInUser } from '../../session/session.ts';
import { Button, linkClass } from '../../ui/button.tsx';
import { FormDialog } from '../../ui/form.tsx';
import { SignInFirst } from '../sign-in/entry.tsx';
import { CurrentPasswordField } from '../sign-in/password-field.tsx';
import { hasPasswordQuery, passkeysQuery } from './account-queries.ts';

/** Adds a passkey of this device. Asks for the password first, if the account has one. */
export function AddPasskey({ user }: { user: SignedInUser }) {
  const { data: hasPassword } = useQuery(hasPasswordQuery);
  const [isAsking, setAsking] = useState(false);
  const adding = useChange({
    mutationFn: (confirmation: string | undefined) =>
      addPasskey(deviceWords(navigator.userAgent) ?? 'Passkey', confirmation),
    refreshes: passkeysQuery,
  });
  const begin = (): void => (hasPassword === true ? setAsking(true) : adding.mutate(undefined));
  if (!canUsePasskeys()) return <NoPasskeysHere />;
  const isStale = needsNewSignIn(adding.error);
  const sentence = passkeySentence(adding.error);
  return (
    <div className="space-y-3">
      {!user.emailVerified && <p className="text-sm text-muted">Confirm your address first.</p>}
      <Button busy={adding.isPending} disabled={!user.emailVerified || hasPassword === undefined} onClick={begin}>
        Add a passkey
      </Button>
      {isAsking && (
        <ConfirmPassword
          onClose={() => setAsking(false)}
          onConfirmed={(confirmation) => {
            setAsking(false);
            adding.mutate(confirmation);
          }}
        />
      )}
      {isStale && <SignInFirst goal="add the passkey" returnTo="/account" />}
      {!isStale && sentence !== undefined && (
        <p role="alert" className="text-danger">
          {sentence}
        </p>
      )}
    </div>
  );
}

interface ConfirmPasswordProps {
  readonly onClose: () => void;
  readonly onConfirmed: (confirmation: string) => void;
}

function ConfirmPassword({ onClose, onConfirmed }: ConfirmPasswordProps) {
  const form = useForm('POST /v1/auth/confirm-password', {
    onSuccess: ({ confirmation }) => onConfirmed(confirmation),
  });
  return (
    <FormDialog
      form={form}
      title="Confirm your password"
      description="A passkey signs in without the password, so confirm that it is you."
      action="Continue"
      onClose={onClose}
    >
      <CurrentPasswordField {...form.text('password', { every: true })} label="Your password" />
    </FormDialog>
  );
}

function NoPasskeysHere() {
  const elsewhere = addressForPasskeys();
  return (
    <p className="text-sm text-muted">
      {elsewhere === null ? (
        'This browser does not support passkeys on this page.'
      ) : (
        <>
          Browsers do not support passkeys on numeric addresses. Open{' '}
          <a href={elsewhere} className={linkClass}>
            {elsewhere}
          </a>
          .
        </>
      )}
    </p>
  );
}
