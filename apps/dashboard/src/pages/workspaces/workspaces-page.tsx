import type { WorkspaceAnswer } from '@sotto/wire';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Plus } from 'lucide-react';
import { useState } from 'react';
import { formatInstant } from '../../format/time.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Loading } from '../../ui/skeleton.tsx';
import { Card, ErrorState, Page } from '../../ui/surface.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { useWorkspace, workspacesQuery } from '../../workspaces/workspaces.ts';
import { CreateWorkspaceDialog } from './create-workspace-dialog.tsx';
import { InvitedNotice } from './invited-notice.tsx';
import { roleWords } from './role-words.ts';

/** `/workspaces`: the account's own, and those it was invited to. */
export function WorkspacesPage() {
  const { data: workspaces, error, refetch } = useQuery(workspacesQuery);
  const [isMaking, setMaking] = useState(false);
  return (
    <Page
      title="Workspaces"
      lead="Keys, routing preferences and usage belong to a workspace; its owner’s balance pays. Invite others to work in one with you."
      actions={
        <Button look="primary" icon={<Plus aria-hidden className="size-4" />} onClick={() => setMaking(true)}>
          New workspace
        </Button>
      }
    >
      <InvitedNotice />
      {workspaces === undefined && error !== null && <ErrorState error={error} onRetry={() => void refetch()} />}
      {workspaces === undefined && error === null && <Loading label="Workspaces are loading" />}
      {workspaces !== undefined && <WorkspaceTable workspaces={workspaces} />}
      <CreateWorkspaceDialog open={isMaking} onOpenChange={setMaking} />
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
        <span className="inline-flex flex-wrap items-center gap-2">
          <Link
            to="/workspaces/$workspaceId"
            params={{ workspaceId: id }}
            className="font-medium text-accent underline-offset-2 hover:underline"
          >
            {name}
          </Link>
          {is_default && <Badge>Default</Badge>}
        </span>
      ),
    },
    { title: 'Your role', cell: ({ role }) => <span title={roleWords[role].text}>{roleWords[role].name}</span> },
    { title: 'Made', cell: ({ created_at }) => formatInstant(created_at) },
    {
      title: 'Shown',
      numeric: true,
      hiddenTitle: true,
      cell: ({ id, name }) =>
        id === chosen?.id ? (
          <Badge tone="accent">Pages show this one</Badge>
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
