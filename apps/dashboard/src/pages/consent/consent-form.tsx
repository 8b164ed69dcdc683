import type { InteractionAnswer } from '@sotto/contract/control/connect';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { policyQuery } from '../../api/queries.ts';
import { useForm } from '../../api/use-form.ts';
import { formatExactUsd } from '../../format/format.ts';
import { Button } from '../../ui/button.tsx';
import { SelectField, TextField } from '../../ui/field.tsx';
import { Form } from '../../ui/form.tsx';
import { CheckField } from '../../ui/toggle-fields.tsx';

/** The decision: in which workspace, up to which amount, or not at all. */
export function ConsentForm({ uid, request }: { uid: string; request: InteractionAnswer }) {
  const { app, scopes, workspaces } = request;
  const asks = (wanted: string): boolean => scopes.some(({ scope }) => scope === wanted);
  const spends = asks('inference');
  const [isUnlimited, setUnlimited] = useState(false);
  const [workspaceId, setWorkspaceId] = useState(workspaces[0]?.id ?? '');
  const { data: policy } = useQuery({ ...policyQuery(workspaceId), enabled: workspaceId !== '' });
  const most = policy?.max_key_limit_usd ?? undefined;
  const form = useForm('POST /v1/connect/interactions/{uid}', {
    params: { uid },
    // The limit is small: enough to try an app, little to lose.
    start: { credit_limit_usd: Math.min(5, most ?? 5) },
    rest: {
      decision: 'allow',
      ...(asks('inference') || asks('usage:read') ? { workspace_id: workspaceId } : {}),
      ...(spends && isUnlimited ? { credit_limit_usd: null } : {}),
    },
    onSuccess: ({ redirect_to: next }) => window.location.assign(next),
  });
  const { change } = form;
  const isOver = change.isPending || change.isSuccess;
  return (
    <Form
      // While the browser goes on, nothing can be decided again.
      form={{ ...form, change: { isPending: isOver && change.variables?.decision === 'allow', error: change.error } }}
      disabled={isOver}
      action={
        <>
          Allow<span className="sr-only"> {app.name}</span>
        </>
      }
      beside={
        <Button
          busy={isOver && change.variables?.decision === 'deny'}
          disabled={isOver}
          onClick={() => change.mutate({ decision: 'deny' })}
          className="flex-1"
        >
          Deny
        </Button>
      }
      wide
    >
      {(spends || asks('usage:read')) && (
        <SelectField
          value={workspaceId}
          onChange={setWorkspaceId}
          label="Workspace"
          hint="The app uses this workspace’s models and preferences, and sees its usage. The owner pays."
          disabled={isOver}
          choices={workspaces.map(({ id, name }) => ({ value: id, label: name }))}
        />
      )}
      {spends && (
        <div className="space-y-3">
          <TextField
            {...(isUnlimited
              ? { value: '', readOnly: true }
              : form.text('credit_limit_usd', {
                  accepts: (usd) => isAmount(usd) && (most === undefined || Number(usd) <= most),
                }))}
            label="Spending limit ($)"
            hint={most === undefined ? undefined : `At most ${formatExactUsd(most)}, by the workspace’s policy.`}
            disabled={isUnlimited || isOver}
          />
          <CheckField
            label={most === undefined ? 'No limit' : 'As much as the policy allows'}
            hint={most === undefined ? 'Up to the whole balance.' : `Up to the ${formatExactUsd(most)} of the policy.`}
            checked={isUnlimited}
            disabled={isOver}
            onChange={setUnlimited}
          />
        </div>
      )}
    </Form>
  );
}

/** An empty text does not mean "no limit". */
const isAmount = (usd: number | null | undefined): boolean => typeof usd === 'number';
