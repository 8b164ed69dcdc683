import type { GrantAnswer } from '@sotto/wire';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { sentenceOf } from '../../api/call.ts';
import { useChange } from '../../api/use-change.ts';
import { formatUsd } from '../../format/money.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { ConfirmDialog } from '../../ui/dialog.tsx';
import { Instant } from '../../ui/instant.tsx';
import { Loading } from '../../ui/skeleton.tsx';
import { Card, EmptyState, ErrorState } from '../../ui/surface.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { disconnectGrant, grantsQuery } from './app-queries.ts';
import { scopeWords } from './scope-words.ts';

/** What this person has allowed, and how they take it back. */
export function ConnectedApps() {
  const { data: grants, error, refetch } = useQuery(grantsQuery);
  if (grants === undefined) {
    if (error !== null) return <ErrorState error={error} onRetry={() => void refetch()} />;
    return <Loading label="Connected apps are loading" />;
  }
  const active = grants.filter(({ ended_at: endedAt }) => endedAt === null);
  const past = grants.filter(({ ended_at: endedAt }) => endedAt !== null);
  return (
    <div className="space-y-6">
      {active.length === 0 ? (
        <EmptyState
          title="No app is connected"
          text="An app that you use sends you here to allow it. You choose what it may spend, and take it back at any time."
        />
      ) : (
        <Active grants={active} />
      )}
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

const appColumn: Column<GrantAnswer> = {
  title: 'App',
  heading: true,
  cell: ({ app }) => (
    <span className="block">
      <span className="block font-medium">{app.name}</span>
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
};

const commonColumns: readonly Column<GrantAnswer>[] = [
  appColumn,
  {
    title: 'May',
    cell: ({ scopes }) => (
      <span className="inline-flex flex-wrap gap-1 max-md:justify-end">
        {scopes.map((scope) => (
          <span key={scope} title={scopeWords[scope].text}>
            <Badge>{scopeWords[scope].name}</Badge>
          </span>
        ))}
      </span>
    ),
  },
  { title: 'Workspace', cell: ({ workspace }) => <span className="break-words">{workspace.name}</span> },
  { title: 'Spent', numeric: true, cell: spent },
];

const pastColumns: readonly Column<GrantAnswer>[] = [
  ...commonColumns,
  { title: 'Ended', cell: ({ ended_at: endedAt }) => (endedAt === null ? '' : <Instant at={endedAt} />) },
];

function Active({ grants }: { grants: readonly GrantAnswer[] }) {
  const client = useQueryClient();
  const [asked, setAsked] = useState<GrantAnswer>();
  const disconnecting = useChange({
    mutationFn: disconnectGrant,
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: grantsQuery.queryKey });
      setAsked(undefined);
    },
  });
  const columns: readonly Column<GrantAnswer>[] = [
    ...commonColumns,
    { title: 'Connected', cell: ({ created_at }) => <Instant at={created_at} /> },
    { title: 'Last used', cell: ({ last_used_at: at }) => (at === null ? 'Never' : <Instant at={at} />) },
    {
      title: 'Disconnect',
      hiddenTitle: true,
      numeric: true,
      cell: (grant) => (
        <Button
          small
          onClick={() => {
            disconnecting.reset();
            setAsked(grant);
          }}
        >
          Disconnect<span className="sr-only"> {grant.app.name}</span>
        </Button>
      ),
    },
  ];
  return (
    <Card title="Active connections">
      <Table caption="Active connections" columns={columns} rows={grants} rowKey={({ id }) => id} />
      <ConfirmDialog
        open={asked !== undefined}
        onOpenChange={(open) => {
          if (!open) setAsked(undefined);
        }}
        title={`Disconnect ${asked?.app.name ?? 'the app'}?`}
        consequence="It can do nothing more for you from this moment; what it asked for and not used is void. To connect it again, begin in the app."
        action="Disconnect"
        busy={disconnecting.isPending}
        error={disconnecting.isError ? sentenceOf(disconnecting.error) : undefined}
        onConfirm={() => {
          if (asked !== undefined) disconnecting.mutate(asked.id);
        }}
      />
    </Card>
  );
}
