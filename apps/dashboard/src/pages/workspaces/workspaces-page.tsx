import type { WorkspaceAnswer } from '@sotto/contract/control/workspaces';
import { useQuery } from '@tanstack/react-query';
import { Link, useRouter } from '@tanstack/react-router';
import { useForm } from '../../api/use-form.ts';
import { useSignedIn } from '../../session/session.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button, linkClass } from '../../ui/button.tsx';
import { TextField } from '../../ui/field.tsx';
import { FormDialog } from '../../ui/form.tsx';
import { Resource } from '../../ui/resource.tsx';
import { Notice, Page } from '../../ui/surface.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { Instant, Truncated } from '../../ui/text.tsx';
import { useWorkspace, workspacesQuery } from '../../workspaces/workspaces.tsx';
import { waitingInvitationsQuery } from '../invitations/invitation-queries.ts';
import { roleWords } from './role-words.ts';

/** `/workspaces`: all workspaces of which the user is a member. */
export function WorkspacesPage() {
  return (
    <Resource
      query={useQuery(workspacesQuery)}
      loading="Workspaces are loading"
      page={(list, create) => (
        <Page
          title="Workspaces"
          lead="Keys, routing preferences and usage belong to a workspace. Its owner’s balance pays. Invite others to work with you."
          actions={create}
        >
          <InvitedNotice />
          {list}
        </Page>
      )}
      create={{ action: 'New workspace', dialog: (onClose) => <CreateWorkspaceDialog onClose={onClose} /> }}
      card={{}}
      rows={(workspaces) => <WorkspaceTable workspaces={workspaces} />}
    />
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
    {
      title: 'Owner',
      cell: ({ role, owner_email }) => <Truncated text={role === 'owner' ? 'You' : (owner_email ?? '—')} />,
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
  return <Table caption="Workspaces" columns={columns} rows={workspaces} rowKey={({ id }) => id} />;
}

function CreateWorkspaceDialog({ onClose }: { onClose: () => void }) {
  const router = useRouter();
  const { choose } = useWorkspace();
  const form = useForm('POST /v1/workspaces', {
    refreshes: workspacesQuery,
    onSuccess: async ({ id }) => {
      choose(id);
      onClose();
      await router.navigate({ to: '/workspaces/$workspaceId', params: { workspaceId: id } });
    },
  });
  return (
    <FormDialog
      form={form}
      title="New workspace"
      description="It starts with default preferences and no keys. You are its owner."
      action="Create workspace"
      onClose={onClose}
    >
      <TextField {...form.text('name', { every: true })} label="Name" />
    </FormDialog>
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
