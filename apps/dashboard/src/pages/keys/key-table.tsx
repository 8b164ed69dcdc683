import type { KeyAnswer } from '@sotto/contract/control/keys';
import type { BudgetAnswer, WorkspaceAnswer } from '@sotto/contract/control/workspaces';
import { useRouter } from '@tanstack/react-router';
import clsx from 'clsx';
import { Activity } from 'lucide-react';
import { dayMs } from '../../format/days.ts';
import {
  formatCountOf,
  formatInstant,
  formatLastDay,
  formatUsd,
  type UsdDigits,
  usdDigitsOf,
} from '../../format/format.ts';
import { Badge, type Tone } from '../../ui/badge.tsx';
import { Rows } from '../../ui/resource.tsx';
import type { Column } from '../../ui/table.tsx';
import { Instant, ShareBar, Truncated, Usd } from '../../ui/text.tsx';
import { changesOf, revokeOf } from './key-actions.tsx';
import { limitOf, limitTones, mayChange, mayChangeAllKeys } from './key-rules.ts';

interface KeyTableProps {
  readonly keys: readonly KeyAnswer[];
  /** Replaces the table if the filter leaves no key. */
  readonly empty: string;
  readonly workspace: WorkspaceAnswer;
  /** The account of the user. Undefined until the members are loaded. */
  readonly ownAccountId: string | undefined;
  /** Names the account that created a key. Undefined until the members are loaded. */
  readonly ownerOf: (key: KeyAnswer) => string | undefined;
  /** Whether an operator disabled the account that created a key, so that the key does not work. */
  readonly isOwnerDisabled: (key: KeyAnswer) => boolean;
  /** The monthly budget of each key that has one. */
  readonly budgets: ReadonlyMap<string, BudgetAnswer>;
  readonly selected: ReadonlySet<string>;
  readonly onSelect: (key: KeyAnswer, isSelected: boolean) => void;
}

export function KeyTable(props: KeyTableProps) {
  const { keys, empty, workspace, ownAccountId, ownerOf, isOwnerDisabled, budgets, selected, onSelect } = props;
  const router = useRouter();
  const may = (key: KeyAnswer): boolean => mayChange(key, { role: workspace.role, accountId: ownAccountId });
  const columns: readonly Column<KeyAnswer>[] = [
    {
      title: 'Key',
      heading: true,
      sortBy: ({ name }) => name.toLowerCase(),
      cell: (key) => (
        <span className="flex items-start gap-3">
          {may(key) && (
            <input
              type="checkbox"
              aria-label={`Select ${key.name}`}
              checked={selected.has(key.id)}
              onChange={(event) => onSelect(key, event.target.checked)}
              className="mt-1 size-4 shrink-0 accent-accent"
            />
          )}
          <Name apiKey={key} />
        </span>
      ),
    },
    {
      title: 'Owner',
      onNarrow: ({ created_by }) => created_by !== ownAccountId,
      sortBy: (key) => ownerOf(key) ?? '',
      cell: (key) => (
        <span className="block text-sm">
          <Truncated text={ownerOf(key) ?? '…'} className="md:max-w-32 xl:max-w-44" />
          <span className="block text-xs text-muted" title={formatInstant(key.created_at)}>
            created <Instant at={key.created_at} />
          </span>
        </span>
      ),
    },
    {
      title: 'Last used',
      sortBy: (key) => lastUse(key) ?? '',
      cell: (key) => {
        const at = lastUse(key);
        return <span className="text-sm">{at === null ? <Muted>never</Muted> : <Instant at={at} />}</span>;
      },
    },
    {
      title: 'Spent',
      cell: (key, rows) => (
        <Spent apiKey={key} budget={budgets.get(key.id)} digits={usdDigitsOf(rows.map(({ spent_usd }) => spent_usd))} />
      ),
      sortBy: ({ spent_usd }) => spent_usd,
    },
    {
      title: 'Expires',
      onNarrow: ({ expires_at }) => expires_at !== null,
      sortBy: ({ expires_at }) => expires_at ?? '~',
      cell: ({ expires_at }) => (
        <span className="text-sm whitespace-nowrap">
          {expires_at === null ? <Muted>never</Muted> : <Expiry at={expires_at} />}
        </span>
      ),
    },
    {
      title: 'State',
      sortBy: (key) => stateOf(key, isOwnerDisabled(key)).name,
      cell: (key) => <State apiKey={key} isOwnerDisabled={isOwnerDisabled(key)} />,
    },
  ];
  return (
    <Rows
      caption="Keys"
      columns={columns}
      rows={keys}
      empty={empty}
      rowKey={({ id }) => id}
      pageSize={25}
      nameOf={({ name }) => name}
      actions={(key) => {
        const usage = {
          label: 'Its usage',
          icon: Activity,
          does: () => void router.navigate({ to: '/usage', search: { key: key.id } }),
        };
        return may(key) ? [...changesOf(key, mayChangeAllKeys(workspace.role)), usage, revokeOf(key)] : [usage];
      }}
    />
  );
}

