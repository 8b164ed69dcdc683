import type { BudgetAnswer, WorkspaceAnswer } from '@sotto/contract/control/workspaces';
import { useQuery } from '@tanstack/react-query';
import { budgetsQuery } from '../../api/budgets.ts';
import { keysQuery } from '../../api/keys.ts';
import { membersQuery } from '../../api/queries.ts';
import { newRefusalsQuery } from '../../api/usage.ts';
import { formatMonth } from '../../format/format.ts';
import { Resource } from '../../ui/resource.tsx';
import { Page } from '../../ui/surface.tsx';
import { useWorkspace, WorkspaceLoading } from '../../workspaces/workspaces.tsx';
import { NewBudgetDialog } from './budget-dialogs.tsx';
import { maySetBudgets, refusedBy } from './budget-rules.ts';
import { BudgetTable } from './budget-table.tsx';
import { SettingsCard } from './settings-card.tsx';
import { AlertsCard } from './webhook-card.tsx';

/** `/budgets`: the monthly budgets of the chosen workspace, and their alerts. */
export function BudgetsPage() {
  const { workspace } = useWorkspace();
  return workspace === undefined ? (
    <Page title="Budgets" lead="Limits for what a month may cost.">
      <WorkspaceLoading label="Budgets are loading" lines={6} />
    </Page>
  ) : (
    <Budgets key={workspace.id} workspace={workspace} />
  );
}

function Budgets({ workspace }: { workspace: WorkspaceAnswer }) {
  const manages = maySetBudgets(workspace.role);
  const budgets = useQuery(budgetsQuery(workspace.id));
  const { data: members } = useQuery(membersQuery(workspace.id));
  const { data: keys } = useQuery(keysQuery(workspace.id));
  const { data: refusals } = useQuery({ ...newRefusalsQuery(workspace.id), enabled: manages });
  const names = {
    members: members && new Map(members.map(({ account_id, email }) => [account_id, email ?? account_id])),
    keys: keys && new Map(keys.map(({ id, name }) => [id, name])),
  };
  const refusedOf = (budget: BudgetAnswer) => refusedBy(budget, refusals?.data ?? [], keys ?? []);
  const dialog = (onClose: () => void) => (
    <NewBudgetDialog
      workspace={workspace}
      budgets={budgets.data ?? []}
      members={members ?? []}
      keys={keys ?? []}
      onClose={onClose}
    />
  );
  return (
    <Resource
      query={budgets}
      loading="Budgets are loading"
      lines={6}
      page={(list, create) => (
        <Page
          title="Budgets"
          lead={
            manages
              ? 'Limits for what a month may cost.'
              : `Limits for what a month may cost. Your role here is ${workspace.role}: you can see budgets, but not change them.`
          }
          actions={create}
        >
          {list}
          <SettingsCard workspace={workspace} manages={manages} />
          <AlertsCard workspace={workspace} manages={manages} />
        </Page>
      )}
      empty={{
        title: 'No budgets in this workspace yet',
        text: 'A budget limits what a month may cost: the whole workspace, the keys of one member, the keys with one tag, or one key. Requests beyond it are refused until the month ends. The balance still pays for each request.',
      }}
      create={manages ? { action: 'Set budget', dialog } : undefined}
      card={([first]) => ({
        title: first && formatMonth(first.month),
        lead: 'Charges so far, without running requests. The month ends at midnight UTC.',
      })}
      rows={(rows) => (
        <BudgetTable workspace={workspace} budgets={rows} names={names} refusedOf={refusedOf} manages={manages} />
      )}
    />
  );
}
