import type { BudgetAnswer, WorkspaceAnswer } from '@sotto/contract/control/workspaces';
import { useQuery } from '@tanstack/react-query';
import { Plus } from 'lucide-react';
import { useState } from 'react';
import { budgetsQuery } from '../../api/budgets.ts';
import { call } from '../../api/call.ts';
import { keysQuery } from '../../api/keys.ts';
import { membersQuery } from '../../api/queries.ts';
import { formatMonth } from '../../format/format.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmChange } from '../../ui/dialog.tsx';
import { Card, EmptyState, Loaded, Page } from '../../ui/surface.tsx';
import { useWorkspace, WorkspaceLoading } from '../../workspaces/workspaces.tsx';
import { ChangeBudgetDialog, NewBudgetDialog } from './budget-dialogs.tsx';
import { maySetBudgets, ownerOf } from './budget-rules.ts';
import { BudgetTable } from './budget-table.tsx';
import { AlertsCard } from './webhook-card.tsx';

/** `/budgets`: the monthly budgets of the chosen workspace, and their alerts. */
export function BudgetsPage() {
  const { workspace } = useWorkspace();
  const [isSetting, setSetting] = useState(false);
  const manages = workspace !== undefined && maySetBudgets(workspace.role);
  return (
    <Page
      title="Budgets"
      lead={
        workspace === undefined || manages
          ? 'Limits for what a month may cost.'
          : `Limits for what a month may cost. Your role here is ${workspace.role}: you can see budgets, but not change them.`
      }
      actions={
        manages ? (
          <Button look="primary" icon={<Plus aria-hidden className="size-4" />} onClick={() => setSetting(true)}>
            Set budget
          </Button>
        ) : undefined
      }
    >
      {workspace === undefined ? (
        <WorkspaceLoading label="Budgets are loading" lines={6} />
      ) : (
        <>
          <Budgets
            key={workspace.id}
            workspace={workspace}
            manages={manages}
            isSetting={isSetting}
            onSetting={setSetting}
          />
          <AlertsCard key={`alerts ${workspace.id}`} workspace={workspace} manages={manages} />
        </>
      )}
    </Page>
  );
}

interface BudgetsProps {
  readonly workspace: WorkspaceAnswer;
  readonly manages: boolean;
  /** Whether the dialog for a new budget is open. */
  readonly isSetting: boolean;
  readonly onSetting: (isSetting: boolean) => void;
}

function Budgets(props: BudgetsProps) {
  return (
    <Loaded query={useQuery(budgetsQuery(props.workspace.id))} label="Budgets are loading" lines={6}>
      {(budgets) => <BudgetList {...props} budgets={budgets} />}
    </Loaded>
  );
}

function BudgetList({
  workspace,
  manages,
  isSetting,
  onSetting,
  budgets,
}: BudgetsProps & { readonly budgets: readonly BudgetAnswer[] }) {
  const { data: members } = useQuery(membersQuery(workspace.id));
  const { data: keys } = useQuery(keysQuery(workspace.id));
  const [action, setAction] = useState<{ readonly what: 'change' | 'remove'; readonly budget: BudgetAnswer }>();
  const close = () => setAction(undefined);
  const names = {
    members: members && new Map(members.map(({ account_id, email }) => [account_id, email ?? account_id])),
    keys: keys && new Map(keys.map(({ id, name }) => [id, name])),
  };
  const [first] = budgets;
  return (
    <>
      {first === undefined ? (
        <EmptyState
          title="No budgets in this workspace yet"
          text="A budget limits what a month may cost: the whole workspace, the keys of one member, or one key. Requests beyond it are refused until the month ends. The balance still pays for each request."
          action={manages ? <Button onClick={() => onSetting(true)}>Set the first budget</Button> : undefined}
        />
      ) : (
        <Card
          title={formatMonth(first.month)}
          lead="Charges so far, without running requests. The month ends at midnight UTC."
        >
          <BudgetTable
            budgets={budgets}
            names={names}
            onAction={manages ? (what, budget) => setAction({ what, budget }) : undefined}
          />
        </Card>
      )}
      {isSetting && (
        <NewBudgetDialog
          workspace={workspace}
          budgets={budgets}
          members={members ?? []}
          keys={keys ?? []}
          onClose={() => onSetting(false)}
        />
      )}
      {action?.what === 'change' && (
        <ChangeBudgetDialog
          workspace={workspace}
          budget={action.budget}
          owner={ownerOf(action.budget, names)}
          onClose={close}
        />
      )}
      {action?.what === 'remove' && (
        <ConfirmChange
          onClose={close}
          title="Remove the budget?"
          consequence={
            <span className="break-words">
              {`${ownerOf(action.budget, names)}: a month may then cost any amount that the balance covers.`}
            </span>
          }
          action="Remove"
          change={{
            mutationFn: () =>
              call('DELETE /v1/workspaces/{id}/budgets/{budgetId}', {
                params: { id: workspace.id, budgetId: action.budget.id },
              }),
            refreshes: budgetsQuery(workspace.id),
            says: 'The budget is removed.',
          }}
        />
      )}
    </>
  );
}
