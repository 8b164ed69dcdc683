import { call, sentenceOf } from '../../api/call.ts';
import { useChange } from '../../api/use-change.ts';
import { Button } from '../../ui/button.tsx';
import { Notice } from '../../ui/surface.tsx';

/** The password was right, and the address waits for its link to be followed. */
export function UnverifiedNotice({ email }: { email: string }) {
  const resending = useChange({
    mutationFn: () => call('POST /v1/auth/send-verification-email', { body: { email } }),
  });
  return (
    <Notice tone="warn">
      <p>
        Your address waits to be confirmed: a link was mailed to <span className="break-all">{email}</span>.
      </p>
      <div className="mt-2 flex flex-wrap items-center gap-2">
        <Button small busy={resending.isPending} onClick={() => resending.mutate()}>
          Mail another link
        </Button>
        {resending.isSuccess && <span>It is on its way.</span>}
        {resending.isError && <span role="alert">{sentenceOf(resending.error)}</span>}
      </div>
    </Notice>
  );
}
