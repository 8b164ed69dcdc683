import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useChange } from '../../api/use-change.ts';
import { type SignedInUser, sessionQuery } from '../../session/session.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Card } from '../../ui/surface.tsx';
import { useAnnounce } from '../../ui/toasts.tsx';
import { disableSecondFactor, hasPasswordQuery, newBackupCodes } from './account-queries.ts';
import { BackupCodes } from './backup-codes.tsx';
import { EnrolDialog } from './enrol-dialog.tsx';
import { PasswordForm } from './password-form.tsx';

type Asking = 'enrol' | 'codes' | 'disable';

/** The authenticator app, which a sign-in with a password asks for. */
export function SecondFactorCard({ user }: { user: SignedInUser }) {
  const { data: hasPassword } = useQuery(hasPasswordQuery);
  const missing = user.emailVerified
    ? hasPassword === false && 'It stands beside a password, of which your account has none.'
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
      lead="A code beside the password, so that a password alone opens nothing. A passkey asks for none."
    >
      <div className="space-y-4">
        {user.twoFactorEnabled ? (
          <div className="flex flex-wrap gap-2">
            <Button onClick={() => setAsking('codes')}>New backup codes</Button>
            <Button look="danger" onClick={() => setAsking('disable')}>
              Switch off
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
  return (
    <Dialog open onOpenChange={onClose} title="New backup codes" description="The codes that you have are void then.">
      {making.isSuccess ? (
        <div className="space-y-4">
          <BackupCodes codes={making.data.backupCodes} />
          <Button look="primary" onClick={onClose}>
            I have kept them
          </Button>
        </div>
      ) : (
        <PasswordForm
          action="Make new codes"
          busy={making.isPending}
          error={making.error}
          onPassword={(password) => making.mutate({ password })}
          onCancel={onClose}
        />
      )}
    </Dialog>
  );
}

function DisableDialog({ onClose }: { onClose: () => void }) {
  const client = useQueryClient();
  const announce = useAnnounce();
  const disabling = useChange({
    mutationFn: disableSecondFactor,
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: sessionQuery.queryKey });
      announce({ text: 'The authenticator app is no longer asked for.' });
      onClose();
    },
  });
  return (
    <Dialog
      open
      onOpenChange={onClose}
      title="Switch the authenticator app off?"
      description="Your password alone opens the account then."
    >
      <PasswordForm
        action="Switch off"
        look="danger"
        busy={disabling.isPending}
        error={disabling.error}
        onPassword={(password) => disabling.mutate({ password })}
        onCancel={onClose}
      />
    </Dialog>
  );
}
