import { useQuery } from '@tanstack/react-query';
import clsx from 'clsx';
import { ChevronDown, X } from 'lucide-react';
import { membersQuery } from '../../api/queries.ts';
import { usageSumsQuery } from '../../api/usage.ts';
import { Button, buttonClass } from '../../ui/button.tsx';
import { MinuteField } from '../../ui/draft-fields.tsx';
import type { Choice } from '../../ui/field.tsx';
import { Menu } from '../../ui/menu.tsx';
import { useWorkspace } from '../../workspaces/workspaces.tsx';
import { minuteAt } from './days.ts';
import { errorWords } from './request-facts.tsx';
import { rangeNames, type UsageControlsProps } from './usage-controls.tsx';
import { type UsageSearch, usageRanges } from './usage-search.ts';

type RequestFiltersProps = Omit<UsageControlsProps, 'days' | 'error'>;

/** What the list of requests is narrowed to, each as a chip. */
export function RequestFilters({
  search,
  filters,
  workspaceId,
  keys,
  seesMembers,
  onChange,
  nameOf,
}: RequestFiltersProps) {
  const { workspaces } = useWorkspace();
  const seesAll = seesMembers && workspaceId !== 'all';
  const { data: members = [] } = useQuery({ ...membersQuery(workspaceId), enabled: seesAll });
  const whole = { ...filters, model: undefined, key_id: undefined };
  const { data: models } = useQuery(usageSumsQuery(whole, ['model']));
  const { data: providers } = useQuery(usageSumsQuery(whole, ['provider']));
  const named = (names: readonly (string | null | undefined)[] | undefined): Choice<string>[] =>
    (names ?? []).flatMap((name) => (name === null || name === undefined ? [] : [{ value: name, label: name }]));
  const set = (change: UsageSearch): void => onChange({ ...search, ...change });
  return (
    <div className="flex flex-wrap gap-2">
      <Chip
        label="Time"
        value={timeOf(search)}
        choices={[
          { value: '1h', label: 'Last hour' },
          { value: '24h', label: 'Last 24 hours' },
          ...usageRanges.map((range) => ({ value: range, label: rangeNames[range] })),
          ...(search.from === undefined ? [] : [{ value: 'days', label: `${search.from} to ${search.to ?? ''}` }]),
          { value: 'minutes', label: 'From … to …' },
        ]}
        onChange={(time) => {
          if (time === 'minutes') return set({ hours: undefined, ...lastHour() });
          const hours = time === '1h' || time === '24h' ? time : undefined;
          const range = usageRanges.find((one) => one === time);
          const minutes = { since: undefined, until: undefined };
          set({ hours, ...minutes, ...(time === 'days' ? {} : { range, from: undefined, to: undefined }) });
        }}
      />
      <Chip
        label="Workspace"
        value={workspaceId}
        choices={[
          ...workspaces.map(({ id, name }) => ({ value: id, label: name })),
          { value: 'all', label: 'All that you pay for' },
        ]}
        onChange={(workspace) => set({ workspace, key: undefined, member: undefined })}
      />
      <Chip
        label="Status"
        value={search.status}
        choices={[
          { value: 'completed', label: 'Completed' },
          { value: 'failed', label: 'Failed' },
          { value: 'cancelled', label: 'Cancelled' },
        ]}
        onClear={() => set({ status: undefined })}
        onChange={(status) => set({ status, error: undefined })}
      />
      <Chip
        label="Error"
        value={search.error}
        choices={errorChoices}
        onClear={() => set({ error: undefined })}
        onChange={(error) => set({ error, status: undefined })}
      />
      <Chip
        label="Model"
        value={search.model}
        choices={named(models?.data.map(({ model }) => model))}
        onClear={() => set({ model: undefined })}
        onChange={(model) => set({ model })}
      />
      <Chip
        label="Provider"
        value={search.provider}
        choices={named(providers?.data.map(({ provider }) => provider))}
        onClear={() => set({ provider: undefined })}
        onChange={(provider) => set({ provider })}
      />
      <Chip
        label="Key"
        value={search.key}
        valueName={search.key && nameOf(search.key, 'key')}
        choices={keys.filter(({ kind }) => kind === 'inference').map(({ id, name }) => ({ value: id, label: name }))}
        onClear={() => set({ key: undefined })}
        onChange={(key) => set({ key })}
      />
      {(seesAll || search.member !== undefined) && (
        <Chip
          label="Member"
          value={search.member}
          choices={members.map(({ account_id: id, email }) => ({
            value: id,
            label: email ?? `Member ${id.slice(0, 8)}`,
          }))}
          onClear={() => set({ member: undefined })}
          onChange={(member) => set({ member })}
        />
      )}
      {isNarrowed(search) && (
        <Button small look="quiet" onClick={() => onChange(withoutFilters(search))}>
          Clear filters
        </Button>
      )}
      {search.since !== undefined && search.until !== undefined && (
        <Minutes since={search.since} until={search.until} onChange={set} />
      )}
    </div>
  );
}

const timeOf = ({ since, hours, from, range = '30d' }: UsageSearch): string => {
  if (since !== undefined) return 'minutes';
  return hours ?? (from === undefined ? range : 'days');
};

const lastHour = () => ({ since: minuteAt(Date.now() - 3_600_000), until: minuteAt(Date.now() + 60_000) });

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

const errorChoices = (Object.keys(errorWords) as (keyof typeof errorWords)[])
  .filter((error) => error !== 'cancelled')
  .map((value) => ({ value, label: errorWords[value] }));

export const isNarrowed = ({ status, error, model, provider, key, member }: UsageSearch): boolean =>
  [status, error, model, provider, key, member].some((filter) => filter !== undefined);

export const withoutFilters = (search: UsageSearch): UsageSearch => ({
  ...search,
  status: undefined,
  error: undefined,
  model: undefined,
  provider: undefined,
  key: undefined,
  member: undefined,
});

interface ChipProps<Value extends string> {
  readonly label: string;
  readonly value: Value | undefined;
  /** Names a value that is not among the choices. Default: the value. */
  readonly valueName?: string | undefined;
  readonly choices: readonly Choice<Value>[];
  readonly onChange: (value: Value) => void;
  /** Absent if the filter always has a value. */
  readonly onClear?: () => void;
}

/** One filter: its name and value, a menu to choose, and a cross to remove it. */
function Chip<Value extends string>({ label, value, valueName, choices, onChange, onClear }: ChipProps<Value>) {
  const chosen = value && (choices.find((choice) => choice.value === value)?.label ?? valueName ?? value);
  const items = choices.map((choice) => ({
    label: choice.label,
    checked: choice.value === value,
    onSelect: () => onChange(choice.value),
  }));
  return (
    <span className="inline-flex max-w-full">
      <Menu
        align="start"
        trigger={
          <Button
            small
            className={clsx('min-w-0', onClear !== undefined && value !== undefined && 'border-accent bg-accent-soft')}
          >
            <span title={chosen} className="max-w-64 truncate">
              {chosen ? `${label}: ${chosen}` : label}
            </span>
            <ChevronDown aria-hidden className="size-3.5 shrink-0" />
          </Button>
        }
        heading={items.length === 0 ? 'None in this time' : undefined}
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
