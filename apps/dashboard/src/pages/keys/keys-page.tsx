import type { KeyAnswer } from '@sotto/contract/control/keys';
import type { WorkspaceAnswer } from '@sotto/contract/control/workspaces';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';
import { budgetsQuery } from '../../api/budgets.ts';
import { keysQuery } from '../../api/keys.ts';
import { membersQuery } from '../../api/queries.ts';
import { formatCountOf } from '../../format/format.ts';
import { useSignedIn } from '../../session/session.ts';
import { Button } from '../../ui/button.tsx';
import { SearchField } from '../../ui/draft-fields.tsx';
import { Resource } from '../../ui/resource.tsx';
import { Page } from '../../ui/surface.tsx';
import { CheckField, SwitchField } from '../../ui/toggle-fields.tsx';
import { EmptyBalanceNotice, useWorkspace, WorkspaceLoading } from '../../workspaces/workspaces.tsx';
import { AppKeys } from './app-keys.tsx';
import { RevokeKeysDialog } from './key-actions.tsx';
import { MakeKeyDialog } from './key-dialogs.tsx';
import { findKeys, isOver, type KeySearch, mayChange, mayMakeKeys } from './key-rules.ts';
import { KeyTable } from './key-table.tsx';

/** `/keys`: the keys of the chosen workspace. */
export function KeysPage() {
  const { workspace } = useWorkspace();
  return workspace === undefined ? (
    <Page title="Keys" lead="API keys for programs.">
      <WorkspaceLoading label="Keys are loading" lines={6} />
    </Page>
  ) : (
    <Keys key={workspace.id} workspace={workspace} />
  );
}

const route = getRouteApi('/session/keys');

function Keys({ workspace }: { workspace: WorkspaceAnswer }) {
  const mayMake = mayMakeKeys(workspace.role);
  return (
    <Resource
      query={useQuery(keysQuery(workspace.id))}
      loading="Keys are loading"
      lines={6}
      page={(list, create) => (
        <Page
          title="Keys"
          lead={
            mayMake
              ? 'API keys for programs.'
              : `API keys for programs. Your role here is ${workspace.role}: you can see keys, but not create or change them.`
          }
          actions={create}
        >
          <EmptyBalanceNotice workspace={workspace} />
          {list}
          <AppKeys workspace={workspace} />
        </Page>
      )}
      card={{}}
      empty={{
        title: 'No keys in this workspace yet',
        text: 'An inference key lets a program send requests to models. You can limit its total spending, and revoke it at any time.',
      }}
      create={
        mayMake
          ? { action: 'Create key', dialog: (onClose) => <MakeKeyDialog workspace={workspace} onClose={onClose} /> }
          : undefined
      }
      rows={(keys) => <KeyList workspace={workspace} keys={keys} />}
    />
  );
}

function KeyList({ workspace, keys }: { workspace: WorkspaceAnswer; keys: readonly KeyAnswer[] }) {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const change = (next: KeySearch) => void navigate({ to: '/keys', search: next, replace: true, resetScroll: false });
  const { data: members } = useQuery(membersQuery(workspace.id));
  const { data: budgets = [] } = useQuery(budgetsQuery(workspace.id));
  const user = useSignedIn();
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [isRevoking, setRevoking] = useState(false);
  const ownAccountId = members?.find(({ email }) => email !== null && email === user?.email)?.account_id;
  const ownerOf = ({ created_by }: KeyAnswer): string | undefined => {
    if (members === undefined) return undefined;
    if (created_by === ownAccountId) return 'you';
    const owner = members.find(({ account_id }) => account_id === created_by);
    return owner === undefined ? 'a former member' : (owner.email ?? 'an account without an address');
  };
  const disabled = new Set(members?.filter((member) => member.disabled).map(({ account_id }) => account_id));
  const now = Date.now();
  const found = findKeys(keys, search, { ownerOf, now });
  const overCount = keys.filter((key) => isOver(key, now)).length;
  const changeable = found.filter((key) => mayChange(key, { role: workspace.role, accountId: ownAccountId }));
  // A key that the filter hides is not revoked with the others.
  const chosen = changeable.filter(({ id }) => selected.has(id));
  return (
    <>
      <div className="mb-4 flex flex-wrap items-center justify-between gap-x-6 gap-y-3">
        <SearchField
          label="Filter by name, tag or owner"
          value={search.q ?? ''}
          onChange={(typed) => change({ ...search, q: typed === '' ? undefined : typed })}
          className="w-full sm:w-72"
        />
        {overCount > 0 && (
          <SwitchField
            label={`Show revoked and expired (${overCount})`}
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
      <KeyTable
        keys={found}
        empty={
          search.q === undefined
            ? 'All keys here are revoked or expired.'
            : 'No key’s name, ending, tag or owner contains this text.'
        }
        workspace={workspace}
        ownAccountId={ownAccountId}
        ownerOf={ownerOf}
        isOwnerDisabled={({ created_by }) => disabled.has(created_by)}
        budgets={new Map(budgets.flatMap((budget) => (budget.key_id === null ? [] : [[budget.key_id, budget]])))}
        selected={selected}
        onSelect={({ id }, isSelected) => {
          const next = new Set(selected);
          if (isSelected) next.add(id);
          else next.delete(id);
          setSelected(next);
        }}
      />
      {isRevoking && chosen.length > 0 && <RevokeKeysDialog keys={chosen} onClose={() => setRevoking(false)} />}
    </>
  );
}
