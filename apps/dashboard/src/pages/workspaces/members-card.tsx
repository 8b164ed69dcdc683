import { isRoleAtLeast } from '@sotto/contract/control/workspace-role';
import type { MemberRole, WorkspaceAnswer, WorkspaceMemberAnswer } from '@sotto/contract/control/workspaces';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { UserMinus } from 'lucide-react';
import { useState } from 'react';
import { call } from '../../api/call.ts';
import { membersQuery } from '../../api/queries.ts';
import { useChange } from '../../api/use-change.ts';
import { useSignedIn } from '../../session/session.ts';
import { Badge } from '../../ui/badge.tsx';
import { IconButton } from '../../ui/button.tsx';
import { ConfirmChange } from '../../ui/dialog.tsx';
import { SelectField } from '../../ui/field.tsx';
import { Card, Loaded } from '../../ui/surface.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { Instant } from '../../ui/text.tsx';
import { useAnnounceError } from '../../ui/toasts.tsx';
import { givenRoles, roleWords } from './role-words.ts';

/** The members. Admins change roles and remove members. */
export function MembersCard({ workspace }: { workspace: WorkspaceAnswer }) {
  return (
    <Loaded query={useQuery(membersQuery(workspace.id))} label="Members are loading">
      {(members) => (
        <Card title="Members">
          <Members workspace={workspace} members={members} />
        </Card>
      )}
    </Loaded>
  );
}

function Members({ workspace, members }: { workspace: WorkspaceAnswer; members: readonly WorkspaceMemberAnswer[] }) {
  const user = useSignedIn();
  const client = useQueryClient();
  const [leaving, setLeaving] = useState<WorkspaceMemberAnswer>();
  const changing = useChange({
    mutationFn: ({ accountId, role }: { accountId: string; role: MemberRole }) =>
      call('PATCH /v1/workspaces/{id}/members/{memberId}', {
        params: { id: workspace.id, memberId: accountId },
        body: { role },
      }),
    onSettled: () => client.invalidateQueries({ queryKey: ['workspaces'] }),
    onError: useAnnounceError(),
  });
  const manages = isRoleAtLeast(workspace.role, 'admin');
  const isOther = ({ email, role }: WorkspaceMemberAnswer): boolean => role !== 'owner' && email !== user?.email;
  const columns: readonly Column<WorkspaceMemberAnswer>[] = [
    {
      title: 'Who',
      heading: true,
      cell: ({ email }) => (
        <span className="inline-flex flex-wrap items-center gap-2 wrap-anywhere">
          {email ?? 'An account without an address'}
          {email !== null && email === user?.email && <Badge tone="accent">You</Badge>}
        </span>
      ),
    },
    {
      title: 'Role',
      cell: (member) =>
        manages && isOther(member) ? (
          <SelectField
            label={`Role of ${member.email ?? 'the member'}`}
            hideLabel
            className="md:min-w-32"
            value={
              changing.variables?.accountId === member.account_id && changing.isPending
                ? changing.variables.role
                : member.role
            }
            disabled={changing.isPending}
            onChange={(role) => {
              if (role !== 'owner') changing.mutate({ accountId: member.account_id, role });
            }}
            choices={givenRoles.map((role) => ({ value: role, label: roleWords[role].name }))}
          />
        ) : (
          <span title={roleWords[member.role].text}>{roleWords[member.role].name}</span>
        ),
    },
    { title: 'Joined', cell: ({ joined_at }) => <Instant at={joined_at} /> },
    {
      title: 'Remove',
      hiddenTitle: true,
      numeric: true,
      cell: (member) =>
        manages && isOther(member) ? (
          <IconButton
            label={`Remove ${member.email ?? 'the member'}`}
            icon={<UserMinus aria-hidden className="size-4.5" />}
            onClick={() => setLeaving(member)}
          />
        ) : null,
    },
  ];
  return (
    <>
      <Table caption="Members" columns={columns} rows={members} rowKey={({ account_id }) => account_id} pageSize={25} />
      {leaving !== undefined && (
        <ConfirmChange
          onClose={() => setLeaving(undefined)}
          title={`Remove ${leaving.email ?? 'the member'}?`}
          consequence="Their keys in this workspace stop working at once. They can be invited again."
          action="Remove"
          change={{
            mutationFn: () =>
              call('DELETE /v1/workspaces/{id}/members/{memberId}', {
                params: { id: workspace.id, memberId: leaving.account_id },
              }),
            refreshes: { queryKey: ['workspaces'] },
          }}
        />
      )}
    </>
  );
}
