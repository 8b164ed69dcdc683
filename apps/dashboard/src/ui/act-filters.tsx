import type { ActName } from '@sotto/contract/control/audit';
import type { ReactNode } from 'react';
import { addDays } from '../format/days.ts';
import type { ActSearch } from './act-search.ts';
import { Button } from './button.tsx';
import { DayField } from './draft-fields.tsx';
import { SelectField } from './field.tsx';

/** The acts of each kind, by its name in the address. */
export type ActKinds = Readonly<Record<string, { readonly label: string; readonly acts: readonly ActName[] }>>;

/** What can be done in a workspace. */
export const workspaceKinds: ActKinds = {
  members: {
    label: 'Members and invitations',
    acts: ['invitation_created', 'invitation_withdrawn', 'member_joined', 'member_role_changed', 'member_removed'],
  },
  keys: {
    label: 'Keys',
    acts: ['key_created', 'key_changed', 'key_disabled', 'key_enabled', 'key_rotated', 'key_revoked'],
  },
  budgets: {
    label: 'Budgets and alerts',
    acts: ['budget_set', 'budget_removed', 'budget_settings_set', 'webhook_set', 'webhook_removed'],
  },
  routing: { label: 'Routing', acts: ['preferences_changed'] },
  policy: { label: 'Policy', acts: ['policy_changed'] },
  workspace: {
    label: 'Workspace',
    acts: ['workspace_created', 'workspace_renamed', 'workspace_transferred', 'workspace_deleted'],
  },
};

/** The query of a search, without who acted. */
export const askedOf = ({ kind, from, to }: ActSearch, kinds: ActKinds) => ({
  act: kinds[kind ?? '']?.acts.join(),
  from,
  to: to && addDays(to, 1),
});

/** Whether any filter is set. */
export const isNarrowed = (search: ActSearch): boolean => Object.values(search).some((filter) => filter !== undefined);

interface ActFiltersProps {
  readonly kinds: ActKinds;
  readonly search: ActSearch;
  readonly onChange: (search: ActSearch) => void;
  /** The fields that select who acted. */
  readonly children: ReactNode;
}

/** The filters of an audit log: the kind of act, who acted, and when. */
export function ActFilters({ kinds, search, onChange, children }: ActFiltersProps) {
  const day = (field: 'from' | 'to', label: string) => (
    <DayField
      className="md:w-40"
      label={label}
      mayBeEmpty
      value={search[field] ?? ''}
      onChange={(chosen) => onChange({ ...search, [field]: chosen === '' ? undefined : chosen })}
    />
  );
  return (
    <div className="grid items-start gap-3 sm:grid-cols-2 md:flex md:flex-wrap">
      <SelectField
        className="md:w-56"
        label="Kind"
        value={kinds[search.kind ?? ''] === undefined ? '' : (search.kind ?? '')}
        choices={[
          { value: '', label: 'All kinds' },
          ...Object.entries(kinds).map(([value, { label }]) => ({ value, label })),
        ]}
        onChange={(kind) => onChange({ ...search, kind: kind === '' ? undefined : kind })}
      />
      {children}
      {day('from', 'From (UTC)')}
      {day('to', 'To, inclusive')}
      {isNarrowed(search) && (
        <Button look="quiet" className="self-end" onClick={() => onChange({})}>
          Clear filters
        </Button>
      )}
    </div>
  );
}
