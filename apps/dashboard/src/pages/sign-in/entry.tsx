import { Link } from '@tanstack/react-router';
import clsx from 'clsx';
import type { ReactNode } from 'react';
import { call } from '../../api/call.ts';
import { sentenceOf } from '../../api/errors.ts';
import { useChange } from '../../api/use-change.ts';
import { Button, buttonClass } from '../../ui/button.tsx';
import { Card, Notice } from '../../ui/surface.tsx';

interface EntryProps {
  readonly title: string;
  readonly lead?: ReactNode;
  readonly children: ReactNode;
  /** Beside the frame on wide screens, and under it on narrow ones. */
  readonly aside?: ReactNode;
}

/** The narrow frame of pages that need no session. */
export function Entry({ title, lead, children, aside }: EntryProps) {
  return (
    <div
      className={clsx(
        'mx-auto w-full px-4 py-10 sm:py-16',
        aside === undefined
          ? 'max-w-md'
          : 'grid max-w-md gap-12 xl:max-w-6xl xl:grid-cols-[minmax(0,26rem)_minmax(0,1fr)]',
      )}
    >
      <title>{`${title} · Sotto`}</title>
      <div className="min-w-0">
        <h1 className="mb-1 text-2xl font-semibold tracking-tight">{title}</h1>
        {lead !== undefined && <p className="mb-4 text-muted">{lead}</p>}
        <Card className="mt-4">{children}</Card>
      </div>
      {aside}
    </div>
  );
}

/** Shown if the page was opened without the secret of a link, or after it was used. */
export function LinkIncomplete({ title }: { title: string }) {
  return (
    <Entry title={title}>
      <p className="mb-4">Open this page with the link from the mail. Your link is incomplete or was already used.</p>
      <div className="flex flex-wrap gap-2">
        <Link to="/sign-in" className={buttonClass('primary')}>
          Sign in
        </Link>
        <Link to="/forgot-password" className={buttonClass()}>
          Set a new password
        </Link>
      </div>
    </Entry>
  );
}

/** Mails another link that confirms an address. */
export function MailAgain({ email, action }: { email: string; action: string }) {
  const sending = useChange({
    mutationFn: () => call('POST /v1/auth/send-verification-email', { body: { email } }),
  });
  return (
    <div className="mt-2 flex flex-wrap items-center gap-2">
      <Button small busy={sending.isPending} onClick={() => sending.mutate()}>
        {action}
      </Button>
      {sending.isSuccess && <span>We sent it.</span>}
      {sending.isError && <span role="alert">{sentenceOf(sending.error)}</span>}
    </div>
  );
}

/** Shown where a change takes a sign-in of the last five minutes. `goal` follows "then", such as "add the passkey". */
export function SignInFirst({ goal, returnTo }: { goal: string; returnTo: '/account' | '/billing' }) {
  return (
    <Notice tone="warn">
      <p>{`You signed in more than five minutes ago. Sign in again, then ${goal}.`}</p>
      <Link to="/sign-in" search={{ return_to: returnTo }} className={`${buttonClass('plain', true)} mt-2`}>
        Sign in again
      </Link>
    </Notice>
  );
}
