import { isRoleAtLeast, type WorkspaceAnswer } from '@sotto/wire';
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { buttonClass } from '../../ui/button.tsx';
import { Loading } from '../../ui/skeleton.tsx';
import { EmptyState, ErrorState, Page } from '../../ui/surface.tsx';
import { workspacesQuery } from '../../workspaces/workspaces.ts';
import { InvitationsCard } from './invitations-card.tsx';
import { MembersCard } from './members-card.tsx';
import { NameCard } from './name-card.tsx';
import { roleWords } from './role-words.ts';
import { UndoCard } from './undo-card.tsx';

/** `/workspaces/<id>`: who is in a workspace, and what it is called. */
export function WorkspacePage() {
  const { workspaceId } = useParams({ from: '/session/workspaces/$workspaceId' });
  const { data: workspaces, error, refetch } = useQuery(workspacesQuery);
  if (workspaces === undefined) {
    return (
      <Page title="Workspace">
        {error === null ? (
          <Loading label="The workspace is loading" />
        ) : (
          <ErrorState error={error} onRetry={() => void refetch()} />
        )}
      </Page>
    );
  }
  const workspace = workspaces.find(({ id }) => id === workspaceId);
  return workspace === undefined ? <Gone /> : <Workspace key={workspace.id} workspace={workspace} />;
}

function Workspace({ workspace }: { workspace: WorkspaceAnswer }) {
  const manages = isRoleAtLeast(workspace.role, 'admin');
  const { name, text } = roleWords[workspace.role];
  return (
    <Page title={workspace.name} lead={`Your role: ${name.toLowerCase()}. ${text}`}>
      <MembersCard workspace={workspace} />
      {manages && <InvitationsCard workspace={workspace} />}
      <div className="grid items-start gap-6 lg:grid-cols-2">
        {manages && <NameCard workspace={workspace} />}
        <UndoCard workspace={workspace} />
      </div>
    </Page>
  );
}

function Gone() {
  return (
    <Page title="Workspace">
      <EmptyState
        title="You are in no such workspace"
        text="It may have been deleted, or you may have been removed from it."
        action={
          <Link to="/workspaces" className={buttonClass('primary')}>
            Your workspaces
          </Link>
        }
      />
    </Page>
  );
}
