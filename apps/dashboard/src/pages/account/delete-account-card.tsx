import { useQuery } from '@tanstack/react-query';
import { useRouter } from '@tanstack/react-router';
import { needsNewSignIn } from '../../api/errors.ts';
import { balanceQuery } from '../../api/queries.ts';
import { useForm } from '../../api/use-form.ts';
import { formatBalance } from '../../format/format.ts';
import { type SignedInUser, useLeave } from '../../session/session.ts';
import { DialogButton } from '../../ui/dialog.tsx';
import { TextField } from '../../ui/field.tsx';
import { FormDialog } from '../../ui/form.tsx';
import { Card } from '../../ui/surface.tsx';
import { SignInFirst } from '../sign-in/entry.tsx';
import { CurrentPasswordField } from '../sign-in/password-field.tsx';
import { hasPasswordQuery } from './account-queries.ts';

/** Deletes the account, after a dialog that says what is lost and asks for the address and the password. */
export function DeleteAccountCard({ user }: { user: SignedInUser }) {
  return (
    <Card title="Delete account" lead="Ends your sessions, keys and workspaces at once, and cannot be undone.">
      <DialogButton look="danger" dialog={(onClose) => <Deletion user={user} onClose={onClose} />}>
        Delete account…
      </DialogButton>
    </Card>
  );
}

function Deletion({ user, onClose }: { user: SignedInUser; onClose: () => void }) {
  const { data: hasPassword } = useQuery(hasPasswordQuery);
  const { data: balance } = useQuery(balanceQuery);
  const leave = useLeave();
  const router = useRouter();
  const form = useForm('POST /v1/auth/delete-account', {
    says: 'Your account is deleted.',
    onSuccess: () => {
      leave();
      return router.navigate({ to: '/sign-in' });
    },
  });
  const isStale = needsNewSignIn(form.change.error);
  const isOwn = (email: string): boolean => email.toLowerCase() === user.email.toLowerCase();
  return (
    <FormDialog
      form={form}
      title="Delete your account?"
      action="Delete account"
      look="danger"
      showsErrors={isStale}
      onClose={onClose}
    >
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
        <li>The operator keeps receipts and the totals of your usage, without your name on the account.</li>
      </ul>
      {isStale && <SignInFirst goal="delete the account" returnTo="/account" />}
      <TextField
        {...form.text('email', {
          accepts: isOwn,
          mistake: 'This is not the address of your account.',
          // Typed again, it confirms again.
          keeps: false,
        })}
        label={`Your address, ${user.email}`}
      />
      {hasPassword === true && <CurrentPasswordField {...form.text('password')} label="Your password" />}
    </FormDialog>
  );
}
