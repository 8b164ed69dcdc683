import { keepPreviousData, useIsFetching, useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { RefreshCw } from 'lucide-react';
import { keysQuery } from '../../api/keys.ts';
import { type UsageFilters, usageQueryKey, usageSumsQuery } from '../../api/usage.ts';
import { Button, buttonClass } from '../../ui/button.tsx';
import { Loading } from '../../ui/skeleton.tsx';
import { EmptyState, ErrorState, Page } from '../../ui/surface.tsx';
import { useWorkspace } from '../../workspaces/workspaces.ts';
import { addDays, dayAt, daysOf } from './days.ts';
import { namesOf } from './names.ts';
import { UsageBreakdown } from './usage-breakdown.tsx';
import { UsageControls } from './usage-controls.tsx';
import { UsageOverTime } from './usage-over-time.tsx';
import { groupOf } from './usage-points.ts';
import { UsageRequests } from './usage-requests.tsx';
import type { UsageSearch } from './usage-search.ts';
import { UsageTotals } from './usage-totals.tsx';

const route = getRouteApi('/session/usage');

/** `/usage`: what was asked for, when, by which key, at which provider, and what it cost. */
export function UsagePage() {
  const { workspace } = useWorkspace();
  const client = useQueryClient();
  const isReading = useIsFetching({ queryKey: usageQueryKey }) > 0;
  return (
    <Page
      title="Usage"
      lead="Every request, without its content. Requests are booked seconds after they end; days are UTC."
      actions={
        <Button
          busy={isReading}
          icon={<RefreshCw aria-hidden className="size-4" />}
          onClick={() => void client.invalidateQueries({ queryKey: usageQueryKey })}
        >
          Refresh
        </Button>
      }
    >
      {workspace === undefined ? <Loading label="Usage is loading" lines={8} /> : <Usage workspaceId={workspace.id} />}
    </Page>
  );
}

function Usage({ workspaceId }: { workspaceId: string }) {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const change = (next: UsageSearch) =>
    void navigate({ to: '/usage', search: next, replace: true, resetScroll: false });

  const days = daysOf(search, dayAt(Date.now()));
  const shownWorkspace = search.workspace ?? workspaceId;
  const filters: UsageFilters = {
    from: days.from,
    to: addDays(days.to, 1),
    workspace_id: shownWorkspace === 'all' ? undefined : shownWorkspace,
    key_id: search.key,
    model: search.model,
  };
  const kind = search.by ?? 'model';
  const { data: keys } = useQuery(keysQuery(filters.workspace_id));
  const { nameOf } = namesOf(keys ?? []);
  const sums = useQuery({ ...usageSumsQuery(filters, [groupOf[kind]]), placeholderData: keepPreviousData });
  const shown = { search, days, filters, nameOf };
  return (
    <>
      <UsageControls {...shown} workspaceId={shownWorkspace} keys={keys ?? []} error={sums.error} onChange={change} />
      {sums.error !== null ? (
        <ErrorState error={sums.error} onRetry={() => void sums.refetch()} />
      ) : sums.data === undefined ? (
        <Loading label="Usage is loading" lines={8} />
      ) : sums.data.total.requests === 0 ? (
        <EmptyState
          title="No requests in these days"
          text="What programs ask with the keys of this workspace shows up here a few seconds later."
          action={
            <div className="flex flex-wrap justify-center gap-2">
              <Link to="/" className={buttonClass('primary')}>
                Send a first request
              </Link>
              <Button onClick={() => change({ range: '12m', workspace: search.workspace })}>Look at 12 months</Button>
            </div>
          }
        />
      ) : (
        <div className="space-y-6" aria-busy={sums.isPlaceholderData}>
          <UsageTotals total={sums.data.total} />
          <UsageOverTime {...shown} onChange={change} />
          <UsageBreakdown {...shown} sums={sums.data} />
          <UsageRequests {...shown} />
        </div>
      )}
    </>
  );
}
