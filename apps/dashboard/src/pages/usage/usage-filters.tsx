import type { KeyAnswer } from '@sotto/contract/control/keys';
import { useQuery } from '@tanstack/react-query';
import clsx from 'clsx';
import { ChevronDown, X } from 'lucide-react';
import { useState } from 'react';
import { errorAt } from '../../api/errors.ts';
import { membersQuery } from '../../api/queries.ts';
import { type UsageFilters, usageSumsQuery } from '../../api/usage.ts';
import { type Days, hourMs, minuteAt } from '../../format/days.ts';
import { Button, buttonClass } from '../../ui/button.tsx';
import { DayField, MinuteField } from '../../ui/draft-fields.tsx';
import type { Choice } from '../../ui/field.tsx';
import { Menu } from '../../ui/menu.tsx';
import { useWorkspace } from '../../workspaces/workspaces.tsx';
import { errorWords } from './request-facts.tsx';
import type { UsageNames } from './usage-points.ts';
import { isNarrowed, type UsageRange, type UsageSearch, usageRanges, withoutFilters } from './usage-search.ts';

export interface UsageFiltersProps extends UsageNames {
  readonly search: UsageSearch;
  readonly days: Days;
  readonly filters: UsageFilters;
  /** An id, or `all`. */
  readonly workspaceId: string;
  readonly keys: readonly KeyAnswer[];
  /** Whether the reader may see what each member used. */
  readonly seesMembers: boolean;
  /** The error of the query that these filters select. */
  readonly error?: Error | null;
  readonly onChange: (search: UsageSearch) => void;
}

const rangeNames: Readonly<Record<UsageRange, string>> = {
  today: 'Today',
  '7d': 'Last 7 days',
  '30d': 'Last 30 days',
  '90d': 'Last 90 days',
  month: 'This month',
  'last-month': 'Last month',
  '12m': 'Last 12 months',
};

/** What the sums or the list of requests are narrowed to, each as a chip. */
export function UsageFilterBar(props: UsageFiltersProps) {
  const { search, days, workspaceId, keys, seesMembers, error = null, onChange, nameOf } = props;
  const { workspaces } = useWorkspace();
  const [isOpened, setOpened] = useState(false);
  const used = useUsed(props, isOpened);
  const ofRequests = search.view === 'requests';
  const tags = [...new Set(keys.flatMap(({ tag }) => tag ?? []))].sort();
  const set = (change: UsageSearch): void => onChange({ ...search, ...change });
  /** A filter that may have no value. */
  const optional = <Name extends 'status' | 'error' | 'model' | 'provider' | 'key' | 'tag' | 'member'>(
    name: Name,
    label: string,
    choices: readonly Choice<NonNullable<UsageSearch[Name]>>[] | undefined,
    more: Pick<ChipProps, 'valueName'> & { readonly clears?: UsageSearch } = {},
  ): ChipProps => ({
    ...{ label, choices, value: search[name], valueName: more.valueName },
    onChange: (value) => set({ ...more.clears, [name]: value }),
    onClear: () => set({ [name]: undefined }),
  });
  const chips: readonly ChipProps[] = [
    {
      label: 'Time',
      value: timeOf(search),
      choices: timesOf(search, seesMembers),
      onChange: (time) => set(timeAfter(time, search, days)),
    },
    {
      label: 'Workspace',
      value: workspaceId,
      valueName:
        workspaceId === 'all' || workspaces.some(({ id }) => id === workspaceId) ? undefined : 'Another workspace',
      choices: [
        ...workspaces.map(({ id, name }) => ({ value: id, label: name })),
        { value: 'all', label: 'All workspaces that you pay for' },
      ],
      // A key belongs to one workspace.
      onChange: (workspace) => set({ workspace, key: undefined, tag: undefined, member: undefined }),
    },
    ...(ofRequests
      ? [
          optional('status', 'Status', statusChoices, { clears: { error: undefined } }),
          optional('error', 'Error', errorChoices, { clears: { status: undefined } }),
        ]
      : []),
    optional('model', 'Model', used.models),
    ...(ofRequests ? [optional('provider', 'Provider', used.providers)] : []),
    optional(
      'key',
      'Key',
      keys
        .filter(({ kind }) => kind === 'inference')
        .map(({ id, name, preview }) => ({ value: id, label: `${name} (${preview})` })),
      { valueName: search.key && nameOf(search.key, 'key') },
    ),
    ...(!ofRequests && (tags.length > 0 || search.tag !== undefined) ? [optional('tag', 'Tag', named(tags))] : []),
    ...((seesMembers && workspaceId !== 'all') || search.member !== undefined
      ? [optional('member', 'Member', used.members, { valueName: search.member && nameOf(search.member, 'member') })]
      : []),
  ];
  return (
    <div className="flex flex-wrap gap-2">
      {chips.map((chip) => (
        <Chip key={chip.label} {...chip} onOpen={() => setOpened(true)} />
      ))}
      {isNarrowed(search) && (
        <Button small look="quiet" onClick={() => onChange(withoutFilters(search))}>
          Clear filters
        </Button>
      )}
      {search.since !== undefined && search.until !== undefined && (
        <Minutes since={search.since} until={search.until} onChange={set} />
      )}
      {!ofRequests && search.from !== undefined && (
        <div className="flex basis-full flex-wrap gap-3">
          <DayField
            className="w-40"
            label="From"
            value={days.from}
            error={errorAt(error, 'from')}
            onChange={(from) => set({ ...days, from })}
          />
          <DayField
            className="w-40"
            label="To, inclusive"
            value={days.to}
            error={errorAt(error, 'to')}
            onChange={(to) => set({ ...days, to })}
          />
        </div>
      )}
    </div>
  );
}

