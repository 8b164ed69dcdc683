import { useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { sentenceOf } from '../../api/call.ts';
import { useChange } from '../../api/use-change.ts';
import { sessionQuery } from '../../session/session.ts';
import { Button } from '../../ui/button.tsx';
import { CopyButton } from '../../ui/copy.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { TextField } from '../../ui/field.tsx';
import { useAnnounce } from '../../ui/toasts.tsx';
import { type Enrolment, enableSecondFactor, verifyCode } from './account-queries.ts';
import { BackupCodes } from './backup-codes.tsx';
import { PasswordForm } from './password-form.tsx';
import { QrCode } from './qr-code.tsx';

/** Three steps: the password, the app and its first code, the backup codes. */
export function EnrolDialog({ onClose }: { onClose: () => void }) {
  const enabling = useChange({ mutationFn: enableSecondFactor });
  const [isVerified, setVerified] = useState(false);
  const client = useQueryClient();
  const announce = useAnnounce();
  const finish = async (): Promise<void> => {
    await client.invalidateQueries({ queryKey: sessionQuery.queryKey });
    announce({ text: 'From now on a code is asked for beside your password.' });
    onClose();
  };
  // Once it counts, the codes must have been seen: the dialog ends by its button, not by a slip.
  const dismiss = (): void => (isVerified ? void finish() : onClose());
  return (
    <Dialog open onOpenChange={dismiss} title="Set up an authenticator app">
      {!enabling.isSuccess && (
        <PasswordForm
          action="Go on"
          busy={enabling.isPending}
          error={enabling.error}
          onPassword={(password) => enabling.mutate({ password })}
          onCancel={onClose}
        />
      )}
      {enabling.isSuccess && !isVerified && (
        <FirstCode enrolment={enabling.data} onDone={() => setVerified(true)} onCancel={onClose} />
      )}
      {enabling.isSuccess && isVerified && (
        <div className="space-y-4">
          <BackupCodes codes={enabling.data.backupCodes} />
          <Button look="primary" onClick={() => void finish()}>
            I have kept them
          </Button>
        </div>
      )}
    </Dialog>
  );
}

interface FirstCodeProps {
  readonly enrolment: Enrolment;
  readonly onDone: () => void;
  readonly onCancel: () => void;
}

function FirstCode({ enrolment, onDone, onCancel }: FirstCodeProps) {
  const verifying = useChange({ mutationFn: verifyCode, onSuccess: onDone });
  const secret = URL.parse(enrolment.totpURI)?.searchParams.get('secret') ?? '';
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    verifying.mutate({ code: String(new FormData(event.currentTarget).get('code')).trim() });
  };
  return (
    <form onSubmit={submit} className="space-y-4">
      <p>Scan this with the app, or type the key into it. Then enter the code that it shows.</p>
      <QrCode text={enrolment.totpURI} label="QR code for the authenticator app" />
      <div className="flex flex-wrap items-center gap-2">
        <code data-testid="totp-secret" className="min-w-0 font-mono text-sm break-all">
          {secret}
        </code>
        <CopyButton text={secret} label="Copy the key" />
      </div>
      <TextField
        label="Code that the app shows"
        name="code"
        inputMode="numeric"
        autoComplete="one-time-code"
        required
        error={verifying.isError ? sentenceOf(verifying.error) : undefined}
      />
      <div className="flex flex-wrap justify-end gap-2">
        <Button onClick={onCancel}>Cancel</Button>
        <Button type="submit" look="primary" busy={verifying.isPending}>
          Switch on
        </Button>
      </div>
    </form>
  );
}
