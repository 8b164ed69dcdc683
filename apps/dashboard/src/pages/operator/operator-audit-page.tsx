import { useInfiniteQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { addressOf } from '../../api/call.ts';
import { ActFilters, type ActKinds, askedOf, isNarrowed, workspaceKinds } from '../../ui/act-filters.tsx';
import { type Actor, type ActSearch, actors } from '../../ui/act-search.ts';
import { ActsTable } from '../../ui/acts-table.tsx';
import { DownloadLink } from '../../ui/button.tsx';
import { SearchField } from '../../ui/draft-fields.tsx';
import { SelectField } from '../../ui/field.tsx';
import { Card, Page } from '../../ui/surface.tsx';
import { operatorActsQuery } from './operator-queries.ts';

const kinds: ActKinds = {
  accounts: {
    label: 'Accounts',
    acts: [
      ...(['account_created', 'password_link_created', 'account_disabled', 'account_enabled'] as const),
      ...(['account_deleted', 'address_changed', 'operator_granted', 'operator_revoked'] as const),
    ],
  },
  'sign-up': { label: 'Sign-up', acts: ['sign_up_invited', 'sign_up_invitation_withdrawn'] },
  money: {
    label: 'Money',
    acts: [
      ...(['account_credited', 'account_grant_set', 'order_refunded', 'settlement_dismissed'] as const),
      ...(['credit_permission_created', 'credit_permission_revoked'] as const),
    ],
  },
  ...workspaceKinds,
  apps: { label: 'Connected apps', acts: ['app_secret_rotated', 'app_disabled'] },
};

const actorNames: Readonly<Record<Actor, string>> = {
  account: 'Members',
  operator: 'Operators',
  command_line: 'Command line',
  identity_provider: 'Identity provider',
  app: 'Connected apps',
};

/** `/operator/audit`: who did what, in every workspace and as an operator. */
export function OperatorAuditPage() {
  const search = useSearch({ from: '/session/operator/audit' });
  const navigate = useNavigate();
  const asked = { ...askedOf(search, kinds), actor: search.actor, search: search.q };
  const change = (next: ActSearch) =>
    void navigate({ to: '/operator/audit', search: next, replace: true, resetScroll: false });
  return (
    <Page
      title="Deployment audit log"
      lead="Events of this deployment: of operators, and of members in workspaces. It holds ids and amounts, and cannot be changed."
      actions={
        <DownloadLink href={addressOf('GET /v1/operator/audit', { query: { ...asked, format: 'csv' } })}>
          Export
        </DownloadLink>
      }
    >
      <ActFilters kinds={kinds} search={search} onChange={change}>
        <SelectField
          className="md:w-44"
          label="By"
          value={search.actor ?? ''}
          choices={[
            { value: '', label: 'All actors' },
            ...actors.map((value) => ({ value, label: actorNames[value] })),
          ]}
          onChange={(actor) => change({ ...search, actor: actor === '' ? undefined : actor })}
        />
        <SearchField
          className="self-end md:w-72"
          label="Part of an address, or an account id"
          value={search.q ?? ''}
          onChange={(typed) => change({ ...search, q: typed.trim() === '' ? undefined : typed.trim() })}
        />
      </ActFilters>
      <Card>
        <ActsTable
          caption="Events, newest first"
          query={useInfiniteQuery(operatorActsQuery(asked))}
          showsWorkspace
          onClear={isNarrowed(search) ? () => change({}) : undefined}
        />
      </Card>
    </Page>
  );
}