const named = (names: readonly (string | null | undefined)[]): readonly Choice<string>[] =>
  names.flatMap((name) => (name === null || name === undefined ? [] : [{ value: name, label: name }]));

/** The models and providers of the time, whichever is chosen, and the members. They load when a menu first opens. */
function useUsed({ filters, workspaceId, seesMembers, nameOf }: UsageFiltersProps, enabled: boolean) {
  const whole = { ...filters, model: undefined, key_id: undefined };
  const { data: models } = useQuery({ ...usageSumsQuery(whole, ['model']), enabled });
  const { data: providers } = useQuery({ ...usageSumsQuery(whole, ['provider']), enabled });
  const { data: members } = useQuery({
    ...membersQuery(workspaceId),
    enabled: enabled && seesMembers && workspaceId !== 'all',
  });
  return {
    models: models && named(models.data.map(({ model }) => model)),
    providers: providers && named(providers.data.map(({ provider }) => provider)),
    members: members?.map(({ account_id: id, email }) => ({ value: id, label: email ?? nameOf(id, 'member') })),
  };
}

const timeOf = ({ since, hours, from, range = '30d' }: UsageSearch): string => {
  if (since !== undefined) return 'minutes';
  return hours ?? (from === undefined ? range : 'days');
};

const fromTo = 'From … to …';

const timesOf = ({ view, from, to }: UsageSearch, seesHours: boolean): readonly Choice<string>[] => {
  const ofRequests = view === 'requests';
  const chosen = from === undefined ? [] : [{ value: 'days', label: `${from} to ${to ?? ''}` }];
  return [
    ...(ofRequests ? [{ value: '1h', label: 'Last hour' }] : []),
    ...(ofRequests || seesHours ? [{ value: '24h', label: 'Last 24 hours' }] : []),
    ...usageRanges.map((range) => ({ value: range, label: rangeNames[range] })),
    ...chosen,
    ...(ofRequests
      ? [{ value: 'minutes', label: fromTo }]
      : chosen.length > 0
        ? []
        : [{ value: 'days', label: fromTo }]),
  ];
};

/** The change of a search to another time. */
function timeAfter(time: string, { from, to }: UsageSearch, days: Days): UsageSearch {
  const none = { hours: undefined, since: undefined, until: undefined, from: undefined, to: undefined };
  const now = Date.now();
  if (time === 'minutes') return { ...none, from, to, since: minuteAt(now - hourMs), until: minuteAt(now + 60_000) };
  if (time === 'days') return { ...none, range: undefined, ...days };
  const hours = time === '1h' || time === '24h' ? time : undefined;
  return { ...none, hours, range: usageRanges.find((range) => range === time) };
}

interface MinutesProps {
  readonly since: string;
  readonly until: string;
  readonly onChange: (minutes: { readonly since: string; readonly until: string }) => void;
}

/** Two minutes in UTC, as the list has them. A browser's control of a minute knows no zone. */
function Minutes({ since, until, onChange }: MinutesProps) {
  const isEmpty = since >= until;
  return (
    <div className="flex basis-full flex-wrap gap-3">
      <MinuteField
        className="w-56 max-w-full"
        label="From (UTC)"
        value={since.slice(0, -1)}
        onChange={(minute) => onChange({ since: `${minute}Z`, until })}
      />
      <MinuteField
        className="w-56 max-w-full"
        label="To (UTC), exclusive"
        value={until.slice(0, -1)}
        error={isEmpty ? 'Must be later than the beginning.' : undefined}
        onChange={(minute) => onChange({ since, until: `${minute}Z` })}
      />
    </div>
  );
}

const statusChoices = [
  { value: 'completed', label: 'Completed' },
  { value: 'failed', label: 'Failed' },
  { value: 'cancelled', label: 'Cancelled' },
] as const;

const errorChoices = (Object.keys(errorWords) as (keyof typeof errorWords)[])
  .filter((error) => error !== 'cancelled')
  .map((value) => ({ value, label: errorWords[value] }));

interface ChipProps {
  readonly label: string;
  readonly value: string | undefined;
  /** Names the value. Default: its choice does, or the value itself. */
  readonly valueName?: string | undefined;
  /** Undefined while they load. */
  readonly choices: readonly Choice<string>[] | undefined;
  readonly onChange: (value: string) => void;
  /** Absent if the filter always has a value. */
  readonly onClear?: () => void;
}

/** One filter: its name and value, a menu to choose, and a cross to remove it. */
function Chip({ label, value, valueName, choices, onChange, onClear, onOpen }: ChipProps & { onOpen: () => void }) {
  const chosen = value && (valueName ?? choices?.find((choice) => choice.value === value)?.label ?? value);
  const items = (choices ?? []).map((choice) => ({
    id: choice.value,
    label: choice.label,
    checked: choice.value === value,
    onSelect: () => onChange(choice.value),
  }));
  return (
    <span className="inline-flex max-w-full">
      <Menu
        align="start"
        onOpen={onOpen}
        trigger={
          <Button
            small
            className={clsx(
              'min-w-0',
              onClear !== undefined && value !== undefined && 'border-accent! bg-accent-soft!',
            )}
          >
            <span title={chosen} className="max-w-64 truncate">
              {chosen ? `${label}: ${chosen}` : label}
            </span>
            <ChevronDown aria-hidden className="size-3.5 shrink-0" />
          </Button>
        }
        heading={choices === undefined ? 'Loading…' : items.length === 0 ? 'None in this time' : undefined}
        groups={items.length === 0 ? [] : [items]}
      />
      {onClear !== undefined && value !== undefined && (
        <button
          type="button"
          aria-label={`Remove the filter ${label}`}
          onClick={onClear}
          className={buttonClass('quiet', true)}
        >
          <X aria-hidden className="size-3.5" />
        </button>
      )}
    </span>
  );
}
