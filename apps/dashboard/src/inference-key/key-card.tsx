import type { WorkspaceAnswer } from '@sotto/contract/control/workspaces';
import { useState } from 'react';
import { afterRevoking, allKeys, revokeKey } from '../api/keys.ts';
import { useForm } from '../api/use-form.ts';
import { formatRelative, formatUsd } from '../format/format.ts';
import { Button } from '../ui/button.tsx';
import { asking, DialogButton } from '../ui/dialog.tsx';
import { TextField } from '../ui/field.tsx';
import { Form } from '../ui/form.tsx';
import { Card } from '../ui/surface.tsx';
import { useSessionKeyTerms } from './session-key.ts';
import { defaultLimitUsd, readKey, type TabKey, tabKeyOf } from './tab-key.ts';

interface KeyCardProps {
  readonly workspace: WorkspaceAnswer;
  readonly tabKey: TabKey | undefined;
  readonly onChange: (key: TabKey | undefined) => void;
  /** The first request creates a key, so nobody has to. */
  readonly isAutomatic?: boolean;
}

/** The inference key of the requests: created here in one click, or pasted. */
export function KeyCard({ workspace, tabKey, onChange, isAutomatic = false }: KeyCardProps) {
  const terms = useSessionKeyTerms(workspace);
  return (
    <Card
      title="Key"
      lead={
        tabKey !== undefined
          ? undefined
          : isAutomatic
            ? `Your first request creates one: ${terms}.`
            : 'Requests need an inference key. It stays in this tab.'
      }
    >
      {tabKey === undefined && isAutomatic ? (
        <details>
          <summary className="min-h-6 cursor-pointer text-accent">Choose a key instead</summary>
          <div className="mt-3">
            <NewKey workspace={workspace} onChange={onChange} />
          </div>
        </details>
      ) : tabKey === undefined ? (
        <NewKey workspace={workspace} onChange={onChange} />
      ) : (
        <KeptKey tabKey={tabKey} onChange={onChange} />
      )}
    </Card>
  );
}

function NewKey({ workspace, onChange }: Pick<KeyCardProps, 'workspace' | 'onChange'>) {
  const form = useForm('POST /v1/keys', {
    start: { credit_limit_usd: defaultLimitUsd },
    rest: { name: 'Playground', kind: 'inference', workspace_id: workspace.id },
    place: `Playground ${workspace.id}`,
    refreshes: allKeys,
    answersSecret: true,
    onSuccess: (made) => onChange(tabKeyOf(made)),
  });
  // A key of this page always has a limit.
  const limit = form.text('credit_limit_usd', { accepts: (usd) => usd != null && usd > 0 });
  return (
    <div className="space-y-4">
      {workspace.role !== 'viewer' && (
        <Form form={form} action="Create key" className="space-y-3">
          <TextField {...limit} label="Spending limit ($)" />
        </Form>
      )}
      <details open={workspace.role === 'viewer'}>
        <summary className="min-h-8 cursor-pointer text-accent">Use an existing key</summary>
        <ExistingKey onKey={(key) => onChange({ key })} />
      </details>
    </div>
  );
}

function ExistingKey({ onKey }: { onKey: (key: string) => void }) {
  const [pasted, setPasted] = useState('');
  const key = readKey(pasted);
  const isComplete = pasted.trim() === '' || key !== undefined;
  const mistake = pasted.trim().startsWith('sotto_inf_')
    ? 'This key is incomplete. Copy all of it.'
    : 'An inference key begins with sotto_inf_.';
  return (
    <Form
      form={{ submit: () => key !== undefined && onKey(key) }}
      action="Use it"
      look="plain"
      disabled={key === undefined}
      className="mt-2 space-y-3"
    >
      <TextField
        label="Inference key"
        type="password"
        autoComplete="off"
        placeholder="sotto_inf_…"
        value={pasted}
        error={isComplete ? undefined : mistake}
        onChange={({ target }) => setPasted(target.value)}
      />
    </Form>
  );
}

function KeptKey({ tabKey, onChange }: { tabKey: TabKey; onChange: KeyCardProps['onChange'] }) {
  const { key, made } = tabKey;
  return (
    <div className="flex flex-wrap items-center justify-between gap-2">
      <p className="min-w-0">
        <code className="font-mono text-sm">{`${key.slice(0, 10)}…${key.slice(-4)}`}</code>
        <span className="block text-sm text-muted">
          {made === undefined
            ? 'Your own key. This tab forgets it when you close the tab.'
            : [
                'Created for this tab.',
                ...(made.limitUsd === null ? [] : [`It can spend ${formatUsd(made.limitUsd)} in total.`]),
                ...(made.expiresAt === null ? [] : [`It expires ${formatRelative(made.expiresAt, Date.now())}.`]),
                ...(made.isCompatible ? [] : ['It works only in the private flow.']),
              ].join(' ')}
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
            <DialogButton
              small
              look="danger"
              {...asking({
                title: 'Revoke this key?',
                consequence:
                  'Requests with this key are rejected from now on. You cannot undo this, but you can create another key in one click.',
                action: 'Revoke',
                change: {
                  mutationFn: () => revokeKey(made.id),
                  refreshes: afterRevoking,
                  onSuccess: () => onChange(undefined),
                  says: 'The key is revoked.',
                },
              })}
            >
              Revoke
            </DialogButton>
          </>
        )}
      </div>
    </div>
  );
}
