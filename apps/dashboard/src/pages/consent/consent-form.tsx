import type { AnswerInteraction, InteractionAnswer } from '@sotto/contract/control/connect';
import { useState } from 'react';
import { call } from '../../api/call.ts';
import { useChange } from '../../api/use-change.ts';
import { readUsd, usdMistake } from '../../format/format.ts';
import { Button } from '../../ui/button.tsx';
import { Form } from '../../ui/change-form.tsx';
import { SelectField, TextField } from '../../ui/field.tsx';
import { CheckField } from '../../ui/toggle-fields.tsx';

/** The decision: in which workspace, up to which amount, or not at all. */
export function ConsentForm({ uid, request }: { uid: string; request: InteractionAnswer }) {
  const { app, scopes, workspaces } = request;
  const asks = (wanted: string): boolean => scopes.some(({ scope }) => scope === wanted);
  const spends = asks('inference');
  const [workspaceId, setWorkspaceId] = useState(workspaces[0]?.id ?? '');
  const [limit, setLimit] = useState(firstLimit);
  const [isMistaken, setMistaken] = useState(false);
  const answering = useChange({
    mutationFn: (body: AnswerInteraction) => call('POST /v1/connect/interactions/{uid}', { params: { uid }, body }),
    onSuccess: ({ redirect_to: next }) => window.location.assign(next),
  });
  const isOver = answering.isPending || answering.isSuccess;
  const allow = (): void => {
    const limitUsd = spends ? readLimit(limit) : undefined;
    const isWrong = spends && limitUsd === undefined;
    setMistaken(isWrong);
    if (isWrong) return;
    answering.mutate({
      decision: 'allow',
      ...(workspaceId === '' ? {} : { workspace_id: workspaceId }),
      ...(limitUsd === undefined ? {} : { credit_limit_usd: limitUsd }),
    });
  };
  return (
    <Form
      // While the browser goes on, nothing can be decided again.
      change={{ isPending: isOver && answering.variables?.decision === 'allow', error: answering.error }}
      disabled={isOver}
      action={
        <>
          Allow<span className="sr-only"> {app.name}</span>
        </>
      }
      beside={
        <Button
          busy={isOver && answering.variables?.decision === 'deny'}
          disabled={isOver}
          onClick={() => answering.mutate({ decision: 'deny' })}
          className="flex-1"
        >
          Deny
        </Button>
      }
      wide
      noValidate
      onSubmit={allow}
    >
      {(spends || asks('usage:read')) && (
        <SelectField
          label="Workspace"
          hint="The app uses this workspace’s models and preferences, and sees its usage. The owner pays."
          value={workspaceId}
          onChange={setWorkspaceId}
          disabled={isOver}
          choices={workspaces.map(({ id, name }) => ({ value: id, label: name }))}
        />
      )}
      {spends && (
        <div className="space-y-3">
          <TextField
            label="Spending limit (USD)"
            inputMode="decimal"
            autoComplete="off"
            value={limit.isUnlimited ? '' : limit.text}
            disabled={limit.isUnlimited || isOver}
            onChange={(event) => setLimit({ ...limit, text: event.target.value })}
            error={isMistaken ? usdMistake : undefined}
          />
          <CheckField
            label="No limit"
            hint="Up to the whole balance."
            checked={limit.isUnlimited}
            disabled={isOver}
            onChange={(isUnlimited) => {
              setMistaken(false);
              setLimit({ ...limit, isUnlimited });
            }}
          />
        </div>
      )}
    </Form>
  );
}

/** The limit of an app, as the user types it. */
interface LimitDraft {
  readonly text: string;
  readonly isUnlimited: boolean;
}

/** Small: enough to try an app, little to lose. */
export const firstLimit: LimitDraft = { text: '5', isUnlimited: false };

/** The limit in USD; null for none. Undefined: it is not an amount. */
export const readLimit = ({ text, isUnlimited }: LimitDraft): number | null | undefined =>
  isUnlimited ? null : (readUsd(text) ?? undefined);
