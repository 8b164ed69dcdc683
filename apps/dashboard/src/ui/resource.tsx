import { Ellipsis, type LucideIcon, Plus } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { Button, type ButtonProps, IconButton } from './button.tsx';
import type { DialogOf } from './dialog.tsx';
import { Menu } from './menu.tsx';
import { Card, type CardProps, EmptyState, type EmptyStateProps, Loaded, type LoadedProps } from './surface.tsx';
import { type Column, Table, type TableProps } from './table.tsx';

/** Something that a user can do with one row. */
export interface RowAction {
  /** A verb. */
  readonly label: string;
  /** In a menu. */
  readonly icon?: LucideIcon;
  /** It cannot be undone. */
  readonly danger?: boolean;
  readonly does: DialogOf | (() => void);
}

interface RowsProps<Row> extends Omit<TableProps<Row>, 'columns'> {
  readonly columns: readonly Column<Row>[];
  /** Names a row, for screen readers. */
  readonly nameOf: (row: Row) => string;
  readonly actions: (row: Row) => readonly RowAction[];
  /** Replaces the table if a filter leaves no row. */
  readonly empty?: string;
}

/** Rows with what can be done with each: by a button where each has one action, else by a menu, which ends with what cannot be undone. */
export function Rows<Row>({ columns, nameOf, actions, empty, ...table }: RowsProps<Row>) {
  const [opened, setOpened] = useState<{ readonly row: Row; readonly label: string }>();
  const does = opened && actions(opened.row).find(({ label }) => label === opened.label)?.does;
  const itemOf = (row: Row, { label, icon: Icon, danger = false, does }: RowAction) => ({
    label,
    icon: Icon && <Icon aria-hidden className="size-4" />,
    danger,
    onSelect: () => (typeof does === 'function' ? does() : setOpened({ row, label })),
  });
  const most = Math.max(0, ...table.rows.map((row) => actions(row).length));
  const cell = (row: Row): ReactNode => {
    const items = actions(row).map((action) => itemOf(row, action));
    if (items.length === 0) return null;
    if (most === 1) {
      return items.map(({ label, onSelect }) => (
        <Button key={label} small onClick={onSelect}>
          {label}
          <span className="sr-only"> {nameOf(row)}</span>
        </Button>
      ));
    }
    return (
      <Menu
        trigger={<IconButton label={`Actions for ${nameOf(row)}`} icon={<Ellipsis aria-hidden className="size-5" />} />}
        groups={[items.filter(({ danger }) => !danger), items.filter(({ danger }) => danger)].filter(
          (group) => group.length > 0,
        )}
      />
    );
  };
  return (
    <>
      {empty !== undefined && table.rows.length === 0 ? (
        <p className="py-6 text-center text-muted">{empty}</p>
      ) : (
        <Table
          {...table}
          columns={most > 0 ? [...columns, { title: 'Actions', hiddenTitle: true, numeric: true, cell }] : columns}
        />
      )}
      {typeof does === 'object' && does.dialog(() => setOpened(undefined))}
    </>
  );
}

interface ResourceProps<Row> {
  readonly query: LoadedProps<readonly Row[]>['query'];
  /** What screen readers hear while the rows are loading, such as "Keys are loading". */
  readonly loading: string;
  readonly lines?: number;
  /** Replaces an empty list: a line, or a state, which has the button that creates the first row. */
  readonly empty?: string | EmptyStateProps;
  /** The button that creates a row, and the dialog that it opens. */
  readonly create?: (DialogOf & { readonly action: string; readonly look?: ButtonProps['look'] }) | undefined;
  /** The card around the rows. */
  readonly card?: CardProps | ((rows: readonly Row[]) => CardProps);
  /** Draws the rows, mostly by `Rows`. */
  readonly rows: (rows: readonly Row[]) => ReactNode;
  /** The page around the list, which is also there while the list is loading or empty. It shows the button. */
  readonly page?: (list: ReactNode, create: ReactNode) => ReactNode;
}

/** A list of what a user has: it is loaded, may be empty, and its rows can be created, changed and revoked. */
export function Resource<Row>(props: ResourceProps<Row>) {
  const { query, loading, lines = 4, empty = '', create, card, page } = props;
  const [isCreating, setCreating] = useState(false);
  const button = create && (
    <Button
      look={create.look ?? 'primary'}
      icon={<Plus aria-hidden className="size-4" />}
      onClick={() => setCreating(true)}
    >
      {create.action}
    </Button>
  );
  const list = (
    <Loaded query={query} label={loading} lines={lines}>
      {(rows) => {
        if (rows.length === 0) {
          if (typeof empty === 'object') return <EmptyState {...empty} action={button ?? empty.action} />;
          return <p className="text-sm text-muted">{empty}</p>;
        }
        const drawn = props.rows(rows);
        if (card === undefined) return drawn;
        return (
          <Card
            {...(page === undefined ? { actions: button } : {})}
            {...(typeof card === 'function' ? card(rows) : card)}
          >
            {drawn}
          </Card>
        );
      }}
    </Loaded>
  );
  return (
    <>
      {page === undefined ? list : page(list, button)}
      {isCreating && create?.dialog(() => setCreating(false))}
    </>
  );
}
