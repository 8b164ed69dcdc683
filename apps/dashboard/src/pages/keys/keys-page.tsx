import type { KeyAnswer, WorkspaceAnswer } from '@sotto/wire';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { Plus } from 'lucide-react';
import { useState } from 'react';
import { keysQuery } from '../../api/keys.ts';
import { Button } from '../../ui/button.tsx';
import { SearchField } from '../../ui/search-field.tsx';
import { Loading } from '../../ui/skeleton.tsx';
import { Card, EmptyState, ErrorState, Page } from '../../ui/surface.tsx';
import { SwitchField } from '../../ui/switch-field.tsx';
import { EmptyBalanceNotice } from '../../workspaces/empty-balance-notice.tsx';
import { useWorkspace } from '../../workspaces/workspaces.ts';
import { ChangeKeyDialog } from './change-key-dialog.tsx';
import { findKeys, mayMakeKeys } from './key-rules.ts';
import type { KeySearch } from './key-search.ts';
import { KeyTable } from './key-table.tsx';
import { MakeKeyDialog } from './make-key-dialog.tsx';
import { RevokeKeyDialog } from './revoke-key-dialog.tsx';

/** `/keys`: the keys of the chosen workspace. */
export function KeysPage() {
  const { workspace } = useWorkspace();
  const [isMaking, setMaking] = useState(false);
  const mayMake = workspace !== undefined && mayMakeKeys(workspace.role);
  const make = mayMake ? (
    <Button look="primary" icon={<Plus aria-hidden className="size-4" />} onClick={() => setMaking(true)}>
      Make a key
    </Button>
  ) : undefined;
  return (
    <Page
      title="Keys"
      lead={
        workspace === undefined
          ? 'What programs show to be let in.'
          : `What programs show to be let in: the keys of ${workspace.name}.${
              mayMake ? '' : ` Your role here is ${workspace.role}: you see keys, and cannot make or change them.`
            }`
      }
      actions={make}
    >
      {workspace === undefined ? (
        <Loading label="Keys are loading" lines={6} />
      ) : (
        <>
          <EmptyBalanceNotice workspace={workspace} />
          <Keys workspace={workspace} make={make} />
          {mayMake && <MakeKeyDialog workspace={workspace} open={isMaking} onOpenChange={setMaking} />}
        </>
      )}
    </Page>
  );
}

const route = getRouteApi('/session/keys');

function Keys({ workspace, make }: { workspace: WorkspaceAnswer; make: React.ReactNode }) {
  const { data: keys, error, refetch } = useQuery(keysQuery(workspace.id));
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const change = (next: KeySearch) => void navigate({ to: '/keys', search: next, replace: true, resetScroll: false });
  const [deed, setDeed] = useState<{ readonly what: 'change' | 'revoke'; readonly key: KeyAnswer }>();
  if (keys === undefined) {
    return error === null ? (
      <Loading label="Keys are loading" lines={6} />
    ) : (
      <ErrorState error={error} onRetry={() => void refetch()} />
    );
  }
  if (keys.length === 0) {
    return (
      <EmptyState
        title="No keys in this workspace yet"
        text="An inference key lets a program ask models. You can bound what it may ever spend, and revoke it at any time."
        action={make}
      />
    );
  }
  const found = findKeys(keys, search);
  const revokedCount = keys.filter(({ revoked_at }) => revoked_at !== null).length;
  return (
    <Card>
      <div className="mb-4 flex flex-wrap items-center justify-between gap-x-6 gap-y-3">
        <SearchField
          label="Filter by name"
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
      <p role="status" className="sr-only">
        {found.length} keys are shown
      </p>
      {found.length === 0 ? (
        <p className="py-6 text-center text-muted">
          {search.q === undefined ? 'Every key here was revoked.' : 'No key has that in its name.'}
        </p>
      ) : (
        <KeyTable keys={found} workspace={workspace} onDeed={(what, key) => setDeed({ what, key })} />
      )}
      {deed?.what === 'change' && (
        <ChangeKeyDialog key={deed.key.id} apiKey={deed.key} onClose={() => setDeed(undefined)} />
      )}
      {deed?.what === 'revoke' && (
        <RevokeKeyDialog key={deed.key.id} apiKey={deed.key} onClose={() => setDeed(undefined)} />
      )}
    </Card>
  );
}
