import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { encode } from 'uqr';
import type { Answer } from '../../api/call.ts';
import { type RouteForm, useForm } from '../../api/use-form.ts';
import { sessionQuery } from '../../session/session.ts';
import { Button, DownloadLink } from '../../ui/button.tsx';
import { CopyButton, CopyLine } from '../../ui/copy.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { TextField } from '../../ui/field.tsx';
import { Form } from '../../ui/form.tsx';
import { Notice } from '../../ui/surface.tsx';
import { useAnnounce } from '../../ui/toasts.tsx';
import { CurrentPasswordField } from '../sign-in/password-field.tsx';

/** Three steps: the password, the app and its first code, the backup codes. */
export function EnrolDialog({ onClose }: { onClose: () => void }) {
  const form = useForm('POST /v1/auth/two-factor/enable', {});
  const enabling = form.change;
  const [isVerified, setVerified] = useState(false);
  const client = useQueryClient();
  const announce = useAnnounce();
  const first = useForm('POST /v1/auth/two-factor/verify-totp', {
    onSuccess: () => {
      setVerified(true);
      void client.invalidateQueries({ queryKey: sessionQuery.queryKey });
    },
  });
  const finish = (): void => {
    announce({ text: 'From now on, signing in needs your password and a code.' });
    onClose();
  };
  // Once the app is set up, every way to close the dialog finishes the setup.
  const dismiss = (): void => (isVerified ? finish() : onClose());
  return (
    // Once the service has taken the code, the user needs the backup codes.
    <Dialog onClose={dismiss} isBusy={first.change.isPending} title="Set up an authenticator app">
      {!enabling.isSuccess && (
        <Form form={form} action="Continue" onCancel={onClose}>
          <CurrentPasswordField {...form.text('password', { every: true })} label="Your password" />
        </Form>
      )}
      {enabling.isSuccess && !isVerified && <FirstCode form={first} enrolment={enabling.data} onCancel={onClose} />}
      {enabling.isSuccess && isVerified && (
        <div className="space-y-4">
          <BackupCodes codes={enabling.data.backupCodes} />
          <Button look="primary" onClick={finish}>
            I saved the codes
          </Button>
        </div>
      )}
    </Dialog>
  );
}

interface FirstCodeProps {
  readonly enrolment: Answer<'POST /v1/auth/two-factor/enable'>;
  readonly form: RouteForm<'POST /v1/auth/two-factor/verify-totp'>;
  readonly onCancel: () => void;
}

function FirstCode({ form, enrolment, onCancel }: FirstCodeProps) {
  const secret = URL.parse(enrolment.totpURI)?.searchParams.get('secret') ?? '';
  return (
    <Form form={form} action="Switch on" onCancel={onCancel}>
      <p>Scan this with the app, or type the key into it. Then enter the code from the app.</p>
      <QrCode text={enrolment.totpURI} label="QR code for the authenticator app" />
      <CopyLine text={secret} label="Copy the key" testId="totp-secret" />
      <TextField
        {...form.text('code', { every: true })}
        label="Code from the app"
        inputMode="numeric"
        autoComplete="one-time-code"
      />
    </Form>
  );
}

/** A QR code, dark on light in both themes, because cameras need that. */
function QrCode({ text, label }: { text: string; label: string }) {
  const { data, size } = encode(text, { border: 4 });
  const path = data.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : []))).join('');
  return (
    <svg
      role="img"
      aria-label={label}
      viewBox={`0 0 ${size} ${size}`}
      shapeRendering="crispEdges"
      className="size-56 rounded-lg bg-white"
    >
      <path d={path} fill="#000" />
    </svg>
  );
}

/** Codes to sign in without the app. They are shown only once. */
export function BackupCodes({ codes }: { codes: readonly string[] }) {
  const text = `${codes.join('\n')}\n`;
  const file = `data:text/plain;charset=utf-8,${encodeURIComponent(`Backup codes of ${window.location.host}\n\n${text}`)}`;
  return (
    <div className="space-y-3">
      <Notice tone="warn">
        Save these codes where you can reach them without your phone. Each works once. They are not shown again.
      </Notice>
      <ul aria-label="Backup codes" className="grid grid-cols-2 gap-x-6 gap-y-1 font-mono" data-testid="backup-codes">
        {codes.map((code) => (
          <li key={code}>{code}</li>
        ))}
      </ul>
      <div className="flex flex-wrap gap-2">
        <CopyButton text={text} label="Copy the codes" />
        <DownloadLink href={file} file="sotto-backup-codes.txt">
          Download
        </DownloadLink>
      </div>
    </div>
  );
}
