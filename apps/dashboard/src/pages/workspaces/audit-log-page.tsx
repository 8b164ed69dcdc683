import { isRoleAtLeast } from '@sotto/contract/control/workspace-role';
import { infiniteQueryOptions, useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { addressOf, call } from '../../api/call.ts';
import { byCursor, membersQuery } from '../../api/queries.ts';
import { ActFilters, askedOf, isNarrowed, workspaceKinds } from '../../ui/act-filters.tsx';
import type { ActSearch } from '../../ui/act-search.ts';
import { ActsTable } from '../../ui/acts-table.tsx';
import { buttonClass, DownloadLink } from '../../ui/button.tsx';
import { Combobox } from '../../ui/combobox.tsx';
import { Card, EmptyState, Page } from '../../ui/surface.tsx';
import { useWorkspace, WorkspaceLoading } from '../../workspaces/workspaces.tsx';

type Asked = ReturnType<typeof askedOf> & { readonly actor_account_id: string | undefined };

const workspaceActsQuery = (id: string, asked: Asked) =>
  infiniteQueryOptions({
    queryKey: ['workspaces', id, 'audit', asked],
    queryFn: ({ pageParam, signal }) =>
      call('GET /v1/workspaces/{id}/audit', { params: { id }, query: { ...asked, cursor: pageParam }, signal }),
    ...byCursor,
  });

/** `/audit`, and `/workspaces/<id>/audit`: who did what in the chosen workspace, or in that one, for its admins. */
export function AuditLogPage() {
  const { workspaceId } = useParams({ strict: false });
  const { workspace: chosen, workspaces } = useWorkspace();
  const workspace = workspaceId === undefined ? chosen : workspaces.find(({ id }) => id === workspaceId);
  const id = workspaceId ?? chosen?.id;
  if (id === undefined) {
    return (
      <Page title="Audit log">
        <WorkspaceLoading label="The audit log is loading" lines={6} />
      </Page>
    );
  }
  if (workspace !== undefined && !isRoleAtLeast(workspace.role, 'admin')) {
    return (
      <Page title="Audit log">
        <EmptyState
          title="Only admins can read the audit log"
          text={`Your role in ${workspace.name} is ${workspace.role}. Ask an admin, or choose another workspace above.`}
        />
      </Page>
    );
  }
  return <AuditLog key={id} id={id} />;
}

function AuditLog({ id }: { id: string }) {
  const { kind, by, from, to } = useSearch({ strict: false });
  const search: ActSearch = { kind, by, from, to };
  const navigate = useNavigate();
  const asked: Asked = { ...askedOf(search, workspaceKinds), actor_account_id: by };
  const acts = useInfiniteQuery(workspaceActsQuery(id, asked));
  const { data: members = [] } = useQuery(membersQuery(id));
  const people = members.map(({ account_id, email }) => ({ value: account_id, label: email ?? account_id }));
  // Someone who left is chosen by a link to this page.
  const chosen = by === undefined || people.some(({ value }) => value === by) ? [] : [{ value: by, label: by }];
  const change = (next: ActSearch) => void navigate({ to: '.', search: next, replace: true, resetScroll: false });
  const query = { ...asked, format: 'csv' } as const;
  return (
    <Page
      title="Audit log"
      lead="Who changed invitations, members, keys, budgets, routing and the policy of this workspace. It holds ids and amounts, and cannot be changed."
      actions={
        <>
          <DownloadLink href={addressOf('GET /v1/workspaces/{id}/audit', { params: { id }, query })}>
            Export
          </DownloadLink>
          <Link to="/workspaces/$workspaceId" params={{ workspaceId: id }} className={buttonClass('plain', true)}>
            Workspace
          </Link>
        </>
      }
    >
      <ActFilters kinds={workspaceKinds} search={search} onChange={change}>
        <Combobox
          className="md:w-72"
          label="Person"
          value={by ?? ''}
          options={[{ value: '', label: 'All people' }, ...people, ...chosen]}
          onChange={(person) => change({ ...search, by: person === '' ? undefined : person })}
        />
      </ActFilters>
      <Card>
        <ActsTable
          caption="Events in this workspace, newest first"
          query={acts}
          onClear={isNarrowed(search) ? () => change({}) : undefined}
        />
      </Card>
    </Page>
  );
}