const Muted = ({ children }: { children: string }) => <span className="text-muted">{children}</span>;

/** The last use is known to the minute, which may have begun before the key was made. */
const lastUse = ({ last_used_at: used, created_at: created }: KeyAnswer): string | null =>
  used !== null && used < created ? created : used;

function Name({ apiKey: { name, preview, kind, openai_compatible, allowed_models, tag } }: { apiKey: KeyAnswer }) {
  const notes = [
    ...(kind === 'management' ? ['Management'] : openai_compatible ? [] : ['Tickets only']),
    ...(tag === null ? [] : [tag]),
    ...(allowed_models === null ? [] : [formatCountOf(allowed_models.length, 'model')]),
  ];
  return (
    <span className="block min-w-0">
      <Truncated text={name} className="md:max-w-44 xl:max-w-60" />
      <span className="block text-xs font-normal text-muted">
        <span className="font-mono">{preview}</span>
        <span title={allowed_models?.join(', ')}>{notes.map((note) => ` · ${note}`).join('')}</span>
      </span>
    </span>
  );
}

type KeyState = { readonly name: string; readonly tone: Tone };

/** Whether requests with a key are served, and if not, why. */
function stateOf(key: KeyAnswer, isOwnerDisabled: boolean): KeyState {
  if (key.revoked_at !== null) return { name: 'Revoked', tone: 'danger' };
  if (isOwnerDisabled) return { name: 'Owner disabled', tone: 'danger' };
  if (key.disabled_at !== null)
    return { name: key.locked.includes('disabled') ? 'Disabled by an admin' : 'Disabled', tone: 'neutral' };
  if (key.expires_at !== null && Date.parse(key.expires_at) <= Date.now()) return { name: 'Expired', tone: 'danger' };
  const limit = limitOf(key)?.state;
  if (limit === 'reached') return { name: 'Limit reached', tone: 'danger' };
  if (limit === 'near') return { name: 'Near its limit', tone: 'warn' };
  return { name: 'Active', tone: 'good' };
}

function State({ apiKey, isOwnerDisabled }: { apiKey: KeyAnswer; isOwnerDisabled: boolean }) {
  const { name, tone } = stateOf(apiKey, isOwnerDisabled);
  const at = apiKey.revoked_at ?? apiKey.disabled_at;
  const ends = apiKey.revoked_at === null ? apiKey.old_secrets.at(-1)?.ends_at : undefined;
  return (
    <span className="block" title={at === null ? undefined : `since ${formatInstant(at)}`}>
      <Badge tone={tone}>{name}</Badge>
      {ends !== undefined && (
        <span
          className="block max-w-40 text-xs text-muted"
          title={apiKey.old_secrets
            .map(({ preview, ends_at }) => `${preview} until ${formatInstant(ends_at)}`)
            .join('\n')}
        >
          old secret until {formatInstant(ends)}
        </span>
      )}
    </span>
  );
}

const soonMs = 7 * dayMs;

/** The last day on which a key works, where the user is. */
function Expiry({ at }: { at: string }) {
  const leftMs = Date.parse(at) - Date.now();
  return (
    <span title={formatInstant(at)} className={clsx(leftMs < soonMs && 'text-danger')}>
      {formatLastDay(at)}
    </span>
  );
}

/** The total beside its limit, and this month beside the key's monthly budget. */
function Spent({ apiKey, budget, digits }: { apiKey: KeyAnswer; budget: BudgetAnswer | undefined; digits: UsdDigits }) {
  if (apiKey.kind === 'management') return <Muted>–</Muted>;
  const limit = limitOf(apiKey);
  return (
    <span className="inline-block space-y-1 text-sm tabular-nums md:whitespace-nowrap">
      <span className="block">
        <Usd usd={apiKey.spent_usd} digits={digits} />{' '}
        {limit !== undefined && <span className="text-muted">of {formatUsd(limit.limitUsd)}</span>}
      </span>
      {limit !== undefined && <ShareBar share={limit.share} tone={limitTones[limit.state]} />}
      {budget !== undefined && (
        <span className="block text-xs text-muted">
          <Usd usd={budget.spent_usd} /> of {formatUsd(budget.limit_usd)} this month
        </span>
      )}
    </span>
  );
}
