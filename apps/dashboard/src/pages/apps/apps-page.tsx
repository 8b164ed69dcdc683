import type { GrantAnswer } from '@sotto/contract/control/connect';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { call } from '../../api/call.ts';
import { capabilitiesQuery } from '../../api/queries.ts';
import { formatUsd } from '../../format/format.ts';
import { Badge } from '../../ui/badge.tsx';
import { asking } from '../../ui/dialog.tsx';
import { Resource, Rows } from '../../ui/resource.tsx';
import { Card, EmptyState, Loaded, Page } from '../../ui/surface.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { Instant, Truncated } from '../../ui/text.tsx';
import { changeAppTag } from './app-tag.tsx';
import { grantsQuery, scopeWords } from './apps.ts';
import { DeveloperApps } from './developer-apps.tsx';

/** `/apps`: apps that this person has connected, and those that they have registered as a developer. */
export function AppsPage() {
  const { view = 'connected' } = useSearch({ from: '/session/apps' });
  const navigate = useNavigate({ from: '/apps' });
  return (
    <Page title="Connected apps" lead="Apps that act for you without your keys, each up to a spending limit.">
      <Loaded query={useQuery(capabilitiesQuery)} label="Connected apps are loading">
        {({ connected_apps: { enabled } }) =>
          enabled ? (
            <Tabs
              label="Connected apps"
              value={view}
              onChange={(chosen) =>
                void navigate({ search: chosen === 'connected' ? {} : { view: chosen }, replace: true })
              }
              tabs={[
                { value: 'connected', label: 'Connected', content: <ConnectedApps /> },
                { value: 'developer', label: 'For developers', content: <DeveloperApps /> },
              ]}
            />
          ) : (
            <EmptyState
              title="Apps cannot connect here"
              text="The operator of this service has disabled connected apps. Your keys still work."
            />
          )
        }
      </Loaded>
    </Page>
  );
}

/** The connected apps, with a button to disconnect each, and those that were connected. */
function ConnectedApps() {
  const { data: grants = [] } = useQuery(grantsQuery);
  const past = grants.filter(({ ended_at: endedAt }) => endedAt !== null);
  return (
    <div className="space-y-6">
      <Resource
        query={useQuery({
          ...grantsQuery,
          select: (all) => all.filter(({ ended_at: endedAt }) => endedAt === null),
        })}
        loading="Connected apps are loading"
        empty={{
          title: 'No connected apps',
          text: 'An app that wants access sends you here. You choose its spending limit, and you can disconnect it at any time.',
        }}
        card={{ title: 'Active connections' }}
        rows={(active) => (
          <Rows
            caption="Active connections"
            columns={activeColumns}
            rows={active}
            rowKey={({ id }) => id}
            nameOf={({ app }) => app.name}
            actions={(grant) => [
              changeAppTag(grant),
              {
                label: 'Disconnect',
                danger: true,
                does: asking({
                  title: `Disconnect ${grant.app.name}?`,
                  consequence:
                    'It loses access at once, and its unused tickets stop working. To connect it again, start in the app.',
                  action: 'Disconnect',
                  change: {
                    mutationFn: () => call('DELETE /v1/connect/grants/{id}', { params: { id: grant.id } }),
                    refreshes: grantsQuery,
                  },
                }),
              },
            ]}
          />
        )}
      />
      {past.length > 0 && (
        <Card title="Past connections">
          <Table caption="Past connections" columns={pastColumns} rows={past} rowKey={({ id }) => id} />
        </Card>
      )}
    </div>
  );
}

const spent = ({ spent_usd: spentUsd, credit_limit_usd: limitUsd, scopes }: GrantAnswer): string => {
  if (!scopes.includes('inference')) return 'May not spend';
  return limitUsd === null ? `${formatUsd(spentUsd)}, no limit` : `${formatUsd(spentUsd)} of ${formatUsd(limitUsd)}`;
};

const commonColumns: readonly Column<GrantAnswer>[] = [
  {
    title: 'App',
    heading: true,
    cell: ({ app }) => (
      <span className="block">
        <Truncated text={app.name} className="font-medium" />
        <a
          href={app.homepage}
          target="_blank"
          rel="noreferrer"
          className="block text-sm font-normal break-all text-muted underline underline-offset-2"
        >
          {new URL(app.homepage).host}
        </a>
      </span>
    ),
  },
  {
    title: 'May',
    cell: ({ scopes }) => (
      <span className="inline-flex flex-wrap gap-1">
        {scopes.map((scope) => (
          <span key={scope} title={scopeWords[scope].text}>
            <Badge>{scopeWords[scope].name}</Badge>
          </span>
        ))}
      </span>
    ),
  },
  {
    title: 'Workspace',
    cell: ({ workspace, tag }) => (
      <span className="block">
        <Truncated text={workspace.name ?? 'A workspace you left'} />
        {tag !== null && <span className="block text-sm text-muted">Tag: {tag}</span>}
      </span>
    ),
  },
  { title: 'Spent', numeric: true, cell: spent },
];

const pastColumns: readonly Column<GrantAnswer>[] = [
  ...commonColumns,
  { title: 'Ended', cell: ({ ended_at: endedAt }) => (endedAt === null ? '' : <Instant at={endedAt} />) },
];

const activeColumns: readonly Column<GrantAnswer>[] = [
  ...commonColumns,
  { title: 'Connected', cell: ({ created_at }) => <Instant at={created_at} /> },
  { title: 'Last used', cell: ({ last_used_at: at }) => (at === null ? 'Never' : <Instant at={at} />) },
];
