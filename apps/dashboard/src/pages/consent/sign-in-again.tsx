import { useRouter } from '@tanstack/react-router';
import { sentenceOf } from '../../api/call.ts';
import { useChange } from '../../api/use-change.ts';
import { useSignOut } from '../../session/session.ts';
import { Button } from '../../ui/button.tsx';

/** The app asks for a sign-in newer than this session. It is ended only by whoever presses this. */
export function SignInAgain({ uid, app }: { uid: string; app: string }) {
  const signOut = useSignOut();
  const router = useRouter();
  const leaving = useChange({
    mutationFn: signOut,
    onSuccess: () =>
      router.navigate({
        to: '/sign-in',
        search: { return_to: `/connect/consent?uid=${encodeURIComponent(uid)}` },
      }),
  });
  return (
    <div className="space-y-3">
      <p>{app} wants to be sure that it is you: sign out here, sign in again, and you come back to this page.</p>
      {leaving.isError && (
        <p role="alert" className="text-danger">
          {sentenceOf(leaving.error)}
        </p>
      )}
      <Button look="primary" busy={leaving.isPending} onClick={() => leaving.mutate()}>
        Sign in again
      </Button>
    </div>
  );
}
