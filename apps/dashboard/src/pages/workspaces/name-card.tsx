import type { WorkspaceAnswer } from '@sotto/wire';
import { useQueryClient } from '@tanstack/react-query';
import type { FormEvent } from 'react';
import { sentenceOf } from '../../api/call.ts';
import { useChange } from '../../api/use-change.ts';
import { Button } from '../../ui/button.tsx';
import { TextField } from '../../ui/field.tsx';
import { Card } from '../../ui/surface.tsx';
import { useAnnounce } from '../../ui/toasts.tsx';
import { workspacesQuery } from '../../workspaces/workspaces.ts';
import { renameWorkspace } from './workspace-queries.ts';

export function NameCard({ workspace }: { workspace: WorkspaceAnswer }) {
  const client = useQueryClient();
  const announce = useAnnounce();
  const renaming = useChange({
    mutationFn: (name: string) => renameWorkspace(workspace.id, name),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: workspacesQuery.queryKey, exact: true });
      announce({ text: 'The name is saved.' });
    },
  });
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    renaming.mutate(String(new FormData(event.currentTarget).get('name')));
  };
  return (
    <Card title="Name">
      <form onSubmit={submit} className="space-y-4">
        <TextField
          label="Name of the workspace"
          name="name"
          required
          maxLength={100}
          defaultValue={workspace.name}
          autoComplete="off"
          error={renaming.isError ? sentenceOf(renaming.error) : undefined}
        />
        <Button type="submit" busy={renaming.isPending}>
          Rename
        </Button>
      </form>
    </Card>
  );
}
