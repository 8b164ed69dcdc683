import type { UsageDailyAnswer } from '@sotto/contract/control/usage';
import { isRoleAtLeast } from '@sotto/contract/control/workspace-role';
import type { WorkspaceAnswer } from '@sotto/contract/control/workspaces';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { memo, type ReactNode, useEffect, useState } from 'react';
import { budgetsQuery } from '../../api/budgets.ts';
import { keysQuery } from '../../api/keys.ts';
import { accountQuery, billingCatalogQuery, capabilitiesQuery, membersQuery } from '../../api/queries.ts';
import { usageSumsQuery } from '../../api/usage.ts';
import { addDays } from '../../format/days.ts';
import {
  formatBalance,
  formatCount,
  formatCountOf,
  formatDay,
  formatExactUsd,
  formatMonth,
  formatShare,
  formatShortDay,
  formatUsd,
  formatUsdColumn,
  usdDigitsOf,
} from '../../format/format.ts';
import { rememberHome } from '../../session/last-home.ts';
import { buttonClass, linkClass } from '../../ui/button.tsx';
import { Plot } from '../../ui/plot.tsx';
import { Card, ErrorState, Loaded, Page, PagePending } from '../../ui/surface.tsx';
import { ShareBar, Truncated, Usd } from '../../ui/text.tsx';
import { useWorkspace, workspacesQuery } from '../../workspaces/workspaces.tsx';
import { workspaceGrantsQuery } from '../apps/apps.ts';
import { overviewDays, stepsOf } from '../usage/days.ts';
import { formatDays } from './attention.ts';
import { AttentionCard, useFunds } from './attention-card.tsx';
import { FirstSteps } from './first-steps.tsx';
import { homeSums, startHome } from './home-queries.ts';
import { figuresOf, firstTokenWithin, type OverviewFigures, recentEnds, type Top, topsOf } from './overview-figures.ts';

/** The home of a signed-in user: the first steps and, once the workspace has a request, its overview. */
export function Home() {
  const { error, refetch } = useQuery(workspacesQuery);
  const { workspace } = useWorkspace();
  if (workspace !== undefined) return <HomeOf key={workspace.id} workspace={workspace} />;
  return error === null ? (
    <PagePending />
  ) : (
    <Page title="Overview">
      <ErrorState error={error} onRetry={() => void refetch()} />
    </Page>
  );
}

const refreshMs = 60_000;
/** The longest range of one query. */
const mostDays = 400;

function HomeOf({ workspace }: { workspace: WorkspaceAnswer }) {
  const now = Date.now();
  const { from, to } = overviewDays(now);
  useStart(workspace);
  const recent = useQuery({ ...homeSums(workspace.id, now).days, refetchInterval: refreshMs });
  const isQuiet = recent.data?.total.requests === 0;
  const older = useQuery({
    ...usageSumsQuery({ from: addDays(to, -mostDays), to: from, workspace_id: workspace.id }, ['month']),
    enabled: isQuiet,
  });
  // The first steps stay after the first request, because they hold a key that is shown once.
  const [isFirst, setFirst] = useState<boolean>();
  const isEmpty =
    recent.data === undefined ? undefined : isQuiet ? older.data && older.data.total.requests === 0 : false;
  if (isFirst === undefined && isEmpty !== undefined) setFirst(isEmpty);
  if (isFirst === true) return <FirstSteps onOverview={() => setFirst(false)} />;
  const query = isQuiet ? older : recent;
  if (recent.data === undefined || isFirst === undefined) {
    if (query.error === null) return <PagePending />;
    return (
      <Page title="Overview">
        <ErrorState error={query.error} onRetry={() => void query.refetch()} />
      </Page>
    );
  }
  return (
    <Page
      title="Overview"
      lead="Cost and requests of every key. Days are in UTC."
      actions={
        <Link to="/first-steps" className={buttonClass('plain', true)}>
          First steps
        </Link>
      }
    >
      <Overview workspace={workspace} rows={recent.data.data} />
    </Page>
  );
}

