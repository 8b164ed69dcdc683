import type { KeyAnswer } from '@sotto/contract/control/keys';
import type {
  BudgetAnswer,
  SetBudget,
  WorkspaceAnswer,
  WorkspaceMemberAnswer,
} from '@sotto/contract/control/workspaces';
import { useState } from 'react';
import { budgetsQuery } from '../../api/budgets.ts';
import { call } from '../../api/call.ts';
import { errorAt } from '../../api/errors.ts';
import { useChange } from '../../api/use-change.ts';
import { formatUsd, typedUsd, usdMistake } from '../../format/format.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { RadioCards, SelectField, TextField } from '../../ui/field.tsx';
import { Form } from '../../ui/change-form.tsx';
import { keysWithout, readLimit } from './budget-rules.ts';

interface DialogProps {
  readonly workspace: WorkspaceAnswer;
  readonly onClose: () => void;
}

/** Sends a limit, and keeps what was typed if it is not one. */
function useLimit({ workspace, onClose }: DialogProps, says: string) {
  const [isMistaken, setMistaken] = useState(false);
  const setting = useChange({
    mutationFn: (body: SetBudget) => call('PUT /v1/workspaces/{id}/budgets', { params: { id: workspace.id }, body }),
    refreshes: budgetsQuery(workspace.id),
    onSuccess: onClose,
    says,
  });
  const submit = (typed: string, of: Omit<SetBudget, 'limit_usd'>) => {
    const limit = readLimit(typed);
    setMistaken(limit === undefined);
    if (limit !== undefined) setting.mutate({ ...of, limit_usd: limit });
  };
  return { setting, submit, error: isMistaken ? usdMistake : errorAt(setting.error, 'limit_usd') };
}

function LimitField({ limit, error }: { readonly limit?: number; readonly error: string | undefined }) {
  return (
    <TextField
      label="Limit in USD per month"
      name="limit"
      hint="Counts the whole present month (UTC). 0 stops all requests that cost something."
      error={error}
      defaultValue={typedUsd(limit)}
      inputMode="decimal"
      autoComplete="off"
      required
    />
  );
}

interface NewBudgetDialogProps extends DialogProps {
  readonly budgets: readonly BudgetAnswer[];
  readonly members: readonly WorkspaceMemberAnswer[];
  readonly keys: readonly KeyAnswer[];
}

/** Asks what to limit, and to how much. Offers only members and keys without a budget. */
export function NewBudgetDialog({ budgets, members, keys, ...dialog }: NewBudgetDialogProps) {
  const freeMembers = members.filter(({ account_id: id }) => !budgets.some(({ member_id }) => member_id === id));
  const freeKeys = keysWithout(keys, budgets);
  const hasWorkspace = budgets.some(({ scope }) => scope === 'workspace');
  const choices = [
    { value: 'workspace', label: 'Workspace', text: 'All keys together', disabled: hasWorkspace },
    { value: 'member', label: 'Member', text: 'The keys that one person created', disabled: freeMembers.length === 0 },
    { value: 'key', label: 'Key', text: 'One key', disabled: freeKeys.length === 0 },
  ] as const;
  const [chosenScope, setScope] = useState<BudgetAnswer['scope']>();
  const [chosenMember, setMember] = useState<string>();
  const [chosenKey, setKey] = useState<string>();
  // Members and keys may arrive after the dialog has opened.
  const scope = chosenScope ?? choices.find(({ disabled }) => !disabled)?.value ?? 'workspace';
  const memberId = chosenMember ?? freeMembers[0]?.account_id ?? '';
  const keyId = chosenKey ?? freeKeys[0]?.id ?? '';
  const { setting, submit, error } = useLimit(dialog, 'The budget is set.');
  const close = () => !setting.isPending && dialog.onClose();
  const of = { workspace: {}, member: { member_id: memberId }, key: { key_id: keyId } } as const;
  return (
    <Dialog onClose={close} title="Set a budget">
      <Form
        change={setting}
        errors={['limit_usd']}
        action="Set budget"
        disabled={choices.every(({ disabled }) => disabled)}
        className="space-y-5"
        onSubmit={(field) => submit(field('limit'), of[scope])}
        onCancel={close}
        noValidate
      >
        <RadioCards legend="Limits" value={scope} choices={choices} onChange={setScope} />
        {scope === 'member' && (
          <SelectField
            label="Member"
            value={memberId}
            choices={freeMembers.map(({ account_id, email }) => ({ value: account_id, label: email ?? account_id }))}
            onChange={setMember}
          />
        )}
        {scope === 'key' && (
          <SelectField
            label="Key"
            value={keyId}
            choices={freeKeys.map(({ id, name, preview }) => ({ value: id, label: `${name} (${preview})` }))}
            onChange={setKey}
          />
        )}
        <LimitField error={error} />
      </Form>
    </Dialog>
  );
}

interface ChangeBudgetDialogProps extends DialogProps {
  readonly budget: BudgetAnswer;
  /** The name of the member or key that it limits. */
  readonly owner: string;
}

/** Asks for another limit. */
export function ChangeBudgetDialog({ budget, owner, ...dialog }: ChangeBudgetDialogProps) {
  const { setting, submit, error } = useLimit(dialog, 'The limit is changed.');
  const close = () => !setting.isPending && dialog.onClose();
  const of = {
    ...(budget.member_id === null ? {} : { member_id: budget.member_id }),
    ...(budget.key_id === null ? {} : { key_id: budget.key_id }),
  };
  return (
    <Dialog
      onClose={close}
      title="Change limit"
      description={<span className="break-words">{`${owner}: ${formatUsd(budget.spent_usd)} spent this month.`}</span>}
    >
      <Form
        change={setting}
        errors={['limit_usd']}
        action="Save"
        className="space-y-5"
        onSubmit={(field) => submit(field('limit'), of)}
        onCancel={close}
        noValidate
      >
        <LimitField limit={budget.limit_usd} error={error} />
      </Form>
    </Dialog>
  );
}
