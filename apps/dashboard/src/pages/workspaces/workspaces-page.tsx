import type { WorkspaceAnswer } from '@sotto/contract/control/workspaces';
import { useQuery } from '@tanstack/react-query';
import { Link, useRouter } from '@tanstack/react-router';
import { Plus } from 'lucide-react';
import { useState } from 'react';
import { call } from '../../api/call.ts';
import { useChange } from '../../api/use-change.ts';
import { useSignedIn } from '../../session/session.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button, linkClass } from '../../ui/button.tsx';
import { NameForm } from '../../ui/change-form.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Card, Loaded, Notice, Page } from '../../ui/surface.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { Instant, Truncated } from '../../ui/text.tsx';
import { useWorkspace, workspacesQuery } from '../../workspaces/workspaces.tsx';
import { waitingInvitationsQuery } from '../invitations/invitation-queries.ts';
import { roleWords } from './role-words.ts';

/** `/workspaces`: all workspaces of which the user is a member. */
export function WorkspacesPage() {
  const [isMaking, setMaking] = useState(false);
  return (
    <Page
      title="Workspaces"
      lead="Keys, routing preferences and usage belong to a workspace. Its owner’s balance pays. Invite others to work with you."
      actions={
        <Button look="primary" icon={<Plus aria-hidden className="size-4" />} onClick={() => setMaking(true)}>
          New workspace
        </Button>
      }
    >
      <InvitedNotice />
      <Loaded query={useQuery(workspacesQuery)} label="Workspaces are loading">
        {(workspaces) => <WorkspaceTable workspaces={workspaces} />}
      </Loaded>
      {isMaking && <CreateWorkspaceDialog onClose={() => setMaking(false)} />}
    </Page>
  );
}

function WorkspaceTable({ workspaces }: { workspaces: readonly WorkspaceAnswer[] }) {
  const { workspace: chosen, choose } = useWorkspace();
  const columns: readonly Column<WorkspaceAnswer>[] = [
    {
      title: 'Name',
      heading: true,
      cell: ({ id, name, is_default }) => (
        <span className="flex min-w-0 flex-wrap items-center gap-2">
          <Link
            to="/workspaces/$workspaceId"
            params={{ workspaceId: id }}
            className="min-w-0 font-medium text-accent underline-offset-2 hover:underline"
          >
            <Truncated text={name} />
          </Link>
          {is_default && <Badge>Default</Badge>}
        </span>
      ),
    },
    { title: 'Your role', cell: ({ role }) => <span title={roleWords[role].text}>{roleWords[role].name}</span> },
    { title: 'Created', cell: ({ created_at }) => <Instant at={created_at} /> },
    {
      title: 'Shown',
      numeric: true,
      hiddenTitle: true,
      cell: ({ id, name }) =>
        id === chosen?.id ? (
          <Badge tone="accent">Current workspace</Badge>
        ) : (
          <Button small onClick={() => choose(id)}>
            Switch to it<span className="sr-only">: {name}</span>
          </Button>
        ),
    },
  ];
  return (
    <Card>
      <Table caption="Workspaces" columns={columns} rows={workspaces} rowKey={({ id }) => id} />
    </Card>
  );
}

function CreateWorkspaceDialog({ onClose }: { onClose: () => void }) {
  const router = useRouter();
  const { choose } = useWorkspace();
  const making = useChange({
    mutationFn: (name: string) => call('POST /v1/workspaces', { body: { name } }),
    refreshes: workspacesQuery,
    onSuccess: async ({ id }) => {
      choose(id);
      onClose();
      await router.navigate({ to: '/workspaces/$workspaceId', params: { workspaceId: id } });
    },
  });
  return (
    <Dialog
      onClose={onClose}
      title="New workspace"
      description="It starts with default preferences and no keys. You are its owner."
    >
      <NameForm label="Name" change={making} action="Create workspace" onName={making.mutate} onCancel={onClose} />
    </Dialog>
  );
}

/** Announces invitations without an answer, if there are any. */
function InvitedNotice() {
  const isVerified = useSignedIn()?.emailVerified === true;
  const { data: invitations = [] } = useQuery({ ...waitingInvitationsQuery, enabled: isVerified });
  if (invitations.length === 0) return null;
  return (
    <Notice>
      {invitations.length === 1 ? 'You have an invitation' : `You have ${invitations.length} invitations`}.{' '}
      <Link to="/invitations" className={`font-medium ${linkClass}`}>
        Look at {invitations.length === 1 ? 'it' : 'them'}
      </Link>
    </Notice>
  );
}