/** Asks for everything that the overview of a workspace shows, and remembers it for the next visit. */
function useStart({ id: workspaceId, role }: WorkspaceAnswer): void {
  const client = useQueryClient();
  const { data: catalog } = useQuery({ ...billingCatalogQuery, enabled: role === 'owner' });
  const { data: capabilities } = useQuery(capabilitiesQuery);
  useEffect(() => {
    if (capabilities === undefined || (role === 'owner' && catalog === undefined)) return;
    rememberHome({ workspaceId, role, billing: catalog?.mode, hasApps: capabilities.connected_apps.enabled });
  }, [workspaceId, role, catalog, capabilities]);
  useEffect(() => {
    startHome(client, { workspaceId, role, billing: undefined, hasApps: false }, Date.now());
  }, [client, workspaceId, role]);
}

interface OverviewProps {
  readonly workspace: WorkspaceAnswer;
  readonly rows: Parameters<typeof figuresOf>[0];
}

function Overview({ workspace, rows }: OverviewProps) {
  const now = Date.now();
  const { last30, to } = overviewDays(now);
  const models = useQuery({ ...homeSums(workspace.id, now).models, refetchInterval: refreshMs });
  const funds = useFunds(workspace);
  const tops = models.data && topsOf(models.data.data, ({ model = '' }) => ({ id: model, name: model }));
  return (
    <>
      <AttentionCard
        workspace={workspace}
        funds={funds}
        ends={recentEnds(rows, now)}
        models={models.isPending ? undefined : (tops ?? []).map(({ id }) => id)}
      />
      <Tiles
        workspace={workspace}
        figures={figuresOf(rows, now)}
        funds={funds}
        firstTokens={models.data?.first_token}
      />
      <div className="grid gap-6 xl:grid-cols-3">
        <Card title="Cost" lead="Last 30 days." className="xl:col-span-2">
          <CostPlot rows={rows} last30={last30} to={to} />
        </Card>
        <Card title="Top models" lead="Last 30 days.">
          <Loaded query={models} label="Models are loading">
            {() => <Tops tops={tops ?? []} linkOf={(model) => ({ model })} />}
          </Loaded>
        </Card>
      </div>
      {isRoleAtLeast(workspace.role, 'member') && <KeysAndMembers workspace={workspace} />}
    </>
  );
}

const costSeries = [{ id: 'cost', name: 'Cost' }];

/** Drawn anew only for other sums, because drawing takes longer than all else on the page. */
const CostPlot = memo(function CostPlot({
  rows,
  last30,
  to,
}: Pick<OverviewProps, 'rows'> & Record<'last30' | 'to', string>) {
  const costs = new Map(rows.map(({ day, cost }) => [day, cost]));
  const days = stepsOf({ from: last30, to: addDays(to, -1) });
  return (
    <Plot
      title="Cost by day"
      hideTitle
      unit="$, by day"
      kind="stack"
      series={costSeries}
      points={days.map((day) => ({ x: day, values: [costs.get(day) ?? 0] }))}
      formatX={formatDay}
      formatTick={formatShortDay}
      // The text of each tick is measured.
      ticks={days.filter((_, place) => place % 5 === 0)}
      formatValue={formatUsd}
      formatAxis={formatExactUsd}
      formatColumns={formatUsdColumn}
    />
  );
});

interface TilesProps {
  readonly workspace: WorkspaceAnswer;
  readonly figures: OverviewFigures;
  readonly funds: ReturnType<typeof useFunds>;
  /** Of the last 30 days; undefined while they load. */
  readonly firstTokens: UsageDailyAnswer['first_token'] | undefined;
}

