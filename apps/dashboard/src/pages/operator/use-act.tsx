import { useQueryClient } from '@tanstack/react-query';
import { useRouter } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { call } from '../../api/call.ts';
import { aboutWhatWasTyped, errorElsewhere, needsNewSignIn } from '../../api/errors.ts';
import { type Change, type ChangeOptions, useChange } from '../../api/use-change.ts';
import { canUsePasskeys, passkeySentence, signInWithPasskey } from '../../session/passkeys.ts';
import { enterSession, useSignedIn } from '../../session/session.ts';
import { Button, linkClass } from '../../ui/button.tsx';
import { Form } from '../../ui/change-form.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { TextField } from '../../ui/field.tsx';
import { Notice } from '../../ui/surface.tsx';

/** A change that needs a fresh second factor. `proof` asks for one where the service did, and then repeats the change. */
export function useAct<Answer, Asked = void>(
  options: ChangeOptions<Answer, Asked>,
): { readonly act: Change<Answer, Asked, unknown>; readonly proof: ReactNode } {
  const act = useChange<Answer, Asked>(options);
  const repeat = (): void => act.mutate(act.variables as Asked);
  const isStale = needsNewSignIn(act.error);
  return { act, proof: isStale ? <FactorDialog onDone={repeat} onClose={() => act.reset()} /> : null };
}

function FactorDialog({ onDone, onClose }: { onDone: () => void; onClose: () => void }) {
  const client = useQueryClient();
  const router = useRouter();
  const hasApp = useSignedIn()?.twoFactorEnabled === true;
  const byCode = useChange({
    mutationFn: (code: string) => aboutWhatWasTyped(call('POST /v1/auth/two-factor/verify-totp', { body: { code } })),
    onSuccess: onDone,
  });
  const byPasskey = useChange({
    mutationFn: () => signInWithPasskey(),
    onSuccess: async () => {
      // The passkey may be another user's, who did not ask for this.
      if (await enterSession(client)) onDone();
      else await router.invalidate();
    },
  });
  const sentence = passkeySentence(byPasskey.error);
  return (
    <Dialog onClose={onClose} title="Confirm your second factor" description="It counts for five minutes.">
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
        <Form
          change={byCode}
          errors="inside"
          action="Confirm"
          wide
          onSubmit={(field) => byCode.mutate(field('code').trim())}
        >
          <TextField
            label="Code of your authenticator app"
            name="code"
            inputMode="numeric"
            autoComplete="one-time-code"
            required
            error={errorElsewhere(byCode.error)}
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
