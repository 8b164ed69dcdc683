import type { KeyAnswer, UpdateKey } from '@sotto/wire';
import { useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { errorAt, errorElsewhere } from '../../api/form-errors.ts';
import { keysQueryKey, updateKey } from '../../api/keys.ts';
import { useChange } from '../../api/use-change.ts';
import { formatUsd } from '../../format/money.ts';
import { readUsd } from '../../format/read-usd.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { useAnnounce } from '../../ui/toasts.tsx';
import { type KeyDraft, KeyFields, limitMistake } from './key-fields.tsx';

/** Name, limit and access of a key that there is. What was not touched is not sent. */
export function ChangeKeyDialog({ apiKey, onClose }: { apiKey: KeyAnswer; onClose: () => void }) {
  const isInference = apiKey.kind === 'inference';
  const [draft, setDraft] = useState<KeyDraft>({
    name: apiKey.name,
    limit: apiKey.credit_limit_usd === null ? '' : String(apiKey.credit_limit_usd),
    isCompatible: apiKey.openai_compatible,
  });
  const [isLimitMistaken, setLimitMistaken] = useState(false);
  const client = useQueryClient();
  const announce = useAnnounce();
  const changing = useChange({
    mutationFn: (change: UpdateKey) => updateKey(apiKey.id, change),
    onSuccess: async ({ name }) => {
      await client.invalidateQueries({ queryKey: keysQueryKey });
      announce({ text: `“${name}” is changed. It holds from the next request on.` });
      onClose();
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const limit = readUsd(draft.limit);
    setLimitMistaken(limit === undefined);
    if (limit === undefined) return;
    changing.mutate({
      ...(draft.name === apiKey.name ? {} : { name: draft.name }),
      ...(limit === apiKey.credit_limit_usd ? {} : { credit_limit_usd: limit }),
      ...(draft.isCompatible === apiKey.openai_compatible ? {} : { openai_compatible: draft.isCompatible }),
    });
  };
  const elsewhere = errorElsewhere(changing.error, ['name', 'credit_limit_usd']);
  return (
    <Dialog open onOpenChange={() => !changing.isPending && onClose()} title={`Change “${apiKey.name}”`}>
      <form onSubmit={submit} className="space-y-5">
        <KeyFields
          draft={draft}
          onChange={setDraft}
          isInference={isInference}
          spent={formatUsd(apiKey.spent_usd)}
          errors={{
            name: errorAt(changing.error, 'name'),
            limit: isLimitMistaken ? limitMistake : errorAt(changing.error, 'credit_limit_usd'),
          }}
        />
        {elsewhere !== undefined && (
          <p role="alert" className="text-sm text-danger">
            {elsewhere}
          </p>
        )}
        <div className="flex flex-wrap justify-end gap-2">
          <Button onClick={onClose} disabled={changing.isPending}>
            Cancel
          </Button>
          <Button type="submit" look="primary" busy={changing.isPending}>
            Save
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
