import type { KeyAnswer } from '@sotto/contract/control/keys';
import { useQueryClient } from '@tanstack/react-query';
import { Ban, Pause, Pencil, Play, RefreshCw } from 'lucide-react';
import { call } from '../../api/call.ts';
import { afterRevoking, allKeys, revokeKey } from '../../api/keys.ts';
import { formatCountOf } from '../../format/format.ts';
import { forgetMadeKey } from '../../inference-key/tab-key.ts';
import { asking, ConfirmChange } from '../../ui/dialog.tsx';
import type { RowAction } from '../../ui/resource.tsx';
import { Truncated } from '../../ui/text.tsx';
import { ChangeKeyDialog, RotateKeyDialog } from './key-dialogs.tsx';

/** What a user who may change a key can do with it, and undo. Only an admin enables a key that an admin disabled. */
export const changesOf = (apiKey: KeyAnswer, isAdmin: boolean): readonly RowAction[] => [
  {
    label: 'Change',
    icon: Pencil,
    does: { dialog: (onClose) => <ChangeKeyDialog {...{ apiKey, isAdmin, onClose }} /> },
  },
  { label: 'Rotate', icon: RefreshCw, does: { dialog: (onClose) => <RotateKeyDialog {...{ apiKey, onClose }} /> } },
  ...(isAdmin || !apiKey.locked.includes('disabled') ? [switchOf(apiKey)] : []),
];

const switchOf = (apiKey: KeyAnswer): RowAction =>
  apiKey.disabled_at === null
    ? {
        label: 'Disable',
        icon: Pause,
        does: asking({
          title: `Disable “${apiKey.name}”?`,
          consequence:
            'Its requests are rejected from now on, until you enable it again. Running requests finish and are charged.',
          action: 'Disable key',
          change: switching(apiKey, true),
        }),
      }
    : {
        label: 'Enable',
        icon: Play,
        does: asking({
          title: `Enable “${apiKey.name}”?`,
          consequence: 'Its requests are served again from now on. Tickets from before it was disabled stay invalid.',
          action: 'Enable key',
          change: switching(apiKey, false),
        }),
      };

const switching = ({ id, name }: KeyAnswer, disabled: boolean) => ({
  mutationFn: () => call('PATCH /v1/keys/{id}', { params: { id }, body: { disabled } }),
  refreshes: allKeys,
  says: `“${name}” is ${disabled ? 'disabled' : 'enabled'}.`,
});

export const revokeOf = (apiKey: KeyAnswer): RowAction => ({
  label: 'Revoke',
  icon: Ban,
  danger: true,
  does: { dialog: (onClose) => <RevokeKeysDialog keys={[apiKey]} onClose={onClose} /> },
});

/** Asks once more and names the keys, because a revoked key cannot be restored. */
export function RevokeKeysDialog({ keys, onClose }: { keys: readonly KeyAnswer[]; onClose: () => void }) {
  const client = useQueryClient();
  const [only, ...others] = keys;
  const isOne = others.length === 0;
  const title = isOne ? `“${only?.name}”` : formatCountOf(keys.length, 'key');
  return (
    <ConfirmChange
      onClose={onClose}
      title={`Revoke ${title}?`}
      consequence={
        <>
          {!isOne && (
            <ul
              // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
              tabIndex={0}
              className="mb-3 max-h-60 divide-y divide-line overflow-y-auto rounded-xl border border-line text-text"
            >
              {keys.map(({ id, name, preview }) => (
                <li key={id} className="flex flex-wrap items-baseline justify-between gap-x-3 px-3 py-1.5">
                  <Truncated text={name} />
                  <span className="font-mono text-xs text-muted">{preview}</span>
                </li>
              ))}
            </ul>
          )}
          <p>
            {isOne ? (
              <>
                Requests with <code className="font-mono text-sm break-all">{only?.preview}</code> are rejected from now
                on, and its tickets stop working.
              </>
            ) : (
              'Requests with these keys are rejected from now on, and their tickets stop working.'
            )}{' '}
            Running requests finish and are charged.
          </p>
          <p className="mt-2">You cannot undo this. The usage stays in your records.</p>
        </>
      }
      action={isOne ? 'Revoke key' : `Revoke ${formatCountOf(keys.length, 'key')}`}
      change={{
        // One after the other: if one fails, the error is shown, and the dialog names those that are left.
        mutationFn: async () => {
          for (const { id, workspace_id } of keys) {
            await revokeKey(id);
            forgetMadeKey(workspace_id, id);
          }
        },
        onError: () => client.invalidateQueries(allKeys),
        refreshes: afterRevoking,
        says: isOne ? `${title} is revoked.` : `${title} are revoked.`,
      }}
    />
  );
}
