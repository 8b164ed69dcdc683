import type { KeyAnswer } from '@sotto/contract/control/keys';
import type { WorkspaceAnswer } from '@sotto/contract/control/workspaces';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { Plus } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { budgetsQuery } from '../../api/budgets.ts';
import { call } from '../../api/call.ts';
import { allKeys, keysQuery, revokeKey } from '../../api/keys.ts';
import { membersQuery } from '../../api/queries.ts';
import { formatCountOf } from '../../format/format.ts';
import { useSignedIn } from '../../session/session.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmChange } from '../../ui/dialog.tsx';
import { SearchField } from '../../ui/draft-fields.tsx';
import { Card, EmptyState, Loaded, Page } from '../../ui/surface.tsx';
import { Truncated } from '../../ui/text.tsx';
import { CheckField, SwitchField } from '../../ui/toggle-fields.tsx';
import { EmptyBalanceNotice, useWorkspace, WorkspaceLoading } from '../../workspaces/workspaces.tsx';
import { ChangeKeyDialog } from './change-key-dialog.tsx';
import { findKeys, type KeySearch, mayChange, mayMakeKeys } from './key-rules.ts';
import { type KeyAction, KeyTable } from './key-table.tsx';
import { MakeKeyDialog, RotateKeyDialog } from './make-key-dialog.tsx';

/** `/keys`: the keys of the chosen workspace. */
export function KeysPage() {
  const { workspace } = useWorkspace();
  const [isMaking, setMaking] = useState(false);
  const mayMake = workspace !== undefined && mayMakeKeys(workspace.role);
  const make = mayMake ? (
    <Button look="primary" icon={<Plus aria-hidden className="size-4" />} onClick={() => setMaking(true)}>
      Create key
    </Button>
  ) : undefined;
  return (
    <Page
      title="Keys"
      lead={
        workspace === undefined || mayMake
          ? 'API keys for programs.'
          : `API keys for programs. Your role here is ${workspace.role}: you can see keys, but not create or change them.`
      }
      actions={make}
    >
      {workspace === undefined ? (
        <WorkspaceLoading label="Keys are loading" lines={6} />
      ) : (
        <>
          <EmptyBalanceNotice workspace={workspace} />
          <Keys workspace={workspace} make={make} />
          {isMaking && <MakeKeyDialog workspace={workspace} onClose={() => setMaking(false)} />}
        </>
      )}
    </Page>
  );
}

const route = getRouteApi('/session/keys');

interface KeysProps {
  readonly workspace: WorkspaceAnswer;
  /** The button to create a key, if the user may. */
  readonly make: ReactNode;
}

function Keys(props: KeysProps) {
  return (
    <Loaded query={useQuery(keysQuery(props.workspace.id))} label="Keys are loading" lines={6}>
      {(keys) => <KeyList {...props} keys={keys} />}
    </Loaded>
  );
}

