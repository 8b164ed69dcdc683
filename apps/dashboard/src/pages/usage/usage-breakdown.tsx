import type { UsageSums } from '@sotto/contract/control/usage';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { type UsageFilters, usageSumsCsv } from '../../api/usage.ts';
import { formatCompact, formatCount, formatShare } from '../../format/format.ts';
import { Button, DownloadLink } from '../../ui/button.tsx';
import { Card } from '../../ui/surface.tsx';
import { type Column, Table, usdColumn } from '../../ui/table.tsx';
import { ShareBar, Truncated } from '../../ui/text.tsx';
import {
  groupOf,
  kindNames,
  measureOf,
  namesIn,
  subjectOf,
  type UsageNames,
  type UsageSumsRow,
} from './usage-points.ts';
import type { UsageSearch } from './usage-search.ts';

interface UsageBreakdownProps extends UsageNames {
  readonly search: UsageSearch;
  readonly rows: readonly UsageSumsRow[];
  readonly total: UsageSums;
  readonly filters: UsageFilters;
  /** Whether the reader may see what each member used. */
  readonly seesMembers: boolean;
}

const shownFirst = 10;

/** Who spent what, as a company books it. */
const whoSpentWhat = ['workspace_id', 'member_id', 'key_id', 'tag', 'model'] as const;

/** The sums of each model, key, provider, tag or member, the largest first. */
export function UsageBreakdown({ search, filters, seesMembers, total, ...shownBy }: UsageBreakdownProps) {
  const [isWhole, setWhole] = useState(false);
  const kind = search.by ?? 'model';
  const by = kindNames[kind].toLowerCase();
  const measure = search.show ?? 'cost';
  // While sums by another kind are loading, the old rows do not have its column.
  const rows = shownBy.rows
    .filter((row) => row[groupOf[kind]] !== undefined)
    .toSorted((left, right) => measureOf(right, measure) - measureOf(left, measure));
  const { nameOf } = namesIn(rows, shownBy);
  const shown = isWhole ? rows : rows.slice(0, shownFirst);
  const all = measureOf(total, measure);
  const step = search.hours === undefined ? 'month' : 'hour';
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
    usdColumn('Cost', ({ cost }) => cost),
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
    <Card
      title={`By ${by}`}
      actions={
        seesMembers ? (
          <DownloadLink href={usageSumsCsv(filters, [step, ...whoSpentWhat])}>
            {`Export by ${step}, member, key and model`}
          </DownloadLink>
        ) : undefined
      }
    >
      <Table caption={`Usage by ${by}`} columns={columns} rows={shown} rowKey={(row) => subjectOf(row, kind) ?? ''} />
      {rows.length > shownFirst && (
        <Button small className="mt-3" onClick={() => setWhole(!isWhole)}>
          {isWhole ? `Show the first ${shownFirst}` : `Show all ${formatCount(rows.length)}`}
        </Button>
      )}
    </Card>
  );
}
