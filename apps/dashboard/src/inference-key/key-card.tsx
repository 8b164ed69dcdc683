import type { WorkspaceAnswer } from '@sotto/contract/control/workspaces';
import { type FormEvent, useState } from 'react';
import { allKeys, createKey, revokeKey } from '../api/keys.ts';
import { useChange } from '../api/use-change.ts';
import { formatUsd, readUsd, usdMistake } from '../format/format.ts';
import { Button } from '../ui/button.tsx';
import { ConfirmChange } from '../ui/dialog.tsx';
import { TextField } from '../ui/field.tsx';
import { Card, ErrorLine } from '../ui/surface.tsx';
import { defaultLimitUsd, readKey, type TabKey, tabKeyOf } from './tab-key.ts';

interface KeyCardProps {
  readonly workspace: WorkspaceAnswer;
  readonly tabKey: TabKey | undefined;
  readonly onChange: (key: TabKey | undefined) => void;
}

/** The inference key of the requests: created here in one click, or pasted. */
export function KeyCard({ workspace, tabKey, onChange }: KeyCardProps) {
  return (
    <Card title="Key" lead={tabKey === undefined ? 'Requests need an inference key. It stays in this tab.' : undefined}>
      {tabKey === undefined ? (
        <NewKey workspace={workspace} onChange={onChange} />
      ) : (
        <KeptKey tabKey={tabKey} onChange={onChange} />
      )}
    </Card>
  );
}

function NewKey({ workspace, onChange }: Pick<KeyCardProps, 'workspace' | 'onChange'>) {
  const [limit, setLimit] = useState(String(defaultLimitUsd));
  const [pasted, setPasted] = useState('');
  const [isLimitMistaken, setLimitMistaken] = useState(false);
  const making = useChange({
    mutationFn: (limitUsd: number) =>
      createKey({ name: 'Playground', kind: 'inference', workspace_id: workspace.id, credit_limit_usd: limitUsd }),
    refreshes: allKeys,
    onSuccess: (made) => onChange(tabKeyOf(made)),
  });
  const key = readKey(pasted);
  const paste = (event: FormEvent): void => {
    event.preventDefault();
    if (key !== undefined) onChange({ key });
  };
  return (
    <div className="space-y-4">
      {workspace.role !== 'viewer' && (
        <form
          className="space-y-3"
          onSubmit={(event) => {
            event.preventDefault();
            const limitUsd = readUsd(limit);
            const isLimit = typeof limitUsd === 'number' && limitUsd > 0;
            setLimitMistaken(!isLimit);
            if (isLimit) making.mutate(limitUsd);
          }}
        >
          <div className="flex items-start gap-2">
            <TextField
              label="Spending limit in USD"
              inputMode="decimal"
              className="min-w-0 flex-1"
              value={limit}
              error={isLimitMistaken ? usdMistake : undefined}
              onChange={(event) => setLimit(event.target.value)}
            />
            <Button type="submit" look="primary" busy={making.isPending} className="mt-6">
              Create key
            </Button>
          </div>
          <ErrorLine error={making.error} className="text-sm" />
        </form>
      )}
      <details open={workspace.role === 'viewer'}>
        <summary className="min-h-8 cursor-pointer text-accent">Use an existing key</summary>
        <form onSubmit={paste} className="mt-2 flex items-end gap-2">
          <TextField
            label="Inference key"
            type="password"
            autoComplete="off"
            placeholder="sotto_inf_…"
            className="min-w-0 flex-1"
            value={pasted}
            onChange={(event) => setPasted(event.target.value)}
          />
          <Button type="submit" disabled={key === undefined}>
            Use it
          </Button>
        </form>
        {pasted.trim() !== '' && key === undefined && (
          <p role="alert" className="mt-1 text-sm text-danger">
            {pasted.trim().startsWith('sotto_inf_')
              ? 'This key is incomplete. Copy all of it.'
              : 'An inference key begins with sotto_inf_.'}
          </p>
        )}
      </details>
    </div>
  );
}

function KeptKey({ tabKey, onChange }: { tabKey: TabKey; onChange: KeyCardProps['onChange'] }) {
  const { key, made } = tabKey;
  const [isAsking, setAsking] = useState(false);
  return (
    <div className="flex flex-wrap items-center justify-between gap-2">
      <p className="min-w-0">
        <code className="font-mono text-sm">{`${key.slice(0, 14)}…`}</code>
        <span className="block text-sm text-muted">
          {made === undefined
            ? 'Your own key. This tab forgets it when you close the tab.'
            : made.limitUsd === null
              ? 'Created for this tab.'
              : `Created for this tab. It can spend ${formatUsd(made.limitUsd)} in total.`}
        </span>
      </p>
      <div className="flex gap-2">
        {made === undefined ? (
          <Button small onClick={() => onChange(undefined)}>
            Forget it
          </Button>
        ) : (
          <>
            <Button small onClick={() => onChange(undefined)}>
              Change
            </Button>
            <Button small look="danger" onClick={() => setAsking(true)}>
              Revoke
            </Button>
          </>
        )}
      </div>
      {isAsking && made !== undefined && (
        <ConfirmChange
          onClose={() => setAsking(false)}
          title="Revoke this key?"
          consequence="Requests with this key are rejected from now on. You cannot undo this, but you can create another key in one click."
          action="Revoke"
          change={{
            mutationFn: () => revokeKey(made.id),
            refreshes: allKeys,
            onSuccess: () => onChange(undefined),
            says: 'The key is revoked.',
          }}
        />
      )}
    </div>
  );
}
