import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Pencil, Trash2 } from 'lucide-react';
import { type FormEvent, useState } from 'react';
import { sentenceOf } from '../../api/call.ts';
import { useChange } from '../../api/use-change.ts';
import type { SignedInUser } from '../../session/session.ts';
import { Button, IconButton } from '../../ui/button.tsx';
import { ConfirmDialog, Dialog } from '../../ui/dialog.tsx';
import { TextField } from '../../ui/field.tsx';
import { Instant } from '../../ui/instant.tsx';
import { Loading } from '../../ui/skeleton.tsx';
import { Card, ErrorState } from '../../ui/surface.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { deletePasskey, type PasskeyRow, passkeysQuery, renamePasskey } from './account-queries.ts';
import { AddPasskey } from './add-passkey.tsx';
import { ReviewNotice } from './passkey-review.tsx';

/** Keys that a device or a password manager holds, and that sign in alone. */
export function PasskeysCard({ user }: { user: SignedInUser }) {
  const { data: passkeys, error, refetch } = useQuery(passkeysQuery);
  if (passkeys === undefined && error !== null) return <ErrorState error={error} onRetry={() => void refetch()} />;
  if (passkeys === undefined) return <Loading label="Passkeys are loading" />;
  return (
    <Card title="Passkeys" lead="Sign in by fingerprint, face or PIN of a device, without a password or code.">
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
  );
}

const nameOf = ({ name }: PasskeyRow): string => name ?? 'Passkey';

function Passkeys({ passkeys }: { passkeys: readonly PasskeyRow[] }) {
  const [renamed, setRenamed] = useState<PasskeyRow>();
  const [removed, setRemoved] = useState<PasskeyRow>();
  const columns: readonly Column<PasskeyRow>[] = [
    { title: 'Name', heading: true, cell: nameOf },
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
  const client = useQueryClient();
  const renaming = useChange({
    mutationFn: renamePasskey,
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: passkeysQuery.queryKey });
      onClose();
    },
  });
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    renaming.mutate({ id: passkey.id, name: String(new FormData(event.currentTarget).get('name')) });
  };
  return (
    <Dialog open onOpenChange={onClose} title="Rename the passkey">
      <form onSubmit={submit} className="space-y-4">
        <TextField
          label="Name"
          name="name"
          required
          maxLength={100}
          autoComplete="off"
          defaultValue={nameOf(passkey)}
          error={renaming.isError ? sentenceOf(renaming.error) : undefined}
        />
        <div className="flex flex-wrap justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" busy={renaming.isPending}>
            Rename
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

function RemoveDialog({ passkey, onClose }: PasskeyDialogProps) {
  const client = useQueryClient();
  const removing = useChange({
    mutationFn: deletePasskey,
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: passkeysQuery.queryKey });
      onClose();
    },
  });
  return (
    <ConfirmDialog
      open
      onOpenChange={onClose}
      title={`Remove ${nameOf(passkey)}?`}
      consequence="It signs in no more. Remove it from the device as well, which may go on offering it."
      action="Remove"
      busy={removing.isPending}
      error={removing.isError ? sentenceOf(removing.error) : undefined}
      onConfirm={() => removing.mutate({ id: passkey.id })}
    />
  );
}
