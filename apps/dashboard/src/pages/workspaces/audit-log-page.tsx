import type { ActName } from '@sotto/contract/control/audit';
import { isRoleAtLeast } from '@sotto/contract/control/workspace-role';
import { infiniteQueryOptions, useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { addressOf, call } from '../../api/call.ts';
import { keysQuery } from '../../api/keys.ts';
import { byCursor, membersQuery } from '../../api/queries.ts';
import { ActsTable } from '../../ui/acts-table.tsx';
import { Button, buttonClass, DownloadLink } from '../../ui/button.tsx';
import { Combobox } from '../../ui/combobox.tsx';
import { SelectField } from '../../ui/field.tsx';
import { Card, EmptyState, Page } from '../../ui/surface.tsx';
import { useWorkspace, WorkspaceLoading } from '../../workspaces/workspaces.tsx';

/** What can be done in a workspace, by kind. */
const kinds: Readonly<Record<string, { readonly label: string; readonly acts: readonly ActName[] }>> = {
  members: {
    label: 'Members and invitations',
    acts: ['invitation_created', 'invitation_withdrawn', 'member_joined', 'member_role_changed', 'member_removed'],
  },
  keys: {
    label: 'Keys',
    acts: ['key_created', 'key_changed', 'key_disabled', 'key_enabled', 'key_rotated', 'key_revoked'],
  },
  budgets: { label: 'Budgets and alerts', acts: ['budget_set', 'budget_removed', 'webhook_set', 'webhook_removed'] },
  routing: { label: 'Routing', acts: ['preferences_changed'] },
  policy: { label: 'Policy', acts: ['policy_changed'] },
  workspace: { label: 'Workspace', acts: ['workspace_created', 'workspace_renamed', 'workspace_transferred'] },
};

interface Asked {
  readonly act: string | undefined;
  readonly actor_account_id: string | undefined;
}

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
  const { kind, by } = useSearch({ strict: false });
  const navigate = useNavigate();
  const asked: Asked = { act: kinds[kind ?? '']?.acts.join(), actor_account_id: by };
  const acts = useInfiniteQuery(workspaceActsQuery(id, asked));
  const { data: members = [] } = useQuery(membersQuery(id));
  const { data: keys = [] } = useQuery(keysQuery(id));
  const people = members.map(({ account_id, email }) => ({ value: account_id, label: email ?? account_id }));
  const names = new Map([
    ...people.map(({ value, label }) => [value, label] as const),
    ...keys.map((key) => [key.id, key.name] as const),
  ]);
  const change = (search: { readonly kind: string | undefined; readonly by: string | undefined }) =>
    void navigate({ to: '.', search, replace: true, resetScroll: false });
  const isNarrowed = asked.act !== undefined || by !== undefined;
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
      <div className="grid items-start gap-3 sm:grid-cols-2 md:flex md:flex-wrap">
        <SelectField
          className="md:w-56"
          label="Kind"
          value={asked.act === undefined ? '' : (kind ?? '')}
          choices={[
            { value: '', label: 'All kinds' },
            ...Object.entries(kinds).map(([value, { label }]) => ({ value, label })),
          ]}
          onChange={(chosen) => change({ kind: chosen === '' ? undefined : chosen, by })}
        />
        <Combobox
          className="md:w-72"
          label="Person"
          value={by ?? ''}
          options={[
            { value: '', label: 'Everybody' },
            ...people,
            ...(by === undefined || names.has(by) ? [] : [{ value: by, label: by }]),
          ]}
          onChange={(chosen) => change({ kind, by: chosen === '' ? undefined : chosen })}
        />
        {isNarrowed && (
          <Button look="quiet" className="self-end" onClick={() => change({ kind: undefined, by: undefined })}>
            Clear filters
          </Button>
        )}
      </div>
      <Card>
        <ActsTable
          caption="Acts in this workspace, newest first"
          query={acts}
          names={names}
          {...(isNarrowed
            ? { empty: { title: 'Nothing matches', text: 'No act in this workspace matches these filters.' } }
            : {})}
        />
      </Card>
    </Page>
  );
}
