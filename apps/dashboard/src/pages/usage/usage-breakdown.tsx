import type { UsageDailyAnswer } from '@sotto/contract/control/usage';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { formatCompact, formatCount, formatShare } from '../../format/format.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/surface.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { ShareBar, Truncated, Usd } from '../../ui/text.tsx';
import { groupOf, kindNames, measureOf, subjectOf, type UsageNames, type UsageSumsRow } from './usage-points.ts';
import type { UsageSearch } from './usage-search.ts';

interface UsageBreakdownProps extends UsageNames {
  readonly search: UsageSearch;
  readonly sums: UsageDailyAnswer;
}

const shownFirst = 10;

/** The sums of each model, key or provider, the largest first. */
export function UsageBreakdown({ search, sums, nameOf }: UsageBreakdownProps) {
  const [isWhole, setWhole] = useState(false);
  const kind = search.by ?? 'model';
  const by = kindNames[kind].toLowerCase();
  const measure = search.show ?? 'cost';
  // While sums by another kind are loading, the old rows do not have its column.
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
        if (subject === null || kind === 'provider') return <Truncated text={name} />;
        return (
          <Link
            to="/usage"
            search={{ ...search, [kind]: subject }}
            className="text-accent underline-offset-2 hover:underline"
          >
            <Truncated text={name} />
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
    { title: 'Cost', numeric: true, cell: ({ cost }) => <Usd usd={cost} /> },
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
    <Card title={`By ${by}`}>
      <Table caption={`Sums by ${by}`} columns={columns} rows={shown} rowKey={(row) => subjectOf(row, kind) ?? ''} />
      {rows.length > shownFirst && (
        <Button small className="mt-3" onClick={() => setWhole(!isWhole)}>
          {isWhole ? `Show the first ${shownFirst}` : `Show all ${formatCount(rows.length)}`}
        </Button>
      )}
    </Card>
  );
}
