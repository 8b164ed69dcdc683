import type { ActAnswer, ActPage } from '@sotto/contract/control/audit';
import type { InfiniteData, UseInfiniteQueryResult } from '@tanstack/react-query';
import { type Column, PagedTable } from './table.tsx';
import { Instant, Truncated } from './text.tsx';

const sentenceOf = ({ act }: ActAnswer): string => {
  const words = act.replaceAll('_', ' ');
  return `${words.slice(0, 1).toUpperCase()}${words.slice(1)}`;
};

const actorOf = ({ actor, actor_account_id }: ActAnswer, names: ReadonlyMap<string, string>): string => {
  if (actor === 'command_line') return 'Command line';
  if (actor_account_id === null) return 'The operator';
  return names.get(actor_account_id) ?? actor_account_id;
};

const detailsOf = ({ details }: ActAnswer, names: ReadonlyMap<string, string>): string =>
  Object.entries(details)
    .filter(([, value]) => value !== null)
    .map(([field, value]) => {
      const name = names.get(String(value));
      const words = (name === undefined ? field : field.replace(/_id$/, '')).replaceAll('_', ' ');
      return `${words} ${name ?? String(value)}`;
    })
    .join(', ');

interface ActsTableProps {
  readonly caption: string;
  readonly query: UseInfiniteQueryResult<InfiniteData<ActPage>>;
  /** Names of accounts and keys by their ids, where they are known. */
  readonly names?: ReadonlyMap<string, string>;
  readonly empty?: { readonly title: string; readonly text: string };
}

/** Leaves most of the table to the details. */
const narrow = 'md:max-w-48!';

const nothingYet = { title: 'Nothing yet', text: 'Acts appear here, newest first.' };

/** An audit log. */
export function ActsTable({ caption, query, names = new Map(), empty = nothingYet }: ActsTableProps) {
  const columns: readonly Column<ActAnswer>[] = [
    { title: 'Act', heading: true, cell: (act) => <span className="md:whitespace-nowrap">{sentenceOf(act)}</span> },
    { title: 'When', cell: ({ at }) => <Instant at={at} /> },
    { title: 'By', cell: (act) => <Truncated text={actorOf(act, names)} className={narrow} /> },
    {
      title: 'Account',
      onNarrow: ({ account_id }) => account_id !== null,
      cell: ({ account_id }) => (
        <Truncated text={account_id === null ? '–' : (names.get(account_id) ?? account_id)} className={narrow} />
      ),
    },
    {
      title: 'Details',
      onNarrow: (act) => detailsOf(act, names) !== '',
      cell: (act) => <span className="text-sm wrap-anywhere">{detailsOf(act, names)}</span>,
    },
  ];
  return <PagedTable caption={caption} columns={columns} rowKey={({ id }) => id} query={query} empty={empty} />;
}
