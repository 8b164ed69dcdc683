import { useQueryClient } from '@tanstack/react-query';
import { useRouter } from '@tanstack/react-router';
import type { FormEvent } from 'react';
import { sentenceOf } from '../../api/call.ts';
import { useChange } from '../../api/use-change.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { TextField } from '../../ui/field.tsx';
import { useWorkspace, workspacesQuery } from '../../workspaces/workspaces.ts';
import { createWorkspace } from './workspace-queries.ts';

interface CreateWorkspaceDialogProps {
  readonly open: boolean;
  readonly onOpenChange: (open: boolean) => void;
}

export function CreateWorkspaceDialog({ open, onOpenChange }: CreateWorkspaceDialogProps) {
  const client = useQueryClient();
  const router = useRouter();
  const { choose } = useWorkspace();
  const making = useChange({
    mutationFn: createWorkspace,
    onSuccess: async ({ id }) => {
      await client.invalidateQueries({ queryKey: workspacesQuery.queryKey });
      choose(id);
      onOpenChange(false);
      await router.navigate({ to: '/workspaces/$workspaceId', params: { workspaceId: id } });
    },
  });
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    making.mutate(String(new FormData(event.currentTarget).get('name')));
  };
  return (
    <Dialog
      open={open}
      onOpenChange={onOpenChange}
      title="New workspace"
      description="It begins with preferences of its own, no keys, and you as its owner."
    >
      <form onSubmit={submit} className="space-y-4">
        <TextField
          label="Name"
          name="name"
          required
          maxLength={100}
          autoComplete="off"
          error={making.isError ? sentenceOf(making.error) : undefined}
        />
        <div className="flex justify-end gap-2">
          <Button onClick={() => onOpenChange(false)}>Cancel</Button>
          <Button type="submit" look="primary" busy={making.isPending}>
            Make the workspace
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
