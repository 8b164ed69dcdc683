import { useQuery, useQueryClient } from '@tanstack/react-query';
import { sentenceOf } from '../../api/call.ts';
import { useChange } from '../../api/use-change.ts';
import { Button } from '../../ui/button.tsx';
import { Instant } from '../../ui/instant.tsx';
import { Notice } from '../../ui/surface.tsx';
import {
  deletePasskey,
  endPasskeyReview,
  type PasskeyRow,
  passkeyReviewQuery,
  passkeysQuery,
} from './account-queries.ts';

/** After a password was set by mail: which passkeys of before still sign in, and what to do about them. */
export function ReviewNotice({ passkeys }: { passkeys: readonly PasskeyRow[] }) {
  const client = useQueryClient();
  const { data: resetAt = null } = useQuery(passkeyReviewQuery);
  const kept = passkeys.filter(({ createdAt }) => resetAt !== null && (createdAt === null || createdAt < resetAt));
  const ending = useChange({
    mutationFn: async (removed: readonly PasskeyRow[]) => {
      for (const { id } of removed) await deletePasskey({ id });
      await endPasskeyReview();
    },
    onSettled: async () => {
      await client.invalidateQueries({ queryKey: passkeysQuery.queryKey });
      await client.invalidateQueries({ queryKey: passkeyReviewQuery.queryKey });
    },
  });
  if (resetAt === null || kept.length === 0) return null;
  return (
    <Notice tone="warn">
      <p>
        Your password was set by mail on <Instant at={resetAt} />. {howMany(kept.length)} from before can still sign in.
        Remove what you do not recognize.
      </p>
      {ending.isError && (
        <p role="alert" className="mt-2 text-danger">
          {sentenceOf(ending.error)}
        </p>
      )}
      <div className="mt-3 flex flex-wrap gap-2">
        <Button small busy={ending.isPending} onClick={() => ending.mutate([])}>
          I recognize {kept.length === 1 ? 'it' : 'them all'}
        </Button>
        <Button small look="danger" busy={ending.isPending} onClick={() => ending.mutate(kept)}>
          Remove {kept.length === 1 ? 'it' : 'them all'}
        </Button>
      </div>
    </Notice>
  );
}

const howMany = (passkeys: number): string => (passkeys === 1 ? 'One passkey' : `${passkeys} passkeys`);
