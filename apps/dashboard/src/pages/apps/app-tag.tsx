import type { GrantAnswer } from '@sotto/contract/control/connect';
import { useForm } from '../../api/use-form.ts';
import { FormDialog } from '../../ui/form.tsx';
import type { RowAction } from '../../ui/resource.tsx';
import { TagField } from '../keys/key-fields.tsx';
import { grantsQuery } from './apps.ts';

/** Changes the tag of the key that an app holds, which is all that can be changed of such a key. */
export const changeAppTag = (grant: GrantAnswer): RowAction => ({
  label: 'Change tag',
  does: { dialog: (onClose) => <AppTagDialog grant={grant} onClose={onClose} /> },
});

function AppTagDialog({ grant: { app, key_id, tag }, onClose }: { grant: GrantAnswer; onClose: () => void }) {
  const form = useForm('PATCH /v1/keys/{id}', {
    params: { id: key_id },
    start: { tag },
    // The key of an app takes no body without it.
    rest: { tag },
    refreshes: grantsQuery,
    onSuccess: onClose,
    says: `The tag of “${app.name}” is saved.`,
  });
  return (
    <FormDialog form={form} action="Save" title={`Tag of “${app.name}”`} onClose={onClose}>
      <TagField form={form} />
    </FormDialog>
  );
}
