import type { BudgetSettingsAnswer, WorkspaceAnswer } from '@sotto/contract/control/workspaces';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { budgetSettingsQuery, budgetsQuery } from '../../api/budgets.ts';
import { useForm } from '../../api/use-form.ts';
import { formatUsd } from '../../format/format.ts';
import { TextField } from '../../ui/field.tsx';
import { Form } from '../../ui/form.tsx';
import { Card, ErrorState, Loading } from '../../ui/surface.tsx';
import { CheckField } from '../../ui/toggle-fields.tsx';

/** The budget of members without one of their own, and the percents at which budgets alert. */
export function SettingsCard({ workspace, manages }: { workspace: WorkspaceAnswer; manages: boolean }) {
  const { data, error, refetch } = useQuery(budgetSettingsQuery(workspace.id));
  if (data === undefined) {
    if (error === null) return <Loading label="The settings of budgets are loading" lines={3} />;
    return <ErrorState error={error} onRetry={() => void refetch()} />;
  }
  return (
    <Card title="For all budgets of this workspace">
      {manages ? <SettingsForm workspace={workspace} settings={data} /> : <p className="text-sm">{sentenceOf(data)}</p>}
    </Card>
  );
}

function sentenceOf({ alert_percents: percents, member_budget_usd: usd }: BudgetSettingsAnswer): string {
  const members =
    usd === null
      ? 'Members without a budget of their own have none.'
      : `Members without a budget of their own have ${formatUsd(usd)} a month.`;
  return `${members} ${percents.length === 0 ? 'No percent alerts.' : `Budgets alert at ${listOf(percents)}.`}`;
}

/** Writes `50, 80 and 100%`. */
export function listOf(percents: readonly number[]): string {
  const [last, ...before] = percents.toReversed();
  if (last === undefined) return '';
  return before.length === 0 ? `${last}%` : `${before.toReversed().join(', ')} and ${last}%`;
}

const usualPercents = [25, 50, 75, 80, 90, 100];

function SettingsForm({ workspace, settings }: { workspace: WorkspaceAnswer; settings: BudgetSettingsAnswer }) {
  const client = useQueryClient();
  const form = useForm('PUT /v1/workspaces/{id}/budget-settings', {
    params: { id: workspace.id },
    start: settings,
    clears: ['alert_percents', 'member_budget_usd'],
    refreshes: budgetsQuery(workspace.id),
    onSuccess: (saved) => client.setQueryData(budgetSettingsQuery(workspace.id).queryKey, saved),
    says: 'The settings are saved.',
  });
  const { value: chosen, onChange } = form.choice('alert_percents');
  const percents = [...new Set([...usualPercents, ...settings.alert_percents])].sort((a, b) => a - b);
  return (
    <Form form={form} action="Save" look="plain" className="space-y-5">
      <TextField
        {...form.text('member_budget_usd')}
        label="Budget of each member ($ per month)"
        hint="For members without a budget of their own, also for those who join later. Not for the owner, who pays. Empty: none."
        className="max-w-md"
      />
      <fieldset>
        <legend className="mb-2 text-sm font-medium">Alert at</legend>
        <div className="flex flex-wrap gap-x-6 gap-y-2">
          {percents.map((percent) => (
            <CheckField
              key={percent}
              label={`${percent}%`}
              checked={chosen.includes(percent)}
              onChange={(isChosen) =>
                onChange(percents.filter((each) => (each === percent ? isChosen : chosen.includes(each))))
              }
            />
          ))}
        </div>
      </fieldset>
    </Form>
  );
}
