import type { KeyAnswer } from '@sotto/contract/control/keys';
import type { BudgetAnswer, WorkspaceAnswer, WorkspaceMemberAnswer } from '@sotto/contract/control/workspaces';
import { preferredModel } from '@sotto/wire';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { budgetsQuery } from '../../api/budgets.ts';
import { previewQuery } from '../../api/preferences.ts';
import { modelsQuery } from '../../api/queries.ts';
import { newestRequestQuery } from '../../api/usage.ts';
import { type FormFields, useForm } from '../../api/use-form.ts';
import { formatExactUsd, formatUsd, readUsd } from '../../format/format.ts';
import { isOffered } from '../../models/model-options.ts';
import { RadioCards, SelectField, TextField } from '../../ui/field.tsx';
import { FormDialog } from '../../ui/form.tsx';
import { keysWithout, tagsWithout } from './budget-rules.ts';

interface DialogProps {
  readonly workspace: WorkspaceAnswer;
  readonly onClose: () => void;
}

interface LimitFieldProps {
  readonly form: FormFields<{ limit_usd: number }>;
  readonly workspace: WorkspaceAnswer;
}

/** The limit, with a warning if it is below what one request to the usual model sets aside before it starts. */
function LimitField({ form, workspace }: LimitFieldProps) {
  const field = form.text('limit_usd');
  const { data: newest } = useQuery(newestRequestQuery({ workspace_id: workspace.id }));
  const { data: models = [] } = useQuery(modelsQuery);
  const model =
    newest?.model ?? preferredModel(models.filter((one) => one.model_type === 'text' && isOffered(one)))?.id ?? '';
  const asked = { model, prompt_tokens: 0, workspace_id: workspace.id };
  const { data: preview } = useQuery({ ...previewQuery(asked), enabled: model !== '', retry: false });
  const [limit, hold] = [readUsd(field.value), preview?.hold_usd];
  const isBelow = limit != null && limit > 0 && hold != null && limit < hold;
  return (
    <TextField
      {...field}
      label="Limit ($ per month)"
      hint={
        isBelow ? (
          <span className="text-warn">
            {`A request to ${model} first sets ${formatExactUsd(hold)} aside, unless it states max_tokens. Below that, it is refused.`}
          </span>
        ) : (
          'Counts the whole present month (UTC). 0 stops all requests that cost something.'
        )
      }
    />
  );
}

interface NewBudgetDialogProps extends DialogProps {
  readonly budgets: readonly BudgetAnswer[];
  readonly members: readonly WorkspaceMemberAnswer[];
  readonly keys: readonly KeyAnswer[];
}

/** Asks what to limit, and to how much. Offers only members, tags and keys without a budget. */
export function NewBudgetDialog({ workspace, budgets, members, keys, onClose }: NewBudgetDialogProps) {
  const freeMembers = members.filter(
    ({ account_id: id }) => !budgets.some(({ member_id, is_default }) => member_id === id && !is_default),
  );
  const freeTags = tagsWithout(keys, budgets);
  const freeKeys = keysWithout(keys, budgets);
  const hasWorkspace = budgets.some(({ scope }) => scope === 'workspace');
  const choices = [
    { value: 'workspace', label: 'Workspace', text: 'All keys together', disabled: hasWorkspace },
    { value: 'member', label: 'Member', text: 'The keys that one person created', disabled: freeMembers.length === 0 },
    { value: 'tag', label: 'Tag', text: 'The keys with one tag', disabled: freeTags.length === 0 },
    { value: 'key', label: 'Key', text: 'One key', disabled: freeKeys.length === 0 },
  ] as const;
  const [chosenScope, setScope] = useState<BudgetAnswer['scope']>();
  // Members, tags and keys may arrive after the dialog has opened.
  const scope = chosenScope ?? choices.find(({ disabled }) => !disabled)?.value ?? 'workspace';
  const form = useForm('PUT /v1/workspaces/{id}/budgets', {
    params: { id: workspace.id },
    start: { member_id: freeMembers[0]?.account_id, tag: freeTags[0], key_id: freeKeys[0]?.id },
    refreshes: budgetsQuery(workspace.id),
    onSuccess: onClose,
    says: 'The budget is set.',
  });
  return (
    <FormDialog
      form={form}
      title="Set a budget"
      action="Set budget"
      // The last free key, tag or member may be gone since it was chosen.
      disabled={choices.some(({ value, disabled }) => value === scope && disabled)}
      onClose={onClose}
    >
      <RadioCards legend="Limits" value={scope} choices={choices} onChange={setScope} />
      {scope === 'member' && (
        <SelectField
          {...form.choice('member_id')}
          label="Member"
          choices={freeMembers.map(({ account_id, email }) => ({ value: account_id, label: email ?? account_id }))}
        />
      )}
      {scope === 'tag' && (
        <SelectField
          {...form.choice('tag')}
          label="Tag"
          choices={freeTags.map((tag) => ({ value: tag, label: tag }))}
        />
      )}
      {scope === 'key' && (
        <SelectField
          {...form.choice('key_id')}
          label="Key"
          choices={freeKeys.map(({ id, name, preview }) => ({ value: id, label: `${name} (${preview})` }))}
        />
      )}
      <LimitField form={form} workspace={workspace} />
    </FormDialog>
  );
}

interface ChangeBudgetDialogProps extends DialogProps {
  readonly budget: BudgetAnswer;
  /** The name of the member or key that it limits, or its tag. */
  readonly owner: string;
}

/** Asks for another limit. */
export function ChangeBudgetDialog({ workspace, budget, owner, onClose }: ChangeBudgetDialogProps) {
  const { limit_usd, member_id, key_id, tag } = budget;
  const form = useForm('PUT /v1/workspaces/{id}/budgets', {
    params: { id: workspace.id },
    start: { limit_usd },
    rest: { member_id, key_id, tag },
    place: budget.id,
    refreshes: budgetsQuery(workspace.id),
    onSuccess: onClose,
    says: 'The limit is changed.',
  });
  return (
    <FormDialog
      form={form}
      title="Change limit"
      description={<span className="break-words">{`${owner}: ${formatUsd(budget.spent_usd)} spent this month.`}</span>}
      action="Save"
      onClose={onClose}
    >
      <LimitField form={form} workspace={workspace} />
    </FormDialog>
  );
}
