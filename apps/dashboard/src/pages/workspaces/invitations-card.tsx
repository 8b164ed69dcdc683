import type { WorkspaceAnswer, WorkspaceInvitationAnswer } from '@sotto/contract/control/workspaces';
import { queryOptions, useQuery } from '@tanstack/react-query';
import { call, callAll } from '../../api/call.ts';
import { asking } from '../../ui/dialog.tsx';
import { Resource, Rows } from '../../ui/resource.tsx';
import { Card } from '../../ui/surface.tsx';
import type { Column } from '../../ui/table.tsx';
import { Instant } from '../../ui/text.tsx';
import { InviteForm } from './invite-form.tsx';
import { roleWords } from './role-words.ts';

const invitationsQuery = (id: string) =>
  queryOptions({
    queryKey: ['workspaces', id, 'invitations'],
    queryFn: ({ signal }) => callAll('GET /v1/workspaces/{id}/invitations', { params: { id }, signal }),
  });

/** Invites people, and lists the invitations without an answer. */
export function InvitationsCard({ workspace }: { workspace: WorkspaceAnswer }) {
  return (
    <Resource
      query={useQuery(invitationsQuery(workspace.id))}
      loading="Invitations are loading"
      lines={2}
      page={(list) => (
        <Card
          title="Invitations"
          lead="Invite people by address. An invitation works once, within seven days, for the account with that address."
        >
          <div className="space-y-5">
            <InviteForm workspace={workspace} refreshes={invitationsQuery(workspace.id)} />
            {list}
          </div>
        </Card>
      )}
      empty="No open invitations."
      rows={(invitations) => (
        <Rows
          caption="Open invitations"
          columns={columns}
          rows={invitations}
          rowKey={({ id }) => id}
          nameOf={({ email }) => `the invitation of ${email}`}
          actions={(invitation) => [{ label: 'Withdraw', does: withdrawing(workspace, invitation) }]}
        />
      )}
    />
  );
}

const columns: readonly Column<WorkspaceInvitationAnswer>[] = [
  { title: 'Email', heading: true, cell: ({ email }) => <span className="wrap-anywhere">{email}</span> },
  { title: 'Role', cell: ({ role }) => roleWords[role].name },
  { title: 'Invited', cell: ({ created_at }) => <Instant at={created_at} /> },
  { title: 'Ends', cell: ({ expires_at }) => <Instant at={expires_at} /> },
];

const withdrawing = ({ id }: WorkspaceAnswer, { id: invitationId, email }: WorkspaceInvitationAnswer) =>
  asking({
    title: `Withdraw the invitation of ${email}?`,
    consequence: 'Its link stops working. You can invite the address again.',
    action: 'Withdraw',
    change: {
      mutationFn: () => call('DELETE /v1/workspaces/{id}/invitations/{invitationId}', { params: { id, invitationId } }),
      refreshes: invitationsQuery(id),
    },
  });
