import type { KeyAnswer, WorkspaceAnswer } from '@sotto/wire';
import { useQuery } from '@tanstack/react-query';
import { useRouter } from '@tanstack/react-router';
import { Activity, Ban, Ellipsis, Pencil } from 'lucide-react';
import { membersQuery } from '../../api/members.ts';
import { formatUsd } from '../../format/money.ts';
import { useSignedIn } from '../../session/session.ts';
import { Badge } from '../../ui/badge.tsx';
import { IconButton } from '../../ui/button.tsx';
import { Instant } from '../../ui/instant.tsx';
import { Menu } from '../../ui/menu.tsx';
import { ShareBar } from '../../ui/share-bar.tsx';
import { Skeleton } from '../../ui/skeleton.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { type LimitState, limitOf, mayChange } from './key-rules.ts';

export interface KeyTableProps {
  readonly keys: readonly KeyAnswer[];
  readonly workspace: WorkspaceAnswer;
  readonly onDeed: (what: 'change' | 'revoke', key: KeyAnswer) => void;
}

export function KeyTable({ keys, workspace, onDeed }: KeyTableProps) {
  const { data: members } = useQuery(membersQuery(workspace.id));
  const user = useSignedIn();
  const router = useRouter();
  const emailOf = new Map(members?.map(({ account_id, email }) => [account_id, email]));
  const ownAccountId = members?.find(({ email }) => email !== null && email === user?.email)?.account_id;
  const columns: readonly Column<KeyAnswer>[] = [
    { title: 'Key', heading: true, cell: (key) => <Name apiKey={key} /> },
    { title: 'Opens', cell: (key) => <span className="text-sm">{opens(key)}</span> },
    { title: 'Spent', cell: (key) => <Spent apiKey={key} /> },
    {
      title: 'Last used',
      cell: ({ last_used_at }) =>
        last_used_at === null ? <span className="text-muted">never</span> : <Instant at={last_used_at} />,
    },
    {
      title: 'Made',
      cell: ({ created_by, created_at }) => (
        <span className="text-sm">
          <Instant at={created_at} />
          <span className="block break-all text-muted">
            {members === undefined ? (
              <Skeleton className="h-4 w-20" />
            ) : created_by === ownAccountId ? (
              'by you'
            ) : (
              `by ${emailOf.get(created_by) ?? 'somebody who is no longer here'}`
            )}
          </span>
        </span>
      ),
    },
    {
      title: 'Actions',
      hiddenTitle: true,
      numeric: true,
      cell: (key) => {
        const reader = { role: workspace.role, accountId: ownAccountId };
        const usage = {
          label: 'Its usage',
          icon: <Activity aria-hidden className="size-4" />,
          onSelect: () => void router.navigate({ to: '/usage', search: { key: key.id } }),
        };
        const change = {
          label: 'Change',
          icon: <Pencil aria-hidden className="size-4" />,
          onSelect: () => onDeed('change', key),
        };
        const revoke = {
          label: 'Revoke',
          icon: <Ban aria-hidden className="size-4" />,
          danger: true,
          onSelect: () => onDeed('revoke', key),
        };
        const changes = mayChange(key, reader) ? [change] : [];
        return (
          <Menu
            trigger={
              <IconButton label={`Actions for ${key.name}`} icon={<Ellipsis aria-hidden className="size-5" />} />
            }
            groups={mayChange(key, reader) ? [[...changes, usage], [revoke]] : [[usage]]}
          />
        );
      },
    },
  ];
  return <Table caption="Keys" columns={columns} rows={keys} rowKey={({ id }) => id} />;
}

function Name({ apiKey: { name, preview, kind, revoked_at } }: { apiKey: KeyAnswer }) {
  return (
    <span className="block">
      <span className="flex flex-wrap items-center gap-2">
        <span className="min-w-0 break-words">{name}</span>
        {kind === 'management' && <Badge tone="violet">Management</Badge>}
        {revoked_at !== null && <Badge tone="danger">Revoked</Badge>}
      </span>
      <span className="block font-mono text-xs font-normal break-all text-muted">{preview}</span>
      {revoked_at !== null && (
        <span className="block text-xs font-normal text-muted">
          revoked <Instant at={revoked_at} />
        </span>
      )}
    </span>
  );
}

function opens({ kind, openai_compatible }: KeyAnswer): string {
  if (kind === 'management') return 'Balance and usage';
  return openai_compatible ? 'OpenAI clients, tickets' : 'Tickets only';
}

const tones = { open: 'accent', near: 'warn', reached: 'danger' } as const satisfies Record<LimitState, string>;

function Spent({ apiKey }: { apiKey: KeyAnswer }) {
  if (apiKey.kind === 'management') return <span className="text-muted">–</span>;
  const limit = limitOf(apiKey);
  const spent = <span className="tabular-nums">{formatUsd(apiKey.spent_usd)}</span>;
  if (limit === undefined) {
    return (
      <span className="text-sm">
        {spent} <span className="text-muted">no limit</span>
      </span>
    );
  }
  return (
    <span className="inline-block w-40 max-w-full space-y-1 text-sm">
      <span className="block">
        {spent} <span className="text-muted">of {formatUsd(limit.limitUsd)}</span>
      </span>
      <ShareBar share={limit.share} tone={tones[limit.state]} />
      {limit.state !== 'open' && (
        <Badge tone={limit.state === 'reached' ? 'danger' : 'warn'}>
          {limit.state === 'reached' ? 'Limit reached' : 'Nearly at its limit'}
        </Badge>
      )}
    </span>
  );
}
