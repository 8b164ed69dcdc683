import type { BudgetAnswer, WorkspaceAnswer } from '@sotto/contract/control/workspaces';
import { useQuery } from '@tanstack/react-query';
import { Pencil, Trash2 } from 'lucide-react';
import { budgetSettingsQuery, budgetsQuery } from '../../api/budgets.ts';
import { call } from '../../api/call.ts';
import { membersQuery } from '../../api/queries.ts';
import { formatCountOf, formatUsd, type UsdDigits, usdDigitsOf } from '../../format/format.ts';
import { Badge } from '../../ui/badge.tsx';
import { asking } from '../../ui/dialog.tsx';
import { type RowAction, Rows } from '../../ui/resource.tsx';
import type { Column } from '../../ui/table.tsx';
import { ShareBar, Truncated, Usd } from '../../ui/text.tsx';
import { limitTones } from '../keys/key-rules.ts';
import { ChangeBudgetDialog } from './budget-dialogs.tsx';
import { afterRemoval, type Names, ownerOf, projectedUsd, shareOf } from './budget-rules.ts';

interface BudgetTableProps {
  readonly workspace: WorkspaceAnswer;
  readonly budgets: readonly BudgetAnswer[];
  readonly names: Names;
  /** How many requests a budget refused in the last 24 hours. */
  readonly refusedOf: (budget: BudgetAnswer) => number;
  /** Whether this member can change budgets. */
  readonly manages: boolean;
}

const scopeNames = { member: 'Member', tag: 'Tag', key: 'Key' } as const;

/** The budgets with what this month has cost, and where it leads. */
export function BudgetTable({ workspace, budgets, names, refusedOf, manages }: BudgetTableProps) {
  const columns: readonly Column<BudgetAnswer>[] = [
    {
      title: 'Budget',
      heading: true,
      sortBy: (budget) => ownerOf(budget, names).toLowerCase(),
      cell: (budget) => (
        <span className="flex flex-wrap items-center gap-2">
          <Truncated text={ownerOf(budget, names)} />
          {budget.is_default && <Badge>Default</Badge>}
          {budget.scope !== 'workspace' && <Badge>{scopeNames[budget.scope]}</Badge>}
        </span>
      ),
    },
    {
      title: 'Spent this month',
      cell: (budget, rows) => (
        <Spent
          budget={budget}
          digits={usdDigitsOf(rows.map(({ spent_usd }) => spent_usd))}
          refused={refusedOf(budget)}
        />
      ),
      sortBy: (budget) => shareOf(budget).share,
    },
    {
      title: 'By the end of the month',
      cell: (budget, rows) => (
        <Projection budget={budget} digits={usdDigitsOf(rows.map((row) => projectedUsd(row, Date.now()) ?? null))} />
      ),
      sortBy: (budget) => projectedUsd(budget, Date.now()) ?? 0,
    },
  ];
  return (
    <Rows
      caption="Budgets"
      columns={columns}
      rows={budgets}
      rowKey={({ id }) => id}
      pageSize={50}
      nameOf={(budget) => ownerOf(budget, names)}
      actions={(budget) => (manages ? actionsOf(workspace, budget, ownerOf(budget, names)) : [])}
    />
  );
}

const actionsOf = (workspace: WorkspaceAnswer, budget: BudgetAnswer, owner: string): readonly RowAction[] => [
  {
    label: budget.is_default ? 'Set another limit' : 'Change limit',
    icon: Pencil,
    does: { dialog: (onClose) => <ChangeBudgetDialog {...{ workspace, budget, owner, onClose }} /> },
  },
  ...(budget.is_default ? [] : [removal(workspace, budget, owner)]),
];

const removal = (workspace: WorkspaceAnswer, budget: BudgetAnswer, owner: string): RowAction => ({
  label: 'Remove',
  icon: Trash2,
  danger: true,
  does: asking({
    title: 'Remove the budget?',
    consequence: <Removed {...{ workspace, budget, owner }} />,
    action: 'Remove',
    change: {
      mutationFn: () =>
        call('DELETE /v1/workspaces/{id}/budgets/{budgetId}', {
          params: { id: workspace.id, budgetId: budget.id },
        }),
      refreshes: budgetsQuery(workspace.id),
      says: 'The budget is removed.',
    },
  }),
});

function Removed({ workspace, budget, owner }: { workspace: WorkspaceAnswer; budget: BudgetAnswer; owner: string }) {
  const { data: settings } = useQuery(budgetSettingsQuery(workspace.id));
  const { data: members } = useQuery(membersQuery(workspace.id));
  return <span className="break-words">{`${owner}: ${afterRemoval(budget, { settings, members })}.`}</span>;
}

interface SpentProps {
  readonly budget: BudgetAnswer;
  readonly digits: UsdDigits;
  readonly refused: number;
}

function Spent({ budget, digits, refused }: SpentProps) {
  const { share, state } = shareOf(budget);
  return (
    <span className="inline-block w-48 max-w-full space-y-1 text-sm">
      <span className="block tabular-nums">
        <Usd usd={budget.spent_usd} digits={digits} />{' '}
        <span className="text-muted">of {formatUsd(budget.limit_usd)}</span>
      </span>
      <ShareBar share={share} tone={limitTones[state]} />
      {state !== 'open' && (
        <Badge tone={state === 'reached' ? 'danger' : 'warn'}>
          {state === 'reached' ? 'Used up' : 'Nearly used up'}
        </Badge>
      )}
      {refused > 0 && (
        <span className="block text-muted">
          {`${formatCountOf(refused, 'request')} refused in the last 24 hours.`}
          {state !== 'reached' && ' A request first sets its highest cost aside, which was more than is left.'}
        </span>
      )}
    </span>
  );
}

function Projection({ budget, digits }: { budget: BudgetAnswer; digits: UsdDigits }) {
  const usd = projectedUsd(budget, Date.now());
  if (usd === undefined) return <span className="text-sm text-muted">Known from the second day on</span>;
  const isOver = usd > budget.limit_usd;
  return (
    <span className="block text-sm">
      <span className={isOver ? 'font-medium text-warn tabular-nums' : 'tabular-nums'}>
        <Usd usd={usd} digits={digits} />
      </span>
      <span className="block text-muted">
        {isOver ? 'at the present rate, above the limit' : 'at the present rate'}
      </span>
    </span>
  );
}
