import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { needsNewSignIn } from '../../api/errors.ts';
import { useChange } from '../../api/use-change.ts';
import { deviceWords } from '../../format/device.ts';
import { addPasskey, addressForPasskeys, canUsePasskeys, passkeySentence } from '../../session/passkeys.ts';
import type { SignedInUser } from '../../session/session.ts';
import { Button, linkClass } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { SignInFirst } from '../sign-in/entry.tsx';
import { confirmPassword, hasPasswordQuery, passkeysQuery } from './account-queries.ts';
import { PasswordForm } from './password-card.tsx';

/** Adds a passkey of this device. Asks for the password first, if the account has one. */
export function AddPasskey({ user }: { user: SignedInUser }) {
  const { data: hasPassword } = useQuery(hasPasswordQuery);
  const [isAsking, setAsking] = useState(false);
  const adding = useChange({
    mutationFn: (confirmation: string | undefined) =>
      addPasskey(deviceWords(navigator.userAgent) ?? 'Passkey', confirmation),
    refreshes: passkeysQuery,
  });
  const confirming = useChange({
    mutationFn: confirmPassword,
    gcTime: 0,
    onSuccess: ({ confirmation }) => {
      setAsking(false);
      adding.mutate(confirmation);
    },
  });
  const begin = (): void => {
    confirming.reset();
    if (hasPassword === true) setAsking(true);
    else adding.mutate(undefined);
  };
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
        <Dialog
          onClose={() => setAsking(false)}
          title="Confirm your password"
          description="A passkey signs in without the password, so confirm that it is you."
        >
          <PasswordForm
            action="Continue"
            change={confirming}
            onPassword={(password) => confirming.mutate({ password })}
            onCancel={() => setAsking(false)}
          />
        </Dialog>
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
