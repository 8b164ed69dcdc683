import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useRouter } from '@tanstack/react-router';
import { Dialog } from 'radix-ui';
import { type ReactNode, useState } from 'react';
import { canUsePasskeys } from '../../session/passkeys.ts';
import { enterSession, leaveSession, sessionEnded, signInMethodsQuery, useSignedIn } from '../../session/session.ts';
import { Button, buttonClass } from '../../ui/button.tsx';
import { overlay, panel, useFocusReturn } from '../../ui/modal.ts';
import { SecondStepForm } from './second-step.tsx';
import { PasskeyButton, PasswordForm } from './sign-in-forms.tsx';

/** Asks a user whose session has ended to sign in over the page, which keeps what was typed. */
export function SignInAgain() {
  const isEnded = sessionEnded.use();
  const user = useSignedIn();
  if (!isEnded || !user) return null;
  return <Question email={user.email} />;
}

function Question({ email }: { email: string }) {
  const [isHalf, setHalf] = useState(false);
  const client = useQueryClient();
  const router = useRouter();
  const { data: methods } = useQuery(signInMethodsQuery);
  const enter = (): Promise<void> => enterSession(client).then(() => router.invalidate());
  const leave = (): void => {
    sessionEnded.update(() => false);
    leaveSession(client);
    void router.invalidate();
  };
  return (
    <Uninvited
      title="Sign in again"
      description="Your session has ended. The page behind keeps what you typed, unless you leave it."
    >
      {isHalf ? (
        <SecondStepForm onDone={enter} onBack={() => setHalf(false)} />
      ) : (
        <div className="space-y-4">
          {methods?.password !== false && (
            <PasswordForm email={email} onDone={(needsSecond) => (needsSecond ? setHalf(true) : enter())} />
          )}
          {methods?.passkey !== false && canUsePasskeys() && <PasskeyButton onDone={enter} />}
          {methods?.openid && (
            <a href="/sign-in" target="_blank" rel="noopener" className={`${buttonClass()} w-full`}>
              Continue with {methods.openid.name} in another tab
            </a>
          )}
          <Button look="quiet" small onClick={leave}>
            Leave this page
          </Button>
        </div>
      )}
    </Uninvited>
  );
}

/**
 * A dialog that opens by itself, while the user may be typing or about to press a key. So no key and no press outside
 * closes it, and only its content can end it.
 */
function Uninvited({ title, description, children }: { title: string; description: string; children: ReactNode }) {
  const { onOpenAutoFocus, onCloseAutoFocus } = useFocusReturn();
  return (
    <Dialog.Root open>
      <Dialog.Portal>
        <Dialog.Overlay className={overlay} />
        <Dialog.Content
          className={`${panel} sm:max-w-lg`}
          onOpenAutoFocus={(event) => {
            onOpenAutoFocus();
            event.preventDefault();
            placeFocus(event.currentTarget as HTMLElement);
          }}
          onCloseAutoFocus={onCloseAutoFocus}
        >
          <Dialog.Title className="text-lg font-semibold">{title}</Dialog.Title>
          <Dialog.Description className="mb-4 text-sm text-muted">{description}</Dialog.Description>
          {children}
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

/** Focuses the password. If the user is typing, focuses the dialog itself, so that the rest of the word goes nowhere. */
function placeFocus(dialog: HTMLElement): void {
  const isTyping = document.activeElement?.matches('input, textarea') === true;
  const field = isTyping ? null : dialog.querySelector<HTMLElement>('input[type=password]');
  (field ?? dialog).focus({ preventScroll: true });
}
