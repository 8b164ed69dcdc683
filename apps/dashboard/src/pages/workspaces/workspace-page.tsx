import { isRoleAtLeast } from '@sotto/contract/control/workspace-role';
import type { WorkspaceAnswer } from '@sotto/contract/control/workspaces';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useParams, useRouter } from '@tanstack/react-router';
import { call } from '../../api/call.ts';
import { keysAndGrants } from '../../api/keys.ts';
import { membersQuery } from '../../api/queries.ts';
import { useForm } from '../../api/use-form.ts';
import { useSignedIn } from '../../session/session.ts';
import { buttonClass } from '../../ui/button.tsx';
import { asking, DialogButton } from '../../ui/dialog.tsx';
import { TextField } from '../../ui/field.tsx';
import { Form } from '../../ui/form.tsx';
import { Card, EmptyState, Loaded, Page } from '../../ui/surface.tsx';
import { workspacesQuery } from '../../workspaces/workspaces.tsx';
import { InvitationsCard } from './invitations-card.tsx';
import { MembersCard } from './members-card.tsx';
import { PolicyCard } from './policy-card.tsx';
import { roleWords } from './role-words.ts';

/** `/workspaces/<id>`: members, policy, invitations and name of a workspace. */
export function WorkspacePage() {
  const { workspaceId } = useParams({ from: '/session/workspaces/$workspaceId' });
  const query = useQuery(workspacesQuery);
  if (query.data === undefined) {
    return (
      <Page title="Workspace">
        <Loaded query={query} label="The workspace is loading">
          {() => null}
        </Loaded>
      </Page>
    );
  }
  const workspace = query.data.find(({ id }) => id === workspaceId);
  return workspace === undefined ? <Gone /> : <Workspace key={workspace.id} workspace={workspace} />;
}

function Workspace({ workspace }: { workspace: WorkspaceAnswer }) {
  const manages = isRoleAtLeast(workspace.role, 'admin');
  const { name, text } = roleWords[workspace.role];
  return (
    <Page
      title={workspace.name}
      lead={`Your role: ${name.toLowerCase()}. ${text}`}
      actions={
        manages ? (
          <Link
            to="/workspaces/$workspaceId/audit"
            params={{ workspaceId: workspace.id }}
            className={buttonClass('plain', true)}
          >
            Audit log
          </Link>
        ) : undefined
      }
    >
      <MembersCard workspace={workspace} />
      {manages && <InvitationsCard workspace={workspace} />}
      <PolicyCard workspace={workspace} />
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
        title="Workspace not found"
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

function NameCard({ workspace: { id, name } }: { workspace: WorkspaceAnswer }) {
  const form = useForm('PATCH /v1/workspaces/{id}', {
    params: { id },
    start: { name },
    refreshes: { ...workspacesQuery, exact: true },
    says: 'The name is saved.',
  });
  return (
    <Card title="Name">
      <Form form={form} action="Rename" look="plain">
        <TextField {...form.text('name', { every: true })} label="Workspace name" />
      </Form>
    </Card>
  );
}

/** Lets the owner delete the workspace, and other members leave it. */
function UndoCard({ workspace }: { workspace: WorkspaceAnswer }) {
  const { id } = workspace;
  const isOwner = workspace.role === 'owner';
  const user = useSignedIn();
  const { data: members = [] } = useQuery(membersQuery(workspace.id));
  // Empty until the members are loaded.
  const memberId = members.find(({ email }) => email !== null && email === user?.email)?.account_id ?? '';
  const client = useQueryClient();
  const router = useRouter();
  if (workspace.is_default && isOwner) {
    return (
      <Card title="Default workspace">
        <p className="text-muted">It belongs to your account, so you cannot delete or transfer it.</p>
      </Card>
    );
  }
  return (
    <Card
      title={isOwner ? 'Delete the workspace' : 'Leave the workspace'}
      lead={
        isOwner
          ? 'Its keys and their tickets stop working at once. Usage history is kept. To transfer it instead, invite a member as owner.'
          : 'Your keys in it stop working at once. To return, you need another invitation.'
      }
    >
      <DialogButton
        look="danger"
        disabled={!isOwner && memberId === ''}
        {...asking({
          title: isOwner ? `Delete “${workspace.name}”?` : `Leave “${workspace.name}”?`,
          consequence: isOwner
            ? 'Its keys stop working now, for all members. You cannot undo this.'
            : 'Your keys in it stop working now.',
          action: isOwner ? 'Delete' : 'Leave',
          change: {
            mutationFn: () =>
              isOwner
                ? call('DELETE /v1/workspaces/{id}', { params: { id } })
                : call('DELETE /v1/workspaces/{id}/members/{memberId}', { params: { id, memberId } }),
            refreshes: keysAndGrants,
            onSuccess: async () => {
              await router.navigate({ to: '/workspaces' });
              await client.invalidateQueries({ queryKey: workspacesQuery.queryKey, exact: true });
            },
            says: isOwner ? 'The workspace is deleted.' : 'You have left the workspace.',
          },
        })}
      >
        {isOwner ? 'Delete…' : 'Leave…'}
      </DialogButton>
    </Card>
  );
}
