import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useForm } from '../../api/use-form.ts';
import { type SignedInUser, sessionQuery } from '../../session/session.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Dialog, DialogButton } from '../../ui/dialog.tsx';
import { Form, FormDialog } from '../../ui/form.tsx';
import { Card } from '../../ui/surface.tsx';
import { CurrentPasswordField } from '../sign-in/password-field.tsx';
import { hasPasswordQuery } from './account-queries.ts';
import { BackupCodes, EnrolDialog } from './enrol-dialog.tsx';

/** The authenticator app, which a sign-in with a password asks for. */
export function SecondFactorCard({ user }: { user: SignedInUser }) {
  const { data: hasPassword } = useQuery(hasPasswordQuery);
  const [isEnrolling, setEnrolling] = useState(false);
  const missing = user.emailVerified
    ? hasPassword === false && 'It needs a password, and your account does not have one.'
    : 'Confirm your address first.';
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
            <DialogButton dialog={(onClose) => <CodesDialog onClose={onClose} />}>Create new backup codes</DialogButton>
            <DialogButton look="danger" dialog={(onClose) => <DisableDialog onClose={onClose} />}>
              Turn off
            </DialogButton>
          </div>
        ) : (
          <>
            {missing && <p className="text-sm text-muted">{missing}</p>}
            <Button disabled={missing !== false} onClick={() => setEnrolling(true)}>
              Set up an app
            </Button>
          </>
        )}
        {/* It shows the backup codes when the account has the app already. */}
        {isEnrolling && <EnrolDialog onClose={() => setEnrolling(false)} />}
      </div>
    </Card>
  );
}

function CodesDialog({ onClose }: { onClose: () => void }) {
  const form = useForm('POST /v1/auth/two-factor/generate-backup-codes', {});
  const { isPending, isSuccess, data } = form.change;
  return (
    // The answer has the only codes that still work.
    <Dialog
      onClose={onClose}
      isBusy={isPending}
      title="Create new backup codes"
      description="Your current codes stop working."
    >
      {isSuccess ? (
        <div className="space-y-4">
          <BackupCodes codes={data.backupCodes} />
          <Button look="primary" onClick={onClose}>
            I saved the codes
          </Button>
        </div>
      ) : (
        <Form form={form} action="Create new codes" onCancel={onClose}>
          <CurrentPasswordField {...form.text('password', { every: true })} label="Your password" />
        </Form>
      )}
    </Dialog>
  );
}

function DisableDialog({ onClose }: { onClose: () => void }) {
  const form = useForm('POST /v1/auth/two-factor/disable', {
    refreshes: sessionQuery,
    onSuccess: onClose,
    says: 'The authenticator app is off.',
  });
  return (
    <FormDialog
      form={form}
      title="Turn off the authenticator app?"
      description="Your password alone will be enough to sign in."
      action="Turn off"
      look="danger"
      onClose={onClose}
    >
      <CurrentPasswordField {...form.text('password', { every: true })} label="Your password" />
    </FormDialog>
  );
}