function KeyList({ workspace, make, keys }: KeysProps & { readonly keys: readonly KeyAnswer[] }) {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const change = (next: KeySearch) => void navigate({ to: '/keys', search: next, replace: true, resetScroll: false });
  const { data: members } = useQuery(membersQuery(workspace.id));
  const { data: budgets = [] } = useQuery(budgetsQuery(workspace.id));
  const user = useSignedIn();
  const [action, setAction] = useState<{ readonly what: KeyAction; readonly key: KeyAnswer }>();
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [isRevoking, setRevoking] = useState(false);
  if (keys.length === 0) {
    return (
      <EmptyState
        title="No keys in this workspace yet"
        text="An inference key lets a program send requests to models. You can limit its total spending, and revoke it at any time."
        action={make}
      />
    );
  }
  const ownAccountId = members?.find(({ email }) => email !== null && email === user?.email)?.account_id;
  const ownerOf = ({ created_by }: KeyAnswer): string | undefined => {
    if (members === undefined) return undefined;
    if (created_by === ownAccountId) return 'you';
    const owner = members.find(({ account_id }) => account_id === created_by);
    return owner === undefined ? 'a former member' : (owner.email ?? 'an account without an address');
  };
  const found = findKeys(keys, search, ownerOf);
  const revokedCount = keys.filter(({ revoked_at }) => revoked_at !== null).length;
  const changeable = found.filter((key) => mayChange(key, { role: workspace.role, accountId: ownAccountId }));
  // A key that the filter hides is not revoked with the others.
  const chosen = changeable.filter(({ id }) => selected.has(id));
  const close = () => setAction(undefined);
  return (
    <Card>
      <div className="mb-4 flex flex-wrap items-center justify-between gap-x-6 gap-y-3">
        <SearchField
          label="Filter by name or owner"
          value={search.q ?? ''}
          onChange={(typed) => change({ ...search, q: typed === '' ? undefined : typed })}
          className="w-full sm:w-72"
        />
        {revokedCount > 0 && (
          <SwitchField
            label={`Show revoked (${revokedCount})`}
            checked={search.revoked === true}
            onChange={(shown) => change({ ...search, revoked: shown ? true : undefined })}
          />
        )}
      </div>
      {changeable.length > 1 && (
        <div className="mb-2 flex min-h-10 flex-wrap items-center gap-x-4 gap-y-2">
          <CheckField
            label={
              <span className="text-sm font-normal">
                {chosen.length === 0
                  ? `Select all ${changeable.length}`
                  : `${formatCountOf(chosen.length, 'key')} selected`}
              </span>
            }
            checked={chosen.length === changeable.length}
            onChange={(all) => setSelected(new Set(all ? changeable.map(({ id }) => id) : []))}
          />
          {chosen.length > 0 && (
            <Button small look="danger" onClick={() => setRevoking(true)}>
              {`Revoke ${formatCountOf(chosen.length, 'key')}`}
            </Button>
          )}
        </div>
      )}
      <p role="status" className="sr-only">
        {found.length} keys are shown
      </p>
      {found.length === 0 ? (
        <p className="py-6 text-center text-muted">
          {search.q === undefined ? 'All keys here are revoked.' : 'No key’s name, ending or owner contains this text.'}
        </p>
      ) : (
        <KeyTable
          keys={found}
          workspace={workspace}
          ownAccountId={ownAccountId}
          ownerOf={ownerOf}
          budgets={new Map(budgets.flatMap((budget) => (budget.key_id === null ? [] : [[budget.key_id, budget]])))}
          selected={selected}
          onSelect={({ id }, isSelected) => {
            const next = new Set(selected);
            if (isSelected) next.add(id);
            else next.delete(id);
            setSelected(next);
          }}
          onAction={(what, key) => setAction({ what, key })}
        />
      )}
      {isRevoking && chosen.length > 0 && <RevokeKeysDialog keys={chosen} onClose={() => setRevoking(false)} />}
      {action !== undefined && <KeyDialog key={action.key.id} what={action.what} apiKey={action.key} onClose={close} />}
    </Card>
  );
}

interface KeyDialogProps {
  readonly what: KeyAction;
  readonly apiKey: KeyAnswer;
  readonly onClose: () => void;
}

function KeyDialog({ what, apiKey, onClose }: KeyDialogProps) {
  switch (what) {
    case 'change':
      return <ChangeKeyDialog apiKey={apiKey} onClose={onClose} />;
    case 'rotate':
      return <RotateKeyDialog apiKey={apiKey} onClose={onClose} />;
    case 'revoke':
      return <RevokeKeysDialog keys={[apiKey]} onClose={onClose} />;
    case 'disable':
    case 'enable':
      return <SwitchKeyDialog apiKey={apiKey} isDisabled={what === 'disable'} onClose={onClose} />;
    default:
      return what satisfies never;
  }
}

/** Disables or enables a key. Both can be undone. */
function SwitchKeyDialog({ apiKey, isDisabled, onClose }: Omit<KeyDialogProps, 'what'> & { isDisabled: boolean }) {
  return (
    <ConfirmChange
      onClose={onClose}
      title={`${isDisabled ? 'Disable' : 'Enable'} “${apiKey.name}”?`}
      consequence={
        isDisabled
          ? 'Its requests are rejected from now on, until you enable it again. Running requests finish and are charged.'
          : 'Its requests are served again from now on. Tickets from before it was disabled stay invalid.'
      }
      action={isDisabled ? 'Disable key' : 'Enable key'}
      change={{
        mutationFn: () => call('PATCH /v1/keys/{id}', { params: { id: apiKey.id }, body: { disabled: isDisabled } }),
        refreshes: allKeys,
        says: `“${apiKey.name}” is ${isDisabled ? 'disabled' : 'enabled'}.`,
      }}
    />
  );
}

/** Asks once more and names the keys, because a revoked key cannot be restored. */
function RevokeKeysDialog({ keys, onClose }: { keys: readonly KeyAnswer[]; onClose: () => void }) {
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
          for (const { id } of keys) await revokeKey(id);
        },
        onError: () => client.invalidateQueries(allKeys),
        refreshes: allKeys,
        says: isOne ? `${title} is revoked.` : `${title} are revoked.`,
      }}
    />
  );
}
