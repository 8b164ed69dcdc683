import type { WorkspaceAnswer } from '@sotto/wire';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useRouter } from '@tanstack/react-router';
import { useState } from 'react';
import { sentenceOf } from '../../api/call.ts';
import { membersQuery } from '../../api/members.ts';
import { useChange } from '../../api/use-change.ts';
import { useSignedIn } from '../../session/session.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmDialog } from '../../ui/dialog.tsx';
import { Card } from '../../ui/surface.tsx';
import { useAnnounce } from '../../ui/toasts.tsx';
import { workspacesQuery } from '../../workspaces/workspaces.ts';
import { deleteWorkspace, removeMember } from './workspace-queries.ts';

/** The way out: an owner deletes, everybody else leaves. */
export function UndoCard({ workspace }: { workspace: WorkspaceAnswer }) {
  const isOwner = workspace.role === 'owner';
  const [isAsking, setAsking] = useState(false);
  const user = useSignedIn();
  const { data: members = [] } = useQuery(membersQuery(workspace.id));
  const self = members.find(({ email }) => email !== null && email === user?.email);
  const client = useQueryClient();
  const router = useRouter();
  const announce = useAnnounce();
  const going = useChange({
    mutationFn: () => {
      if (isOwner) return deleteWorkspace(workspace.id);
      if (self === undefined) throw new Error('who leaves is not known yet');
      return removeMember(workspace.id, self.account_id);
    },
    onSuccess: async () => {
      await router.navigate({ to: '/workspaces' });
      await client.invalidateQueries({ queryKey: workspacesQuery.queryKey, exact: true });
      announce({ text: isOwner ? 'The workspace is deleted.' : 'You have left the workspace.' });
    },
  });
  if (workspace.is_default && isOwner) {
    return (
      <Card title="Default workspace">
        <p className="text-muted">It stays with your account: it cannot be deleted or handed over.</p>
      </Card>
    );
  }
  return (
    <Card
      title={isOwner ? 'Delete the workspace' : 'Leave the workspace'}
      lead={
        isOwner
          ? 'Its keys stop at once, and tickets made with them. Usage and keys keep their history. To hand it over instead, invite a member as owner.'
          : 'Your keys in it stop at once. To come back you need another invitation.'
      }
    >
      <Button look="danger" disabled={!isOwner && self === undefined} onClick={() => setAsking(true)}>
        {isOwner ? 'Delete…' : 'Leave…'}
      </Button>
      <ConfirmDialog
        open={isAsking}
        onOpenChange={setAsking}
        title={isOwner ? `Delete “${workspace.name}”?` : `Leave “${workspace.name}”?`}
        consequence={
          isOwner
            ? 'Every key of it stops working now, for all its members. This cannot be undone.'
            : 'Your keys in it stop working now.'
        }
        action={isOwner ? 'Delete' : 'Leave'}
        busy={going.isPending}
        error={going.isError ? sentenceOf(going.error) : undefined}
        onConfirm={() => going.mutate()}
      />
    </Card>
  );
}
