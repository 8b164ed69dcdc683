import type { KeyAnswer } from '@sotto/wire';
import { useQueryClient } from '@tanstack/react-query';
import { sentenceOf } from '../../api/call.ts';
import { keysQueryKey, revokeKey } from '../../api/keys.ts';
import { useChange } from '../../api/use-change.ts';
import { ConfirmDialog } from '../../ui/dialog.tsx';
import { useAnnounce } from '../../ui/toasts.tsx';

/** Asks once more, since a revoked key cannot be brought back. */
export function RevokeKeyDialog({ apiKey, onClose }: { apiKey: KeyAnswer; onClose: () => void }) {
  const client = useQueryClient();
  const announce = useAnnounce();
  const revoking = useChange({
    mutationFn: () => revokeKey(apiKey.id),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: keysQueryKey });
      announce({ text: `“${apiKey.name}” is revoked.` });
      onClose();
    },
  });
  return (
    <ConfirmDialog
      open
      onOpenChange={() => !revoking.isPending && onClose()}
      title={`Revoke “${apiKey.name}”?`}
      consequence={
        <>
          <p>
            Whatever uses <code className="font-mono text-sm break-all">{apiKey.preview}</code> is refused from now on,
            and so are tickets that it minted. Requests that run are finished and charged.
          </p>
          <p className="mt-2">This cannot be taken back. Its usage stays in your records.</p>
        </>
      }
      action="Revoke the key"
      busy={revoking.isPending}
      onConfirm={() => revoking.mutate()}
      error={revoking.isError ? sentenceOf(revoking.error) : undefined}
    />
  );
}
