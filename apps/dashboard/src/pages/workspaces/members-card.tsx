import { isRoleAtLeast } from '@sotto/contract/control/workspace-role';
import type { MemberRole, WorkspaceAnswer, WorkspaceMemberAnswer } from '@sotto/contract/control/workspaces';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { call } from '../../api/call.ts';
import { afterRevoking, keysAndGrants } from '../../api/keys.ts';
import { membersQuery } from '../../api/queries.ts';
import { usageSumsQuery } from '../../api/usage.ts';
import { useChange } from '../../api/use-change.ts';
import { addDays, dayAt, monthFrom } from '../../format/days.ts';
import { formatCountOf, usdDigitsOf } from '../../format/format.ts';
import { useSignedIn } from '../../session/session.ts';
import { Badge } from '../../ui/badge.tsx';
import { linkClass } from '../../ui/button.tsx';
import { asking } from '../../ui/dialog.tsx';
import { SelectField } from '../../ui/field.tsx';
import { Resource, Rows } from '../../ui/resource.tsx';
import type { Column } from '../../ui/table.tsx';
import { Instant, Usd } from '../../ui/text.tsx';
import { useAnnounceError } from '../../ui/toasts.tsx';
import type { UsageSumsRow } from '../usage/usage-points.ts';
import { givenRoles, roleWords } from './role-words.ts';

/** The members. Admins change roles, remove members and see what each used. */
export function MembersCard({ workspace }: { workspace: WorkspaceAnswer }) {
  const user = useSignedIn();
  const client = useQueryClient();
  const changing = useChange({
    mutationFn: ({ accountId, role }: { accountId: string; role: MemberRole }) =>
      call('PATCH /v1/workspaces/{id}/members/{memberId}', {
        params: { id: workspace.id, memberId: accountId },
        body: { role },
      }),
    // A viewer has no keys.
    refreshes: keysAndGrants,
    onSettled: () => client.invalidateQueries({ queryKey: ['workspaces'] }),
    onError: useAnnounceError(),
  });
  const manages = isRoleAtLeast(workspace.role, 'admin');
  const today = dayAt(Date.now());
  const spent = useQuery({
    ...usageSumsQuery({ from: monthFrom(today, 0), to: addDays(today, 1), workspace_id: workspace.id }, ['member_id']),
    enabled: manages,
  });
  const isOther = ({ email, role }: WorkspaceMemberAnswer): boolean => role !== 'owner' && email !== user?.email;
  const columns: readonly Column<WorkspaceMemberAnswer>[] = [
    {
      title: 'Who',
      heading: true,
      cell: ({ email, disabled }) => (
        <span className="inline-flex flex-wrap items-center gap-2 wrap-anywhere">
          {email ?? 'An account without an address'}
          {email !== null && email === user?.email && <Badge tone="accent">You</Badge>}
          {disabled && (
            <span title="An operator disabled the account. It cannot sign in, and its keys do not work.">
              <Badge tone="danger">Disabled</Badge>
            </span>
          )}
        </span>
      ),
    },
    {
      title: 'Role',
      cell: (member) => (
        <span className="flex flex-wrap items-center gap-2">
          {manages && isOther(member) ? (
            <SelectField
              label={`Role of ${nameOf(member)}`}
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
          )}
          {member.by_group && <ByGroup />}
        </span>
      ),
    },
    ...(manages ? [ofThisMonth(workspace.id, spent.data?.data)] : []),
    { title: 'Joined', cell: ({ joined_at }) => <Instant at={joined_at} /> },
  ];
  return (
    <Resource
      query={useQuery(membersQuery(workspace.id))}
      loading="Members are loading"
      card={{ title: 'Members' }}
      rows={(members) => (
        <Rows
          caption="Members"
          columns={columns}
          rows={members}
          rowKey={({ account_id }) => account_id}
          pageSize={25}
          nameOf={nameOf}
          actions={(member) =>
            manages && isOther(member) ? [{ label: 'Remove', does: removing(workspace, member) }] : []
          }
        />
      )}
    />
  );
}

function ByGroup() {
  return (
    <span title="A group of the OpenID provider gives this role, which changes and ends with the group. A role that you choose here stays.">
      <Badge>From a group</Badge>
    </span>
  );
}

/** What each member used this month. Empty until it is loaded. */
const ofThisMonth = (workspace: string, sums: readonly UsageSumsRow[] | undefined): Column<WorkspaceMemberAnswer> => ({
  title: 'This month',
  numeric: true,
  cell: ({ account_id: member }, rows) => {
    if (sums === undefined) return '';
    const used = (id: string) => sums.find(({ member_id }) => member_id === id) ?? { cost: 0, requests: 0 };
    const { cost, requests } = used(member);
    const digits = usdDigitsOf(rows.map(({ account_id: id }) => used(id).cost));
    return (
      <>
        <Link to="/usage" search={{ workspace, member, range: 'month' }} className={linkClass}>
          <Usd usd={cost} digits={digits} />
        </Link>
        <span className="block text-xs text-muted">{formatCountOf(requests, 'request')}</span>
      </>
    );
  },
});

const nameOf = ({ email }: WorkspaceMemberAnswer): string => email ?? 'the member';

const removing = ({ id }: WorkspaceAnswer, member: WorkspaceMemberAnswer) =>
  asking({
    title: `Remove ${nameOf(member)}?`,
    consequence: 'Their keys in this workspace stop working at once. They can be invited again.',
    action: 'Remove',
    change: {
      mutationFn: () =>
        call('DELETE /v1/workspaces/{id}/members/{memberId}', { params: { id, memberId: member.account_id } }),
      refreshes: afterRevoking,
    },
  });
