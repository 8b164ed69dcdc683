import type { CreateKey, WorkspaceAnswer } from '@sotto/wire';
import { useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { errorAt, errorElsewhere } from '../../api/form-errors.ts';
import { createKey, keysQueryKey } from '../../api/keys.ts';
import { useChange } from '../../api/use-change.ts';
import { readUsd } from '../../format/read-usd.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { RadioCards } from '../../ui/field.tsx';
import { type KeyDraft, KeyFields, limitMistake } from './key-fields.tsx';
import { mayMakeManagementKeys } from './key-rules.ts';
import { NewKey } from './new-key.tsx';

export interface MakeKeyDialogProps {
  readonly workspace: WorkspaceAnswer;
  readonly open: boolean;
  readonly onOpenChange: (open: boolean) => void;
}

const emptyDraft: KeyDraft = { name: '', limit: '', isCompatible: true };

/** Asks what the key is for, makes it, and shows it once. */
export function MakeKeyDialog({ workspace, open, onOpenChange }: MakeKeyDialogProps) {
  const [draft, setDraft] = useState(emptyDraft);
  const [kind, setKind] = useState<CreateKey['kind']>('inference');
  const [isLimitMistaken, setLimitMistaken] = useState(false);
  const [isCopied, setCopied] = useState(false);
  const [isWarned, setWarned] = useState(false);
  const client = useQueryClient();
  const making = useChange({
    mutationFn: createKey,
    gcTime: 0,
    onSuccess: () => client.invalidateQueries({ queryKey: keysQueryKey }),
  });
  const made = making.data;

  const close = () => {
    onOpenChange(false);
    making.reset();
    setDraft(emptyDraft);
    setKind('inference');
    setLimitMistaken(false);
    setCopied(false);
    setWarned(false);
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const limit = readUsd(draft.limit);
    const isInference = kind === 'inference';
    setLimitMistaken(isInference && limit === undefined);
    if (isInference && limit === undefined) return;
    making.mutate({
      name: draft.name,
      kind,
      workspace_id: workspace.id,
      ...(isInference ? { credit_limit_usd: limit, openai_compatible: draft.isCompatible } : {}),
    });
  };
  const elsewhere = errorElsewhere(making.error, ['name', 'credit_limit_usd']);
  return (
    <Dialog
      open={open}
      onOpenChange={(wanted) => {
        if (wanted || making.isPending) return;
        if (made !== undefined && !isCopied) setWarned(true);
        else close();
      }}
      title={made === undefined ? 'Make a key' : 'Copy your key now'}
      {...(made === undefined
        ? {}
        : { description: `“${made.name}” is ready. This is the only time that it is shown.` })}
    >
      {made === undefined ? (
        <form onSubmit={submit} className="space-y-5">
          {mayMakeManagementKeys(workspace.role) && (
            <RadioCards
              legend="What it opens"
              value={kind}
              onChange={setKind}
              choices={[
                { value: 'inference', label: 'Inference', text: 'Asks models, and spends from the balance.' },
                {
                  value: 'management',
                  label: 'Management',
                  text: 'Reads balance and usage of the whole account. Cannot ask models.',
                },
              ]}
            />
          )}
          <KeyFields
            draft={draft}
            onChange={setDraft}
            isInference={kind === 'inference'}
            errors={{
              name: errorAt(making.error, 'name'),
              limit: isLimitMistaken ? limitMistake : errorAt(making.error, 'credit_limit_usd'),
            }}
          />
          {elsewhere !== undefined && (
            <p role="alert" className="text-sm text-danger">
              {elsewhere}
            </p>
          )}
          <div className="flex flex-wrap justify-end gap-2">
            <Button onClick={close} disabled={making.isPending}>
              Cancel
            </Button>
            <Button type="submit" look="primary" busy={making.isPending}>
              Make the key
            </Button>
          </div>
        </form>
      ) : (
        <NewKey
          apiKey={made}
          isWarned={isWarned && !isCopied}
          isCopied={isCopied}
          onCopied={() => setCopied(true)}
          onClose={close}
          onDone={() => (isCopied ? close() : setWarned(true))}
        />
      )}
    </Dialog>
  );
}
