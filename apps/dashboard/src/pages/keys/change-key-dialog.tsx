import type { KeyAnswer, UpdateKey } from '@sotto/contract/control/keys';
import { useState } from 'react';
import { call } from '../../api/call.ts';
import { allKeys } from '../../api/keys.ts';
import { useChange } from '../../api/use-change.ts';
import { formatUsd } from '../../format/format.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { Form } from '../../ui/form.tsx';
import { draftOf, KeyFields, keyFieldNames, type Mistakes, readRules } from './key-fields.tsx';

/** Changes name, limits and access of a key. Sends only the changed fields. */
export function ChangeKeyDialog({ apiKey, onClose }: { apiKey: KeyAnswer; onClose: () => void }) {
  const [draft, setDraft] = useState(() => draftOf(apiKey));
  const [mistakes, setMistakes] = useState<Mistakes>({});
  const changing = useChange({
    mutationFn: (body: UpdateKey) => call('PATCH /v1/keys/{id}', { params: { id: apiKey.id }, body }),
    refreshes: allKeys,
    onSuccess: onClose,
    says: ({ name }) => `“${name}” is changed. The change applies from the next request.`,
  });
  const close = () => !changing.isPending && onClose();
  const submit = () => {
    const read = readRules(draft, draftOf(apiKey));
    setMistakes(read.mistakes);
    if (Object.keys(read.mistakes).length > 0) return;
    changing.mutate({ ...(draft.name === apiKey.name ? {} : { name: draft.name }), ...read.rules });
  };
  return (
    <Dialog onClose={close} title={`Change “${apiKey.name}”`}>
      <Form
        change={changing}
        errors={keyFieldNames}
        action="Save"
        className="space-y-5"
        onSubmit={submit}
        onCancel={close}
      >
        <KeyFields
          draft={draft}
          onChange={setDraft}
          isInference={apiKey.kind === 'inference'}
          spent={formatUsd(apiKey.spent_usd)}
          mistakes={mistakes}
          error={changing.error}
        />
      </Form>
    </Dialog>
  );
}
