import { useQueryClient } from '@tanstack/react-query';
import { useRouter } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import { needsNewSignIn } from '../../api/errors.ts';
import { type Change, useChange } from '../../api/use-change.ts';
import { useForm } from '../../api/use-form.ts';
import { canUsePasskeys, passkeySentence, signInWithPasskey } from '../../session/passkeys.ts';
import { enterSession, useSignedIn } from '../../session/session.ts';
import { Button, linkClass } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { TextField } from '../../ui/field.tsx';
import { Form } from '../../ui/form.tsx';
import { Notice } from '../../ui/surface.tsx';

interface ProofProps<Answer, Asked> {
  readonly change: Change<Answer, Asked, unknown>;
}

/** Asks for a second factor where the service refused a change without a fresh one, and then repeats the change. */
export function Proof<Answer, Asked>({ change }: ProofProps<Answer, Asked>) {
  if (!needsNewSignIn(change.error)) return null;
  return <FactorDialog onDone={() => change.mutate(change.variables as Asked)} onClose={change.reset} />;
}

function FactorDialog({ onDone, onClose }: { onDone: () => void; onClose: () => void }) {
  const client = useQueryClient();
  const router = useRouter();
  const hasApp = useSignedIn()?.twoFactorEnabled === true;
  // A user who left the dialog has taken the change back.
  const isThere = useRef(false);
  useEffect(() => {
    isThere.current = true;
    return () => {
      isThere.current = false;
    };
  }, []);
  const done = (): void => {
    if (isThere.current) onDone();
  };
  const byCode = useForm('POST /v1/auth/two-factor/verify-totp', { onSuccess: done });
  const byPasskey = useChange({
    mutationFn: () => signInWithPasskey(),
    onSuccess: async () => {
      // The passkey may be another user's, who did not ask for this.
      if (await enterSession(client)) done();
      else await router.invalidate();
    },
  });
  const sentence = passkeySentence(byPasskey.error);
  return (
    <Dialog
      onClose={onClose}
      isBusy={byCode.change.isPending || byPasskey.isPending}
      title="Confirm your second factor"
      description="It counts for five minutes."
    >
      <div className="space-y-4">
        {!hasApp && (
          <Notice tone="warn">
            Your account has no authenticator app. Use a passkey, or add one of them on the{' '}
            <a href="/account" target="_blank" rel="noopener" className={linkClass}>
              account page<span className="sr-only"> (opens a new tab)</span>
            </a>
            .
          </Notice>
        )}
        <Form form={byCode} action="Confirm" wide>
          <TextField
            {...byCode.text('code', { every: true })}
            label="Code of your authenticator app"
            inputMode="numeric"
            autoComplete="one-time-code"
          />
        </Form>
        {canUsePasskeys() && (
          <Button className="w-full" busy={byPasskey.isPending} onClick={() => byPasskey.mutate()}>
            Use a passkey
          </Button>
        )}
        {sentence !== undefined && (
          <p role="alert" className="text-sm text-danger">
            {sentence}
          </p>
        )}
      </div>
    </Dialog>
  );
}
