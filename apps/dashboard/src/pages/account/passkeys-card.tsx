import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Pencil, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { useChange } from '../../api/use-change.ts';
import type { SignedInUser } from '../../session/session.ts';
import { Button, IconButton } from '../../ui/button.tsx';
import { NameForm } from '../../ui/change-form.tsx';
import { ConfirmChange, Dialog } from '../../ui/dialog.tsx';
import { Card, ErrorLine, Loaded, Notice } from '../../ui/surface.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { Instant, Truncated } from '../../ui/text.tsx';
import {
  deletePasskey,
  endPasskeyReview,
  type PasskeyRow,
  passkeyReviewQuery,
  passkeysQuery,
  renamePasskey,
} from './account-queries.ts';
import { AddPasskey } from './add-passkey.tsx';

/** Keys on a device or in a password manager that sign in without a password. */
export function PasskeysCard({ user }: { user: SignedInUser }) {
  return (
    <Loaded query={useQuery(passkeysQuery)} label="Passkeys are loading">
      {(passkeys) => (
        <Card
          title="Passkeys"
          lead="Sign in with your device’s fingerprint, face recognition or PIN, without a password or code."
        >
          <div className="space-y-4">
            {passkeys.length === 0 ? (
              <p className="text-sm text-muted">You have none yet.</p>
            ) : (
              <Passkeys passkeys={passkeys} />
            )}
            <ReviewNotice passkeys={passkeys} />
            <AddPasskey user={user} />
          </div>
        </Card>
      )}
    </Loaded>
  );
}

const nameOf = ({ name }: PasskeyRow): string => name ?? 'Passkey';

function Passkeys({ passkeys }: { passkeys: readonly PasskeyRow[] }) {
  const [renamed, setRenamed] = useState<PasskeyRow>();
  const [removed, setRemoved] = useState<PasskeyRow>();
  const columns: readonly Column<PasskeyRow>[] = [
    {
      title: 'Name',
      heading: true,
      cell: (passkey) => <Truncated text={nameOf(passkey)} className="md:max-w-72 xl:max-w-32 2xl:max-w-48" />,
    },
    { title: 'Added', cell: ({ createdAt }) => createdAt !== null && <Instant at={createdAt} /> },
    { title: 'Kept', cell: ({ backedUp }) => (backedUp ? 'Synced' : 'On one device') },
    {
      title: 'Change',
      hiddenTitle: true,
      numeric: true,
      cell: (passkey) => (
        <span className="inline-flex gap-1">
          <IconButton
            label={`Rename ${nameOf(passkey)}`}
            icon={<Pencil aria-hidden className="size-4.5" />}
            onClick={() => setRenamed(passkey)}
          />
          <IconButton
            label={`Remove ${nameOf(passkey)}`}
            icon={<Trash2 aria-hidden className="size-4.5" />}
            onClick={() => setRemoved(passkey)}
          />
        </span>
      ),
    },
  ];
  return (
    <>
      <Table caption="Passkeys" columns={columns} rows={passkeys} rowKey={({ id }) => id} />
      {renamed !== undefined && <RenameDialog passkey={renamed} onClose={() => setRenamed(undefined)} />}
      {removed !== undefined && <RemoveDialog passkey={removed} onClose={() => setRemoved(undefined)} />}
    </>
  );
}

interface PasskeyDialogProps {
  readonly passkey: PasskeyRow;
  readonly onClose: () => void;
}

function RenameDialog({ passkey, onClose }: PasskeyDialogProps) {
  const renaming = useChange({ mutationFn: renamePasskey, refreshes: passkeysQuery, onSuccess: onClose });
  const close = () => !renaming.isPending && onClose();
  return (
    <Dialog onClose={close} title="Rename the passkey">
      <NameForm
        label="Name"
        name={nameOf(passkey)}
        change={renaming}
        action="Rename"
        onName={(name) => renaming.mutate({ id: passkey.id, name })}
        onCancel={close}
      />
    </Dialog>
  );
}

function RemoveDialog({ passkey, onClose }: PasskeyDialogProps) {
  return (
    <ConfirmChange
      onClose={onClose}
      title={`Remove ${nameOf(passkey)}?`}
      consequence="You can no longer sign in with it. Remove it from the device, too, or the device may keep offering it."
      action="Remove"
      change={{ mutationFn: () => deletePasskey({ id: passkey.id }), refreshes: passkeysQuery }}
    />
  );
}

/** After a password was set by mail: asks the user to keep or remove the older passkeys. */
function ReviewNotice({ passkeys }: { passkeys: readonly PasskeyRow[] }) {
  const client = useQueryClient();
  const { data: resetAt = null } = useQuery(passkeyReviewQuery);
  const kept = passkeys.filter(({ createdAt }) => resetAt !== null && (createdAt === null || createdAt < resetAt));
  const ending = useChange({
    mutationFn: async (removed: readonly PasskeyRow[]) => {
      for (const { id } of removed) await deletePasskey({ id });
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
