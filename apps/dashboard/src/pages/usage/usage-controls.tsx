import type { KeyAnswer } from '@sotto/contract/control/keys';
import { useQuery } from '@tanstack/react-query';
import { errorAt } from '../../api/errors.ts';
import { membersQuery } from '../../api/queries.ts';
import { type UsageFilters, usageSumsQuery } from '../../api/usage.ts';
import { Button } from '../../ui/button.tsx';
import { Combobox } from '../../ui/combobox.tsx';
import { DayField } from '../../ui/draft-fields.tsx';
import { type Choice, SelectField } from '../../ui/field.tsx';
import { useWorkspace } from '../../workspaces/workspaces.tsx';
import type { Days } from './days.ts';
import type { UsageNames } from './usage-points.ts';
import { type UsageRange, type UsageSearch, usageRanges } from './usage-search.ts';

export interface UsageControlsProps extends UsageNames {
  readonly search: UsageSearch;
  readonly days: Days;
  readonly filters: UsageFilters;
  /** An id, or `all`. */
  readonly workspaceId: string;
  readonly keys: readonly KeyAnswer[];
  /** Whether the reader may see what each member used. */
  readonly seesMembers: boolean;
  /** The error of the query that these controls select. */
  readonly error: Error | null;
  readonly onChange: (search: UsageSearch) => void;
}

export const rangeNames: Readonly<Record<UsageRange, string>> = {
  '7d': 'Last 7 days',
  '30d': 'Last 30 days',
  '90d': 'Last 90 days',
  month: 'This month',
  'last-month': 'Last month',
  '12m': 'Last 12 months',
};

/** Which days, workspace, model, key, tag and member. */
export function UsageControls(props: UsageControlsProps) {
  const { search, days, filters, workspaceId, keys, seesMembers, error, onChange, nameOf } = props;
  const { workspaces } = useWorkspace();
  const isCustom = search.from !== undefined;
  const models = useModels(filters);
  const range: UsageRange | 'custom' = isCustom ? 'custom' : (search.range ?? '30d');
  const ranges: readonly Choice<UsageRange | 'custom'>[] = [
    ...usageRanges.map((value) => ({ value, label: rangeNames[value] })),
    { value: 'custom', label: 'From … to …' },
  ];
  const tags = [...new Set(keys.flatMap(({ tag }) => tag ?? []))].sort();
  const { data: members = [] } = useQuery({
    ...membersQuery(workspaceId),
    enabled: seesMembers && workspaceId !== 'all',
  });
  const isNarrowed = [search.model, search.key, search.tag, search.member].some((filter) => filter !== undefined);
  return (
    <div className="grid grid-cols-2 items-start gap-3 md:flex md:flex-wrap">
      <SelectField
        className="md:w-44"
        label="Days"
        value={range}
        choices={ranges}
        onChange={(chosen) =>
          onChange(
            chosen === 'custom'
              ? { ...search, range: undefined, ...days }
              : { ...search, range: chosen, from: undefined, to: undefined },
          )
        }
      />
      {isCustom && (
        <>
          <DayField
            className="md:w-40"
            label="From"
            value={days.from}
            error={errorAt(error, 'from')}
            onChange={(from) => onChange({ ...search, ...days, from })}
          />
          <DayField
            className="md:w-40"
            label="To, inclusive"
            value={days.to}
            error={errorAt(error, 'to')}
            onChange={(to) => onChange({ ...search, ...days, to })}
          />
        </>
      )}
      <SelectField
        className="md:w-52"
        label="Workspace"
        value={workspaceId}
        choices={[
          ...workspaces.map(({ id, name }) => ({ value: id, label: name })),
          ...(workspaceId === 'all' || workspaces.some(({ id }) => id === workspaceId)
            ? []
            : [{ value: workspaceId, label: 'Another workspace' }]),
          { value: 'all', label: 'All workspaces that you pay for' },
        ]}
        // A key belongs to one workspace.
        onChange={(workspace) => onChange({ ...search, workspace, key: undefined, tag: undefined, member: undefined })}
      />
      <SelectField
        className="md:w-52"
        label="Model"
        value={search.model ?? ''}
        choices={choicesWith(
          'All models',
          models.map((model) => ({ value: model, label: model })),
          search.model,
          (model) => model,
        )}
        onChange={(model) => onChange({ ...search, model: model === '' ? undefined : model })}
      />
      <Combobox
        className="md:w-52"
        label="Key"
        value={search.key ?? ''}
        options={choicesWith(
          'All keys',
          keys
            .filter(({ kind }) => kind === 'inference')
            .map(({ id, name, revoked_at }) => ({
              value: id,
              label: revoked_at === null ? name : `${name} (revoked)`,
            })),
          search.key,
          (key) => nameOf(key, 'key'),
        )}
        onChange={(key) => onChange({ ...search, key: key === '' ? undefined : key })}
      />
      {(tags.length > 0 || search.tag !== undefined) && (
        <SelectField
          className="md:w-52"
          label="Tag"
          value={search.tag ?? ''}
          choices={choicesWith(
            'All tags',
            tags.map((tag) => ({ value: tag, label: tag })),
            search.tag,
            (tag) => tag,
          )}
          onChange={(tag) => onChange({ ...search, tag: tag === '' ? undefined : tag })}
        />
      )}
      {(members.length > 1 || search.member !== undefined) && (
        <Combobox
          className="md:w-52"
          label="Member"
          value={search.member ?? ''}
          options={choicesWith(
            'All members',
            members.map(({ account_id, email }) => ({
              value: account_id,
              label: email ?? nameOf(account_id, 'member'),
            })),
            search.member,
            (member) => nameOf(member, 'member'),
          )}
          onChange={(member) => onChange({ ...search, member: member === '' ? undefined : member })}
        />
      )}
      {isNarrowed && (
        <Button
          look="quiet"
          className="self-end"
          onClick={() => onChange({ ...search, model: undefined, key: undefined, tag: undefined, member: undefined })}
        >
          Clear filters
        </Button>
      )}
    </div>
  );
}

/** The choices, and the chosen one if it is not among them. */
function choicesWith(
  all: string,
  choices: readonly Choice<string>[],
  chosen: string | undefined,
  nameOf: (value: string) => string,
): readonly Choice<string>[] {
  const isListed = chosen === undefined || choices.some(({ value }) => value === chosen);
  return [{ value: '', label: all }, ...choices, ...(isListed ? [] : [{ value: chosen, label: nameOf(chosen) }])];
}

/** The models that were used in these days, whichever model is chosen. */
function useModels(filters: UsageFilters): readonly string[] {
  const { data } = useQuery(usageSumsQuery({ ...filters, model: undefined }, ['model']));
  return (data?.data ?? []).flatMap(({ model }) => model ?? []);
}
