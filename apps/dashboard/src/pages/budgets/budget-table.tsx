import type { BudgetAnswer } from '@sotto/contract/control/workspaces';
import { Ellipsis, Pencil, Trash2 } from 'lucide-react';
import { formatUsd } from '../../format/format.ts';
import { Badge } from '../../ui/badge.tsx';
import { IconButton } from '../../ui/button.tsx';
import { Menu } from '../../ui/menu.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { ShareBar, Truncated, Usd } from '../../ui/text.tsx';
import { limitTones } from '../keys/key-rules.ts';
import { type Names, ownerOf, projectedUsd, shareOf } from './budget-rules.ts';

interface BudgetTableProps {
  readonly budgets: readonly BudgetAnswer[];
  readonly names: Names;
  /** Undefined: this member cannot change budgets. */
  readonly onAction: ((what: 'change' | 'remove', budget: BudgetAnswer) => void) | undefined;
}

/** The budgets with what this month has cost, and where it leads. */
export function BudgetTable({ budgets, names, onAction }: BudgetTableProps) {
  const columns: readonly Column<BudgetAnswer>[] = [
    {
      title: 'Budget',
      heading: true,
      sortBy: (budget) => ownerOf(budget, names).toLowerCase(),
      cell: (budget) => (
        <span className="flex flex-wrap items-center gap-2">
          <Truncated text={ownerOf(budget, names)} />
          {budget.scope !== 'workspace' && <Badge>{budget.scope === 'member' ? 'Member' : 'Key'}</Badge>}
        </span>
      ),
    },
    {
      title: 'Spent this month',
      cell: (budget) => <Spent budget={budget} />,
      sortBy: (budget) => shareOf(budget).share,
    },
    {
      title: 'By the end of the month',
      cell: (budget) => <Projection budget={budget} />,
      sortBy: (budget) => projectedUsd(budget, Date.now()) ?? 0,
    },
    ...(onAction === undefined
      ? []
      : [
          {
            title: 'Actions',
            hiddenTitle: true,
            numeric: true,
            cell: (budget: BudgetAnswer) => (
              <Menu
                trigger={
                  <IconButton
                    label={`Actions for ${ownerOf(budget, names)}`}
                    icon={<Ellipsis aria-hidden className="size-5" />}
                  />
                }
                groups={[
                  [
                    {
                      label: 'Change limit',
                      icon: <Pencil aria-hidden className="size-4" />,
                      onSelect: () => onAction('change', budget),
                    },
                  ],
                  [
                    {
                      label: 'Remove',
                      icon: <Trash2 aria-hidden className="size-4" />,
                      danger: true,
                      onSelect: () => onAction('remove', budget),
                    },
                  ],
                ]}
              />
            ),
          },
        ]),
  ];
  return <Table caption="Budgets" columns={columns} rows={budgets} rowKey={({ id }) => id} pageSize={50} />;
}

function Spent({ budget }: { budget: BudgetAnswer }) {
  const { share, state } = shareOf(budget);
  return (
    <span className="inline-block w-48 max-w-full space-y-1 text-sm">
      <span className="block tabular-nums">
        <Usd usd={budget.spent_usd} /> <span className="text-muted">of {formatUsd(budget.limit_usd)}</span>
      </span>
      <ShareBar share={share} tone={limitTones[state]} />
      {state !== 'open' && (
        <Badge tone={state === 'reached' ? 'danger' : 'warn'}>
          {state === 'reached' ? 'Used up' : 'Nearly used up'}
        </Badge>
      )}
    </span>
  );
}

function Projection({ budget }: { budget: BudgetAnswer }) {
  const usd = projectedUsd(budget, Date.now());
  if (usd === undefined) return <span className="text-sm text-muted">Known from the second day on</span>;
  const isOver = usd > budget.limit_usd;
  return (
    <span className="block text-sm">
      <span className={isOver ? 'font-medium text-warn tabular-nums' : 'tabular-nums'}>
        <Usd usd={usd} />
      </span>
      <span className="block text-muted">
        {isOver ? 'at the present rate, above the limit' : 'at the present rate'}
      </span>
    </span>
  );
}
