import type { UsageDailyAnswer } from '@sotto/wire';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { formatUsd } from '../../format/money.ts';
import { formatCompact, formatCount, formatShare } from '../../format/numbers.ts';
import { Button } from '../../ui/button.tsx';
import { ShareBar } from '../../ui/share-bar.tsx';
import { Card } from '../../ui/surface.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { kindNames, type UsageNames } from './names.ts';
import { groupOf, measureOf, subjectOf, type UsageSumsRow } from './usage-points.ts';
import type { UsageSearch } from './usage-search.ts';

export interface UsageBreakdownProps extends UsageNames {
  readonly search: UsageSearch;
  readonly sums: UsageDailyAnswer;
}

const shownFirst = 10;

/** The sums of each model, key or provider, the largest first. */
export function UsageBreakdown({ search, sums, nameOf }: UsageBreakdownProps) {
  const [isWhole, setWhole] = useState(false);
  const kind = search.by ?? 'model';
  const measure = search.show ?? 'cost';
  // While the sums of another kind are on their way, the old ones have no such column.
  const rows = sums.data
    .filter((row) => row[groupOf[kind]] !== undefined)
    .toSorted((left, right) => measureOf(right, measure) - measureOf(left, measure));
  const shown = isWhole ? rows : rows.slice(0, shownFirst);
  const all = measureOf(sums.total, measure);
  const columns: readonly Column<UsageSumsRow>[] = [
    {
      title: kindNames[kind],
      heading: true,
      cell: (row) => {
        const subject = subjectOf(row, kind);
        const name = nameOf(subject, kind);
        if (subject === null || kind === 'provider') return <span className="break-all">{name}</span>;
        return (
          <Link
            to="/usage"
            search={{ ...search, [kind]: subject }}
            title={`Only ${name}`}
            className="break-all text-accent underline-offset-2 hover:underline"
          >
            {name}
          </Link>
        );
      },
    },
    {
      title: 'Share',
      cell: (row) => {
        const share = all === 0 ? 0 : measureOf(row, measure) / all;
        return (
          <span className="inline-grid w-44 max-w-full grid-cols-[1fr_3.25rem] items-center gap-2 text-sm tabular-nums">
            <ShareBar share={share} tone="accent" />
            <span className="text-right">{formatShare(share)}</span>
          </span>
        );
      },
    },
    { title: 'Cost', numeric: true, cell: ({ cost }) => formatUsd(cost) },
    {
      title: 'Requests',
      numeric: true,
      cell: ({ requests, failed }) => (
        <>
          {formatCount(requests)}
          {failed > 0 && <span className="block text-xs text-danger">{formatCount(failed)} failed</span>}
        </>
      ),
    },
    { title: 'Tokens in', numeric: true, cell: ({ prompt_tokens }) => formatCompact(prompt_tokens) },
    { title: 'Tokens out', numeric: true, cell: ({ completion_tokens }) => formatCompact(completion_tokens) },
  ];
  return (
    <Card title={`By ${kindNames[kind].toLowerCase()}`}>
      <Table
        caption={`Sums by ${kindNames[kind].toLowerCase()}`}
        columns={columns}
        rows={shown}
        rowKey={(row) => subjectOf(row, kind) ?? ''}
      />
      {rows.length > shownFirst && (
        <Button small className="mt-3" onClick={() => setWhole(!isWhole)}>
          {isWhole ? `Show the first ${shownFirst}` : `Show all ${formatCount(rows.length)}`}
        </Button>
      )}
    </Card>
  );
}
