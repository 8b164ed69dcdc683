import { useQuery } from '@tanstack/react-query';
import { useRouter } from '@tanstack/react-router';
import { useState } from 'react';
import { needsNewSignIn } from '../../api/errors.ts';
import { balanceQuery } from '../../api/queries.ts';
import { useChange } from '../../api/use-change.ts';
import { formatBalance } from '../../format/format.ts';
import { type SignedInUser, useLeave } from '../../session/session.ts';
import { Button } from '../../ui/button.tsx';
import { Form } from '../../ui/change-form.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { TextField } from '../../ui/field.tsx';
import { Card, ErrorLine } from '../../ui/surface.tsx';
import { SignInFirst } from '../sign-in/entry.tsx';
import { CurrentPasswordField } from '../sign-in/password-field.tsx';
import { deleteAccount, hasPasswordQuery } from './account-queries.ts';

/** Deletes the account, after a dialog that says what is lost and asks for the address and the password. */
export function DeleteAccountCard({ user }: { user: SignedInUser }) {
  const [isAsking, setAsking] = useState(false);
  return (
    <Card title="Delete account" lead="Ends your sessions, keys and workspaces at once, and cannot be undone.">
      <Button look="danger" onClick={() => setAsking(true)}>
        Delete account…
      </Button>
      {isAsking && <Deletion user={user} onClose={() => setAsking(false)} />}
    </Card>
  );
}

function Deletion({ user, onClose }: { user: SignedInUser; onClose: () => void }) {
  const { data: hasPassword } = useQuery(hasPasswordQuery);
  const { data: balance } = useQuery(balanceQuery);
  const leave = useLeave();
  const router = useRouter();
  const deleting = useChange({
    mutationFn: deleteAccount,
    gcTime: 0,
    says: 'Your account is deleted.',
    onSuccess: () => {
      leave();
      return router.navigate({ to: '/sign-in' });
    },
  });
  const [isOtherAddress, setOtherAddress] = useState(false);
  const isStale = needsNewSignIn(deleting.error);
  return (
    <Dialog onClose={onClose} title="Delete your account?">
      <ul className="mb-4 list-disc space-y-1 pl-5">
        <li>Your keys, workspaces, apps and ways to sign in are deleted now.</li>
        <li>
          Requests that are under way end and are charged.
          {balance !== undefined && balance.available > 0 && (
            <>
              {' '}
              Then your balance of {formatBalance(balance.available)} is forfeited. For a refund, ask the operator
              first.
            </>
          )}
        </li>
        <li>The operator keeps receipts and the sums of your usage, without your name on the account.</li>
      </ul>
      {isStale && <SignInFirst goal="delete the account" returnTo="/account" />}
      <Form
        change={deleting}
        errors="inside"
        action="Delete account"
        look="danger"
        onCancel={onClose}
        onSubmit={(field) => {
          const isOwn = field('email').trim().toLowerCase() === user.email.toLowerCase();
          setOtherAddress(!isOwn);
          if (isOwn)
            deleting.mutate({
              email: field('email'),
              ...(hasPassword === true ? { password: field('password') } : {}),
            });
        }}
      >
        <TextField
          label={`Your address, ${user.email}`}
          name="email"
          type="email"
          autoComplete="off"
          required
          error={isOtherAddress ? 'This is not the address of your account.' : undefined}
        />
        {hasPassword === true && <CurrentPasswordField label="Your password" />}
        {!isStale && <ErrorLine error={deleting.error} />}
      </Form>
    </Dialog>
  );
}