function Tiles({ workspace, figures, funds, firstTokens }: TilesProps) {
  const { today, month, lastMonth, projectedUsd } = figures;
  return (
    <dl className="grid grid-cols-2 gap-3 lg:grid-cols-3">
      <Tile name="Spend today" value={<Usd usd={today.usd} />} note={formatCountOf(today.requests, 'request')} />
      <Tile
        name="Spend this month"
        value={<Usd usd={month.usd} />}
        note={projectedUsd === undefined ? 'projected from its second day on' : `projected ${formatUsd(projectedUsd)}`}
      />
      {workspace.role === 'owner' ? (
        <Tile
          name="Balance"
          value={funds === undefined ? '…' : formatBalance(funds.availableUsd)}
          note={funds === undefined ? '' : noteOf(funds)}
        />
      ) : (
        <OwnBudget workspace={workspace} lastMonthUsd={lastMonth.usd} />
      )}
      <Tile
        name="Requests this month"
        value={formatCount(month.requests)}
        note={`${formatCount(lastMonth.requests)} last month`}
      />
      <Tile
        name="Failed this month"
        value={month.failedShare === undefined ? '–' : formatShare(month.failedShare)}
        note={
          month.failedShare && isRoleAtLeast(workspace.role, 'member') ? (
            <Link to="/usage" search={{ view: 'requests', range: 'month', status: 'failed' }} className={linkClass}>
              See them
            </Link>
          ) : (
            'of requests'
          )
        }
      />
      <Tile
        name="Time to first token"
        value={firstTokens === undefined ? '…' : (firstTokenWithin(firstTokens, 0.5) ?? '–')}
        note={
          firstTokens === undefined
            ? ''
            : firstTokenWithin(firstTokens, 0.9) === undefined
              ? 'no streamed answers in 30 days'
              : `p50; p90 ${firstTokenWithin(firstTokens, 0.9)}`
        }
      />
    </dl>
  );
}

function noteOf({ availableUsd, daysLeft, renewsAt }: NonNullable<TilesProps['funds']>): string {
  const lasts =
    availableUsd <= 0
      ? 'empty'
      : daysLeft === undefined
        ? 'lasts over a year at this rate'
        : `lasts ${formatDays(daysLeft)} at this rate`;
  return renewsAt === undefined ? lasts : `${lasts}; next grant ${formatShortDay(renewsAt.slice(0, 10))}`;
}

/** For those who do not pay: their own budget, if they have one. */
function OwnBudget({ workspace, lastMonthUsd }: { workspace: WorkspaceAnswer; lastMonthUsd: number }) {
  const { data: account } = useQuery(accountQuery);
  const { data: budgets } = useQuery(budgetsQuery(workspace.id));
  const own = budgets?.find(({ member_id }) => member_id !== null && member_id === account?.id);
  if (own === undefined) {
    const month = overviewDays(Date.now()).from.slice(0, 7);
    return <Tile name="Spend last month" value={<Usd usd={lastMonthUsd} />} note={formatMonth(month)} />;
  }
  return (
    <Tile
      name="Left of your budget"
      value={<Usd usd={Math.max(0, own.limit_usd - own.spent_usd)} />}
      note={`of ${formatUsd(own.limit_usd)} until ${formatShortDay(own.month_ends_at.slice(0, 10))}`}
    />
  );
}

function Tile({ name, value, note }: { name: string; value: ReactNode; note: ReactNode }) {
  return (
    <div className="min-w-0 rounded-2xl border border-line bg-surface p-3 sm:p-4">
      <dt className="text-sm text-muted">{name}</dt>
      <dd>
        <span className="block text-lg font-semibold break-words tabular-nums sm:text-xl">{value}</span>
        <span className="block text-sm text-muted">{note}</span>
      </dd>
    </div>
  );
}

