import type { UsageSums } from '@sotto/contract/control/usage';
import { isRoleAtLeast } from '@sotto/contract/control/workspace-role';
import { type InfiniteData, keepPreviousData, useIsFetching, useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { RefreshCw } from 'lucide-react';
import { useMemo } from 'react';
import { keysQuery } from '../../api/keys.ts';
import { membersQuery } from '../../api/queries.ts';
import {
  arrivalsKey,
  refusalFilters,
  type UsageFilters,
  type UsageRowFilters,
  usageQueryKey,
  usageRowsKey,
  usageSumsQuery,
} from '../../api/usage.ts';
import { addDays, type Days, dayAt } from '../../format/days.ts';
import { formatCompact, formatCount, formatDay, formatUsd } from '../../format/format.ts';
import { useSignedIn } from '../../session/session.ts';
import { Button, buttonClass } from '../../ui/button.tsx';
import { EmptyState, ErrorState, Loading, Page } from '../../ui/surface.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { useWorkspace, WorkspaceLoading } from '../../workspaces/workspaces.tsx';
import { daysOf, last24Hours } from './days.ts';
import { changeOf, comparedDays } from './period-before.ts';
import { RefusedRequests } from './refused-requests.tsx';
import { RequestLog } from './request-log.tsx';
import { SavedViews } from './saved-views.tsx';
import { UsageBreakdown } from './usage-breakdown.tsx';
import { UsageFilterBar, type UsageFiltersProps } from './usage-filters.tsx';
import { UsageOverTime } from './usage-over-time.tsx';
import { addHours, groupOf, namesIn, namesOf, ownersOf } from './usage-points.ts';
import { hourRanges, isNarrowed, sumsOf, type UsageSearch, withoutFilters } from './usage-search.ts';

const route = getRouteApi('/session/usage');

/** `/usage`: requests by day, model, key and provider, with their cost. */
export function UsagePage() {
  const { workspace } = useWorkspace();
  const user = useSignedIn();
  const client = useQueryClient();
  const isReading =
    useIsFetching({ queryKey: usageQueryKey, predicate: ({ queryKey }) => queryKey[1] !== arrivalsKey[1] }) > 0;
  const search = route.useSearch();
  return (
    <Page
      title="Usage"
      lead="Every request, without its content, seconds after it ends. Requests refused for their form or content, such as an unknown model, are neither listed nor counted. Times are in UTC."
      actions={
        <>
          {workspace !== undefined && user && (
            <SavedViews
              key={user.id}
              userId={user.id}
              search={{ ...search, workspace: search.workspace ?? workspace.id }}
            />
          )}
          <Button
            busy={isReading}
            icon={<RefreshCw aria-hidden className="size-4" />}
            onClick={() => {
              // Many pages of requests may be loaded. Only the newest is loaded again.
              client.setQueriesData<InfiniteData<unknown>>({ queryKey: usageRowsKey }, (rows) =>
                rows === undefined ? rows : { pages: rows.pages.slice(0, 1), pageParams: rows.pageParams.slice(0, 1) },
              );
              void client.invalidateQueries({ queryKey: usageQueryKey });
            }}
          >
            Refresh
          </Button>
        </>
      }
    >
      {workspace === undefined ? (
        <WorkspaceLoading label="Usage is loading" lines={8} />
      ) : (
        <Usage workspaceId={workspace.id} />
      )}
    </Page>
  );
}

function Usage({ workspaceId }: { workspaceId: string }) {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const change = (next: UsageSearch) =>
    // Back leads from the requests to the sums, not through each filter.
    void navigate({ to: '/usage', search: next, replace: next.view === search.view, resetScroll: false });

  const days = daysOf(sumsOf(search), dayAt(Date.now()));
  const shownWorkspace = search.workspace ?? workspaceId;
  const { workspaces } = useWorkspace();
  const role = shownWorkspace === 'all' ? 'owner' : workspaces.find(({ id }) => id === shownWorkspace)?.role;
  const seesMembers = role !== undefined && isRoleAtLeast(role, 'admin');
  const ofRequests = search.view === 'requests';
  const hours = ofRequests || seesMembers ? search.hours : undefined;
  const filters: UsageFilters = {
    ...(hours === undefined || ofRequests ? { from: days.from, to: addDays(days.to, 1) } : last24Hours(Date.now())),
    workspace_id: shownWorkspace === 'all' ? undefined : shownWorkspace,
    key_id: search.key,
    model: search.model,
    member_id: search.member,
    tag: search.tag,
  };
  const { data: keys = [] } = useQuery(keysQuery(filters.workspace_id));
  const isMember = role !== undefined && shownWorkspace !== 'all';
  const { data: members = [] } = useQuery({ ...membersQuery(shownWorkspace), enabled: isMember });
  const { nameOf } = namesOf(keys, members);
  // An address may name a kind that this reader cannot see.
  const by = search.by === 'member' && !seesMembers ? undefined : search.by;
  const shown = {
    search: { ...search, by, hours },
    ...{ days, filters, nameOf, workspaceId: shownWorkspace, keys, seesMembers, onChange: change },
  };
  return (
    <Tabs
      label="Usage"
      value={search.view ?? 'sums'}
      onChange={(view) => change(view === 'sums' ? sumsOf(search) : { ...search, view, tag: undefined })}
      tabs={[
        { value: 'sums', label: 'Overview', content: <UsageSumsView {...shown} /> },
        { value: 'requests', label: 'Requests', content: <UsageRequestsView {...shown} /> },
      ]}
    />
  );
}

function UsageSumsView(shown: UsageFiltersProps) {
  const { search, filters, onChange } = shown;
  const kind = search.by ?? 'model';
  const sumsIn = ({ from, to }: Days) => usageSumsQuery({ ...filters, from, to: addDays(to, 1) }, [groupOf[kind]]);
  // Without the column of hours, the service sums whole days.
  const asked = search.hours === undefined ? sumsIn(shown.days) : usageSumsQuery(filters, ['hour', groupOf[kind]]);
  const sums = useQuery({ ...asked, placeholderData: keepPreviousData });
  const compared = search.hours === undefined ? comparedDays(search, dayAt(Date.now())) : undefined;
  const enabled = compared !== undefined;
  const now = useQuery({ ...sumsIn(compared?.now ?? shown.days), enabled });
  const before = useQuery({ ...sumsIn(compared?.before ?? shown.days), enabled });
  return (
    <div className="space-y-6">
      <UsageFilterBar {...shown} error={sums.error} />
      {sums.error !== null ? (
        <ErrorState error={sums.error} onRetry={() => void sums.refetch()} />
      ) : sums.data === undefined ? (
        <Loading label="Usage is loading" lines={8} />
      ) : sums.data.total.requests === 0 ? (
        <NoUsage search={search} onChange={onChange} />
      ) : (
        <div className="space-y-6" aria-busy={sums.isPlaceholderData}>
          <UsageTotals
            total={sums.data.total}
            // While another search is loading, the total is still that of the one before.
            compared={sums.isPlaceholderData ? undefined : compared}
            now={now.data?.total}
            before={before.data?.total}
          />
          <UsageOverTime {...shown} />
          <UsageBreakdown {...shown} rows={addHours(sums.data.data, kind)} total={sums.data.total} />
        </div>
      )}
    </div>
  );
}

function NoUsage({ search, onChange }: Pick<UsageFiltersProps, 'search' | 'onChange'>) {
  const isFiltered = isNarrowed(search);
  return (
    <EmptyState
      title={
        isFiltered
          ? 'No requests match'
          : `No requests ${search.hours === undefined ? 'on these days' : 'in these hours'}`
      }
      text={
        isFiltered
          ? 'No request of this time matches all filters.'
          : 'Requests with this workspace’s keys appear here within seconds.'
      }
      action={
        <div className="flex flex-wrap justify-center gap-2">
          {isFiltered ? (
            <Button onClick={() => onChange(withoutFilters(search))}>Clear filters</Button>
          ) : (
            <Link to="/playground" className={buttonClass('primary')}>
              Send a first request
            </Link>
          )}
          <Button
            onClick={() => onChange({ ...search, range: '12m', hours: undefined, from: undefined, to: undefined })}
          >
            Show 12 months
          </Button>
        </div>
      }
    />
  );
}

function UsageRequestsView(shown: UsageFiltersProps) {
  const { search, filters, workspaceId, keys, seesMembers, onChange } = shown;
  const { workspaces } = useWorkspace();
  const rowFilters: UsageRowFilters = {
    ...filters,
    hours: search.hours && hourRanges[search.hours],
    minutes:
      search.since === undefined || search.until === undefined
        ? undefined
        : { since: search.since, until: search.until },
    status: search.status,
    error: search.error,
    provider: search.provider,
  };
  const role = workspaces.find(({ id }) => id === workspaceId)?.role;
  // They also name apps, people who left, and the members of all workspaces.
  const { data: sums } = useQuery({ ...usageSumsQuery(filters, ['member_id', 'key_id']), enabled: seesMembers });
  const rows = sums?.data ?? [];
  const { nameOf } = namesIn(rows, shown);
  const owners = useMemo(() => ownersOf(keys, sums?.data), [keys, sums]);
  return (
    <div className="space-y-4">
      <UsageFilterBar {...shown} nameOf={nameOf} />
      {role === 'viewer' ? (
        <EmptyState
          title="Viewers see totals only"
          text="Your role here is viewer. A member sees the requests of their own keys, an admin those of all."
        />
      ) : (
        <>
          {mayBeRefused(search) && (
            <RefusedRequests
              filters={refusalFilters(rowFilters)}
              isOfAllModels={search.model !== undefined}
              nameOf={nameOf}
            />
          )}
          <RequestLog
            key={JSON.stringify(rowFilters)}
            filters={rowFilters}
            isNarrowed={isNarrowed(search)}
            onClear={() => onChange(withoutFilters(search))}
            nameOf={nameOf}
            owners={owners}
          />
        </>
      )}
    </div>
  );
}

/** Whether a search has no filter that a refused request cannot match: no provider was asked, and it did not complete. */
const mayBeRefused = ({ status, error, provider }: UsageSearch): boolean =>
  error === undefined && provider === undefined && (status === undefined || status === 'failed');

interface UsageTotalsProps {
  readonly total: UsageSums;
  /** The days whose sums are compared: `now` and `before`, which are undefined while they load. */
  readonly compared: ReturnType<typeof comparedDays>;
  readonly now: UsageSums | undefined;
  readonly before: UsageSums | undefined;
}

/** The sums of all that is shown, each with its change from the period before. */
function UsageTotals({ total, compared, now, before }: UsageTotalsProps) {
  const { requests, failed, cancelled, estimated, prompt_tokens, cached_tokens, completion_tokens, reasoning_tokens } =
    total;
  const marks = [
    [failed, 'failed'],
    [cancelled, 'cancelled'],
    [estimated, 'estimated'],
  ] as const;
  const changed = (of: (sums: UsageSums) => number): Change | undefined => {
    const text = now && before && changeOf(of(now), of(before));
    if (compared === undefined || text === undefined) return undefined;
    const words = ({ from, to }: Days): string => `${formatDay(from)} to ${formatDay(to)}`;
    return { text, title: `${words(compared.now)}, compared with ${words(compared.before)}` };
  };
  const told = marks.filter(([count]) => count > 0).map(([count, word]) => `${formatCount(count)} ${word}`);
  return (
    <dl className="grid grid-cols-2 gap-3 lg:grid-cols-4">
      <Total
        name="Cost"
        value={formatUsd(total.cost)}
        note={`${formatUsd(total.cost / requests)} a request`}
        change={changed(({ cost }) => cost)}
      />
      <Total
        name="Requests"
        value={formatCount(requests)}
        change={changed((sums) => sums.requests)}
        note={told.length === 0 ? 'all completed' : told.join(', ')}
      />
      <Total
        name="Tokens in"
        value={formatCompact(prompt_tokens)}
        note={`${formatCompact(cached_tokens)} cached`}
        title={formatCount(prompt_tokens)}
        change={changed((sums) => sums.prompt_tokens)}
      />
      <Total
        name="Tokens out"
        value={formatCompact(completion_tokens)}
        note={`${formatCompact(reasoning_tokens)} reasoning`}
        title={formatCount(completion_tokens)}
        change={changed((sums) => sums.completion_tokens)}
      />
    </dl>
  );
}

interface Change {
  readonly text: string;
  readonly title: string;
}

interface TotalProps {
  readonly name: string;
  readonly value: string;
  readonly note: string;
  readonly title?: string;
  readonly change: Change | undefined;
}

function Total({ name, value, note, title, change }: TotalProps) {
  return (
    <div className="min-w-0 rounded-2xl border border-line bg-surface p-4">
      <dt className="text-sm text-muted">{name}</dt>
      <dd>
        <span className="block text-xl font-semibold break-words tabular-nums" title={title}>
          {value}
        </span>
        <span className="block text-sm text-muted">{note}</span>
        {change !== undefined && (
          <span title={change.title} className="block text-sm text-muted tabular-nums">
            {change.text} from the period before
          </span>
        )}
      </dd>
    </div>
  );
}
