import { useQueryClient } from '@tanstack/react-query';
import type { FormEvent } from 'react';
import { sentenceOf } from '../../api/call.ts';
import { useChange } from '../../api/use-change.ts';
import { type SignedInUser, sessionQuery } from '../../session/session.ts';
import { Button } from '../../ui/button.tsx';
import { TextField } from '../../ui/field.tsx';
import { Card } from '../../ui/surface.tsx';
import { useAnnounce } from '../../ui/toasts.tsx';
import { updateName } from './account-queries.ts';

export function NameCard({ user }: { user: SignedInUser }) {
  const client = useQueryClient();
  const announce = useAnnounce();
  const saving = useChange({
    mutationFn: updateName,
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: sessionQuery.queryKey });
      announce({ text: 'Your name is saved.' });
    },
  });
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    saving.mutate({ name: String(new FormData(event.currentTarget).get('name')) });
  };
  return (
    <Card title="Name">
      <form onSubmit={submit} className="space-y-4">
        <TextField
          label="Your name"
          name="name"
          autoComplete="name"
          required
          maxLength={100}
          defaultValue={user.name}
          error={saving.isError ? sentenceOf(saving.error) : undefined}
        />
        <Button type="submit" busy={saving.isPending}>
          Save the name
        </Button>
      </form>
    </Card>
  );
}