/** The largest keys and, for admins, members. Members see their own keys. */
function KeysAndMembers({ workspace }: { workspace: WorkspaceAnswer }) {
  const isAdmin = isRoleAtLeast(workspace.role, 'admin');
  const sums = useQuery({ ...homeSums(workspace.id, Date.now()).keys, refetchInterval: refreshMs });
  const keys = useQuery(keysQuery(workspace.id));
  const account = useQuery(accountQuery);
  const members = useQuery(membersQuery(workspace.id));
  const { data: capabilities } = useQuery(capabilitiesQuery);
  const { data: grants = [] } = useQuery({
    ...workspaceGrantsQuery(workspace.id),
    enabled: capabilities?.connected_apps.enabled === true,
  });
  // An app's requests are listed under a key that the list of keys does not have.
  const owners = new Map([
    ...(keys.data ?? []).map(({ id, name, created_by }) => [id, { name, by: created_by }] as const),
    ...grants.map(({ key_id, app, granted_by }) => [key_id, { name: app.name, by: granted_by }] as const),
  ]);
  const emails = new Map(
    members.data?.map(({ account_id, email }) => [account_id, email ?? 'An account without an address']),
  );
  const rows = (sums.data?.data ?? []).filter(
    ({ key_id = '' }) => isAdmin || owners.get(key_id)?.by === account.data?.id,
  );
  const ready = {
    data: keys.data && account.data && members.data && sums.data,
    error: sums.error ?? keys.error ?? account.error ?? members.error,
    refetch: () => Promise.all([sums.refetch(), keys.refetch(), account.refetch(), members.refetch()]),
  };
  return (
    <div className="grid items-start gap-6 xl:grid-cols-2">
      <Card title={isAdmin ? 'Top keys' : 'Your keys'} lead="Last 30 days.">
        <Loaded query={ready} label="Keys are loading">
          {() => (
            <Tops
              tops={topsOf(rows, ({ key_id: id = '' }) => ({
                id,
                name: owners.get(id)?.name ?? `Key ${id.slice(0, 8)}`,
              }))}
              linkOf={(key) => ({ key })}
            />
          )}
        </Loaded>
      </Card>
      {isAdmin && (
        <Card title="Top members" lead="Last 30 days, by who created the key.">
          <Loaded query={ready} label="Members are loading">
            {() => (
              <Tops
                tops={topsOf(rows, ({ key_id = '' }) => {
                  const id = owners.get(key_id)?.by ?? 'former';
                  return { id, name: emails.get(id) ?? 'A former member' };
                })}
              />
            )}
          </Loaded>
        </Card>
      )}
    </div>
  );
}

interface TopsProps {
  readonly tops: readonly Top[];
  /** What the page "Usage" shows for one of them. */
  readonly linkOf?: (id: string) => { readonly model?: string; readonly key?: string };
}

function Tops({ tops, linkOf }: TopsProps) {
  if (tops.length === 0) return <p className="text-sm text-muted">No requests in these days.</p>;
  const digits = usdDigitsOf(tops.map(({ usd }) => usd));
  return (
    <ol className="space-y-3">
      {tops.map(({ id, name, share, usd, requests }) => (
        <li key={id}>
          <div className="flex items-baseline justify-between gap-4">
            {linkOf === undefined ? (
              <Truncated text={name} className="min-w-0 md:max-w-full" />
            ) : (
              <Link to="/usage" search={linkOf(id)} className={`min-w-0 ${linkClass}`}>
                <Truncated text={name} className="md:max-w-full" />
              </Link>
            )}
            <span className="shrink-0 font-medium tabular-nums">
              <Usd usd={usd} digits={digits} />
            </span>
          </div>
          {/* The column of the text has one width, so that the bars can be compared. */}
          <div className="mt-1 grid grid-cols-[1fr_10.5rem] items-center gap-4">
            <ShareBar share={share} tone="accent" />
            <span className="text-right text-sm text-muted tabular-nums">
              {formatShare(share)} · {formatCountOf(requests, 'request')}
            </span>
          </div>
        </li>
      ))}
    </ol>
  );
}
