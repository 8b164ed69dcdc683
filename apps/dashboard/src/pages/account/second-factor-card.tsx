import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useChange } from '../../api/use-change.ts';
import { type SignedInUser, sessionQuery } from '../../session/session.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Card } from '../../ui/surface.tsx';
import { disableSecondFactor, hasPasswordQuery, newBackupCodes } from './account-queries.ts';
import { BackupCodes, EnrolDialog } from './enrol-dialog.tsx';
import { PasswordForm } from './password-card.tsx';

type Asking = 'enrol' | 'codes' | 'disable';

/** The authenticator app, which a sign-in with a password asks for. */
export function SecondFactorCard({ user }: { user: SignedInUser }) {
  const { data: hasPassword } = useQuery(hasPasswordQuery);
  const missing = user.emailVerified
    ? hasPassword === false && 'It needs a password, and your account does not have one.'
    : 'Confirm your address first.';
  const [asking, setAsking] = useState<Asking>();
  const close = (): void => setAsking(undefined);
  return (
    <Card
      title={
        <span className="inline-flex items-center gap-2">
          Authenticator app {user.twoFactorEnabled ? <Badge tone="good">On</Badge> : <Badge>Off</Badge>}
        </span>
      }
      lead="Asks for a code after the password, so that the password alone is not enough. Passkeys need no code."
    >
      <div className="space-y-4">
        {user.twoFactorEnabled ? (
          <div className="flex flex-wrap gap-2">
            <Button onClick={() => setAsking('codes')}>Create new backup codes</Button>
            <Button look="danger" onClick={() => setAsking('disable')}>
              Turn off
            </Button>
          </div>
        ) : (
          <>
            {missing && <p className="text-sm text-muted">{missing}</p>}
            <Button disabled={missing !== false} onClick={() => setAsking('enrol')}>
              Set up an app
            </Button>
          </>
        )}
      </div>
      {asking === 'enrol' && <EnrolDialog onClose={close} />}
      {asking === 'codes' && <CodesDialog onClose={close} />}
      {asking === 'disable' && <DisableDialog onClose={close} />}
    </Card>
  );
}

function CodesDialog({ onClose }: { onClose: () => void }) {
  const making = useChange({ mutationFn: newBackupCodes });
  // The answer has the only codes that still work.
  const close = () => !making.isPending && onClose();
  return (
    <Dialog onClose={close} title="Create new backup codes" description="Your current codes stop working.">
      {making.isSuccess ? (
        <div className="space-y-4">
          <BackupCodes codes={making.data.backupCodes} />
          <Button look="primary" onClick={onClose}>
            I saved the codes
          </Button>
        </div>
      ) : (
        <PasswordForm
          action="Create new codes"
          change={making}
          onPassword={(password) => making.mutate({ password })}
          onCancel={close}
        />
      )}
    </Dialog>
  );
}

function DisableDialog({ onClose }: { onClose: () => void }) {
  const disabling = useChange({
    mutationFn: disableSecondFactor,
    refreshes: sessionQuery,
    onSuccess: onClose,
    says: 'The authenticator app is off.',
  });
  return (
    <Dialog
      onClose={onClose}
      title="Turn off the authenticator app?"
      description="Your password alone will be enough to sign in."
    >
      <PasswordForm
        action="Turn off"
        look="danger"
        change={disabling}
        onPassword={(password) => disabling.mutate({ password })}
        onCancel={onClose}
      />
    </Dialog>
  );
}
