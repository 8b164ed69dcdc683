import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Pencil, Trash2 } from 'lucide-react';
import { useChange } from '../../api/use-change.ts';
import { useForm } from '../../api/use-form.ts';
import type { SignedInUser } from '../../session/session.ts';
import { Button } from '../../ui/button.tsx';
import { asking } from '../../ui/dialog.tsx';
import { TextField } from '../../ui/field.tsx';
import { FormDialog } from '../../ui/form.tsx';
import { Resource, type RowAction, Rows } from '../../ui/resource.tsx';
import { Card, ErrorLine, Notice } from '../../ui/surface.tsx';
import type { Column } from '../../ui/table.tsx';
import { Instant, Truncated } from '../../ui/text.tsx';
import {
  deletePasskey,
  endPasskeyReview,
  type PasskeyRow,
  passkeyReviewQuery,
  passkeysQuery,
} from './account-queries.ts';
import { AddPasskey } from './add-passkey.tsx';

/** Keys on a device or in a password manager. `signsIn`: they sign in without a password. */
export function PasskeysCard({ user, signsIn }: { user: SignedInUser; signsIn: boolean }) {
  const passkeys = useQuery(passkeysQuery);
  return (
    <Resource
      query={passkeys}
      loading="Passkeys are loading"
      page={(list) => (
        <Card
          title="Passkeys"
          lead={
            signsIn
              ? 'Sign in with your device’s fingerprint, face recognition or PIN, without a password or code.'
              : 'Operators confirm what they do with one. It does not sign in here.'
          }
        >
          <div className="space-y-4">
            {list}
            <ReviewNotice passkeys={passkeys.data ?? []} />
            <AddPasskey user={user} />
          </div>
        </Card>
      )}
      empty="You have none yet."
      rows={(rows) => (
        <Rows
          caption="Passkeys"
          columns={columns}
          rows={rows}
          rowKey={({ id }) => id}
          nameOf={nameOf}
          actions={actionsOf}
        />
      )}
    />
  );
}

const nameOf = ({ name }: PasskeyRow): string => name ?? 'Passkey';

const columns: readonly Column<PasskeyRow>[] = [
  {
    title: 'Name',
    heading: true,
    cell: (passkey) => <Truncated text={nameOf(passkey)} className="md:max-w-72 xl:max-w-32 2xl:max-w-48" />,
  },
  { title: 'Added', cell: ({ createdAt }) => createdAt !== null && <Instant at={createdAt} /> },
  { title: 'Kept', cell: ({ backedUp }) => (backedUp ? 'Synced' : 'On one device') },
];

const actionsOf = (passkey: PasskeyRow): readonly RowAction[] => [
  {
    label: 'Rename',
    icon: Pencil,
    does: { dialog: (onClose) => <RenameDialog passkey={passkey} onClose={onClose} /> },
  },
  {
    label: 'Remove',
    icon: Trash2,
    danger: true,
    does: asking({
      title: `Remove ${nameOf(passkey)}?`,
      consequence:
        'You can no longer sign in with it. Remove it from the device, too, or the device may keep offering it.',
      action: 'Remove',
      change: { mutationFn: () => deletePasskey(passkey.id), refreshes: passkeysQuery },
    }),
  },
];

function RenameDialog({ passkey, onClose }: { passkey: PasskeyRow; onClose: () => void }) {
  const form = useForm('POST /v1/auth/passkey/update-passkey', {
    start: { name: nameOf(passkey) },
    rest: { id: passkey.id },
    place: passkey.id,
    refreshes: passkeysQuery,
    onSuccess: onClose,
  });
  return (
    <FormDialog form={form} title="Rename the passkey" action="Rename" onClose={onClose}>
      <TextField {...form.text('name', { every: true })} label="Name" />
    </FormDialog>
  );
}

/** After a password was set by mail: asks the user to keep or remove the older passkeys. */
function ReviewNotice({ passkeys }: { passkeys: readonly PasskeyRow[] }) {
  const client = useQueryClient();
  const { data: resetAt = null } = useQuery(passkeyReviewQuery);
  const kept = passkeys.filter(({ createdAt }) => resetAt !== null && (createdAt === null || createdAt < resetAt));
  const ending = useChange({
    mutationFn: async (removed: readonly PasskeyRow[]) => {
      for (const { id } of removed) await deletePasskey(id);
      await endPasskeyReview();
    },
    onSettled: async () => {
      await client.invalidateQueries({ queryKey: passkeysQuery.queryKey });
      await client.invalidateQueries({ queryKey: passkeyReviewQuery.queryKey });
    },
  });
  if (resetAt === null || kept.length === 0) return null;
  return (
    <Notice tone="warn">
      <p>
        You set your password by mail on <Instant at={resetAt} />. {howMany(kept.length)} from before can still sign in.
        Remove what you do not recognize.
      </p>
      <ErrorLine error={ending.error} className="mt-2" />
      <div className="mt-3 flex flex-wrap gap-2">
        <Button small busy={ending.isPending} onClick={() => ending.mutate([])}>
          I recognize {kept.length === 1 ? 'it' : 'them all'}
        </Button>
        <Button small look="danger" busy={ending.isPending} onClick={() => ending.mutate(kept)}>
          Remove {kept.length === 1 ? 'it' : 'them all'}
        </Button>
      </div>
    </Notice>
  );
}

const howMany = (passkeys: number): string => (passkeys === 1 ? 'One passkey' : `${passkeys} passkeys`);
