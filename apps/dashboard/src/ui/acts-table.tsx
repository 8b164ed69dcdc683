import type { ActAnswer, ActPage } from '@sotto/contract/control/audit';
import type { InfiniteData, UseInfiniteQueryResult } from '@tanstack/react-query';
import { actorOf, concernedOf, detailsOf, sentenceOf } from './act-words.ts';
import { Button } from './button.tsx';
import { type Column, PagedTable } from './table.tsx';
import { Truncated, UtcMinute } from './text.tsx';

interface ActsTableProps {
  readonly caption: string;
  readonly query: UseInfiniteQueryResult<InfiniteData<ActPage>>;
  /** Shows in which workspace each act was. */
  readonly showsWorkspace?: boolean;
  /** Removes the filters; undefined if none is set. */
  readonly onClear?: (() => void) | undefined;
}

/** Leaves most of the table to the details. */
const narrow = 'md:max-w-48!';

const nothingYet = { title: 'Nothing yet', text: 'Events appear here, newest first.' };
const nothingFound = { title: 'Nothing matches', text: 'No event matches these filters.' };

const workspaceColumn: Column<ActAnswer> = {
  title: 'Workspace',
  onNarrow: ({ workspace_id }) => workspace_id !== null,
  cell: ({ workspace_id, workspace_name }) => (
    <Truncated text={workspace_name ?? workspace_id ?? '–'} className={narrow} />
  ),
};

const columnsOf = (showsWorkspace: boolean): readonly Column<ActAnswer>[] => [
  { title: 'Event', heading: true, cell: (act) => <span className="md:whitespace-nowrap">{sentenceOf(act)}</span> },
  { title: 'Time (UTC)', cell: ({ at }) => <UtcMinute at={at} /> },
  { title: 'By', cell: (act) => <Truncated text={actorOf(act)} className={narrow} /> },
  {
    title: 'Account',
    onNarrow: (act) => concernedOf(act) !== null,
    cell: (act) => <Truncated text={concernedOf(act) ?? '–'} className={narrow} />,
  },
  ...(showsWorkspace ? [workspaceColumn] : []),
  {
    title: 'Details',
    onNarrow: (act) => detailsOf(act) !== '',
    cell: (act) => <span className="text-sm wrap-anywhere">{detailsOf(act)}</span>,
  },
];

/** An audit log. */
export function ActsTable({ caption, query, showsWorkspace = false, onClear }: ActsTableProps) {
  return (
    <PagedTable
      caption={caption}
      columns={columnsOf(showsWorkspace)}
      rowKey={({ id }) => id}
      query={query}
      empty={onClear ? { ...nothingFound, action: <Button onClick={onClear}>Clear filters</Button> } : nothingYet}
    />
  );
}
