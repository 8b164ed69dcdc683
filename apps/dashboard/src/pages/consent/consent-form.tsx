import type { AnswerInteraction, InteractionAnswer } from '@sotto/wire';
import { type FormEvent, useState } from 'react';
import { sentenceOf } from '../../api/call.ts';
import { useChange } from '../../api/use-change.ts';
import { Button } from '../../ui/button.tsx';
import { CheckField } from '../../ui/check-field.tsx';
import { SelectField, TextField } from '../../ui/field.tsx';
import { answerInteraction } from './consent-queries.ts';
import { firstLimit, readLimit } from './limit-draft.ts';

/** The decision: in which workspace, up to which amount, or not at all. */
export function ConsentForm({ uid, request }: { uid: string; request: InteractionAnswer }) {
  const { app, scopes, workspaces } = request;
  const asks = (wanted: string): boolean => scopes.some(({ scope }) => scope === wanted);
  const spends = asks('inference');
  const [workspaceId, setWorkspaceId] = useState(workspaces[0]?.id ?? '');
  const [limit, setLimit] = useState(firstLimit);
  const [refusal, setRefusal] = useState<string>();
  const answering = useChange({
    mutationFn: (answer: AnswerInteraction) => answerInteraction(uid, answer),
    onSuccess: ({ redirect_to: next }) => window.location.assign(next),
  });
  // While the browser goes on, nothing can be decided again.
  const isOver = answering.isPending || answering.isSuccess;
  const allow = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const read = readLimit(limit);
    setRefusal(read.ok || !spends ? undefined : read.error);
    if (spends && !read.ok) return;
    answering.mutate({
      decision: 'allow',
      ...(workspaceId === '' ? {} : { workspace_id: workspaceId }),
      ...(spends && read.ok ? { credit_limit_usd: read.usd } : {}),
    });
  };
  return (
    <form onSubmit={allow} className="space-y-4" noValidate>
      {(spends || asks('usage:read')) && (
        <SelectField
          label="Workspace"
          hint="The app works with its models, preferences and usage; its owner pays."
          value={workspaceId}
          onChange={setWorkspaceId}
          disabled={isOver}
          choices={workspaces.map(({ id, name }) => ({ value: id, label: name }))}
        />
      )}
      {spends && (
        <div className="space-y-3">
          <TextField
            label="It may spend, in all (USD)"
            inputMode="decimal"
            autoComplete="off"
            value={limit.isUnlimited ? '' : limit.text}
            disabled={limit.isUnlimited || isOver}
            onChange={(event) => setLimit({ ...limit, text: event.target.value })}
            error={refusal}
          />
          <CheckField
            label="No limit"
            hint="Up to the whole balance."
            checked={limit.isUnlimited}
            disabled={isOver}
            onChange={(isUnlimited) => {
              setRefusal(undefined);
              setLimit({ ...limit, isUnlimited });
            }}
          />
        </div>
      )}
      {answering.isError && (
        <p role="alert" className="text-danger">
          {sentenceOf(answering.error)}
        </p>
      )}
      <div className="flex flex-wrap gap-2">
        <Button
          type="submit"
          look="primary"
          busy={isOver && answering.variables?.decision === 'allow'}
          disabled={isOver}
          className="flex-1"
        >
          Allow<span className="sr-only"> {app.name}</span>
        </Button>
        <Button
          busy={isOver && answering.variables?.decision === 'deny'}
          disabled={isOver}
          onClick={() => answering.mutate({ decision: 'deny' })}
          className="flex-1"
        >
          Deny
        </Button>
      </div>
    </form>
  );
}
