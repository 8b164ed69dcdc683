import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { ApiError } from '../../api/call.ts';
import { useChange } from '../../api/use-change.ts';
import { deviceWords } from '../../format/device.ts';
import { addPasskey, addressForPasskeys, canUsePasskeys, passkeySentence } from '../../session/passkeys.ts';
import type { SignedInUser } from '../../session/session.ts';
import { Button, buttonClass } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Notice } from '../../ui/surface.tsx';
import { confirmPassword, hasPasswordQuery, passkeysQuery } from './account-queries.ts';
import { PasswordForm } from './password-form.tsx';

/** Adds a passkey of this device, after the password where the account has one. */
export function AddPasskey({ user }: { user: SignedInUser }) {
  const client = useQueryClient();
  const { data: hasPassword } = useQuery(hasPasswordQuery);
  const [isAsking, setAsking] = useState(false);
  const adding = useChange({
    mutationFn: (confirmation: string | undefined) =>
      addPasskey(deviceWords(navigator.userAgent) ?? 'Passkey', confirmation),
    onSuccess: () => client.invalidateQueries({ queryKey: passkeysQuery.queryKey }),
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
  const isStale = adding.error instanceof ApiError && adding.error.type === 'session_not_fresh';
  const sentence = passkeySentence(adding.error);
  return (
    <div className="space-y-3">
      {!user.emailVerified && <p className="text-sm text-muted">Confirm your address first.</p>}
      <Button busy={adding.isPending} disabled={!user.emailVerified || hasPassword === undefined} onClick={begin}>
        Add a passkey
      </Button>
      {isAsking && (
        <Dialog
          open
          onOpenChange={setAsking}
          title="Confirm your password"
          description="A passkey signs in without it, so only you may add one."
        >
          <PasswordForm
            action="Continue"
            busy={confirming.isPending}
            error={confirming.error}
            onPassword={(password) => confirming.mutate({ password })}
            onCancel={() => setAsking(false)}
          />
        </Dialog>
      )}
      {isStale && (
        <Notice tone="warn">
          <p>Your sign-in is more than five minutes ago. Sign in again, then add the passkey.</p>
          <Link to="/sign-in" search={{ return_to: '/account' }} className={`${buttonClass('plain', true)} mt-2`}>
            Sign in again
          </Link>
        </Notice>
      )}
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
        'This browser has no passkeys for this page.'
      ) : (
        <>
          Browsers have no passkeys for numeric addresses: open{' '}
          <a href={elsewhere} className="text-accent underline underline-offset-2">
            {elsewhere}
          </a>
          .
        </>
      )}
    </p>
  );
}
