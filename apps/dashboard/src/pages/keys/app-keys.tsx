import type { GrantAnswer } from '@sotto/contract/control/connect';
import type { WorkspaceAnswer } from '@sotto/contract/control/workspaces';
import { useQuery } from '@tanstack/react-query';
import { capabilitiesQuery, membersQuery } from '../../api/queries.ts';
import { useSignedIn } from '../../session/session.ts';
import { Rows } from '../../ui/resource.tsx';
import { Card } from '../../ui/surface.tsx';
import { type Column, usdColumn } from '../../ui/table.tsx';
import { Truncated } from '../../ui/text.tsx';
import { changeAppTag } from '../apps/app-tag.tsx';
import { workspaceGrantsQuery } from '../apps/apps.ts';
import { mayChangeAllKeys } from './key-rules.ts';

/** The keys that connected apps hold in a workspace, which no list of keys has. Shown only if there are any. */
export function AppKeys({ workspace: { id, role } }: { workspace: WorkspaceAnswer }) {
  const { data: capabilities } = useQuery(capabilitiesQuery);
  const enabled = capabilities?.connected_apps.enabled === true;
  const { data: grants = [] } = useQuery({ ...workspaceGrantsQuery(id), enabled });
  const { data: members = [] } = useQuery(membersQuery(id));
  const user = useSignedIn();
  const active = grants.filter(({ ended_at: endedAt }) => endedAt === null);
  if (active.length === 0) return null;
  const emailOf = ({ granted_by: by }: GrantAnswer): string =>
    members.find(({ account_id }) => account_id === by)?.email ?? 'an account without an address';
  const columns: readonly Column<GrantAnswer>[] = [
    { title: 'App', heading: true, cell: ({ app }) => <Truncated text={app.name} /> },
    { title: 'Connected by', cell: (grant) => <Truncated text={emailOf(grant)} /> },
    { title: 'Tag', cell: ({ tag }) => <Truncated text={tag ?? '–'} /> },
    usdColumn('Spent', ({ spent_usd }) => spent_usd),
  ];
  return (
    <Card title="Keys of connected apps" lead="Each app has a key of its own, with the limit that its user set.">
      <Rows
        caption="Keys of connected apps"
        columns={columns}
        rows={active}
        rowKey={(grant) => grant.id}
        nameOf={({ app }) => app.name}
        actions={(grant) => (mayChangeAllKeys(role) || emailOf(grant) === user?.email ? [changeAppTag(grant)] : [])}
      />
    </Card>
  );
}
