import { isRoleAtLeast, type MemberRole, type WorkspaceAnswer, type WorkspaceMemberAnswer } from '@sotto/wire';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { UserMinus } from 'lucide-react';
import { useState } from 'react';
import { sentenceOf } from '../../api/call.ts';
import { membersQuery } from '../../api/members.ts';
import { useChange } from '../../api/use-change.ts';
import { formatInstant } from '../../format/time.ts';
import { useSignedIn } from '../../session/session.ts';
import { Badge } from '../../ui/badge.tsx';
import { IconButton } from '../../ui/button.tsx';
import { ConfirmDialog } from '../../ui/dialog.tsx';
import { SelectField } from '../../ui/field.tsx';
import { Loading } from '../../ui/skeleton.tsx';
import { Card, ErrorState } from '../../ui/surface.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { useAnnounce } from '../../ui/toasts.tsx';
import { givenRoles, roleWords } from './role-words.ts';
import { changeMemberRole, removeMember } from './workspace-queries.ts';

/** Who is in it; admins change roles and remove. */
export function MembersCard({ workspace }: { workspace: WorkspaceAnswer }) {
  const { data: members, error, refetch } = useQuery(membersQuery(workspace.id));
  if (members === undefined) {
    if (error !== null) return <ErrorState error={error} onRetry={() => void refetch()} />;
    return <Loading label="Members are loading" />;
  }
  return (
    <Card title="Members">
      <Members workspace={workspace} members={members} />
    </Card>
  );
}

function Members({ workspace, members }: { workspace: WorkspaceAnswer; members: readonly WorkspaceMemberAnswer[] }) {
  const user = useSignedIn();
  const client = useQueryClient();
  const announce = useAnnounce();
  const [leaving, setLeaving] = useState<WorkspaceMemberAnswer>();
  const refresh = () => client.invalidateQueries({ queryKey: ['workspaces'] });
  const changing = useChange({
    mutationFn: ({ accountId, role }: { accountId: string; role: MemberRole }) =>
      changeMemberRole(workspace.id, accountId, role),
    onSettled: refresh,
    onError: (error) => announce({ tone: 'danger', text: sentenceOf(error) }),
  });
  const removing = useChange({
    mutationFn: (accountId: string) => removeMember(workspace.id, accountId),
    onSuccess: async () => {
      await refresh();
      setLeaving(undefined);
    },
  });
  const manages = isRoleAtLeast(workspace.role, 'admin');
  const isOther = ({ email, role }: WorkspaceMemberAnswer): boolean => role !== 'owner' && email !== user?.email;
  const columns: readonly Column<WorkspaceMemberAnswer>[] = [
    {
      title: 'Who',
      heading: true,
      cell: ({ email }) => (
        <span className="inline-flex flex-wrap items-center gap-2 break-all">
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
    { title: 'Since', cell: ({ joined_at }) => formatInstant(joined_at) },
    {
      title: 'Remove',
      hiddenTitle: true,
      numeric: true,
      cell: (member) =>
        manages && isOther(member) ? (
          <IconButton
            label={`Remove ${member.email ?? 'the member'}`}
            icon={<UserMinus aria-hidden className="size-4.5" />}
            onClick={() => {
              removing.reset();
              setLeaving(member);
            }}
          />
        ) : null,
    },
  ];
  return (
    <>
      <Table caption="Members" columns={columns} rows={members} rowKey={({ account_id }) => account_id} />
      <ConfirmDialog
        open={leaving !== undefined}
        onOpenChange={(open) => {
          if (!open) setLeaving(undefined);
        }}
        title={`Remove ${leaving?.email ?? 'the member'}?`}
        consequence="Their keys in this workspace stop working at once. They can be invited again."
        action="Remove"
        busy={removing.isPending}
        error={removing.isError ? sentenceOf(removing.error) : undefined}
        onConfirm={() => {
          if (leaving !== undefined) removing.mutate(leaving.account_id);
        }}
      />
    </>
  );
}
