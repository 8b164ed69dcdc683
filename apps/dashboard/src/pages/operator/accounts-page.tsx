import type { AccountAnswer } from '@sotto/contract/control/operator';
import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { addressOf } from '../../api/call.ts';
import { formatDay } from '../../format/format.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button, DownloadLink, linkClass } from '../../ui/button.tsx';
import { TextField } from '../../ui/field.tsx';
import { Form } from '../../ui/form.tsx';
import { Card, Page } from '../../ui/surface.tsx';
import { type Column, PagedTable, usdColumn } from '../../ui/table.tsx';
import { accountsQuery } from './operator-queries.ts';

const columns: readonly Column<AccountAnswer>[] = [
  {
    title: 'Account',
    heading: true,
    cell: ({ id, email, name }) => (
      <>
        <Link to="/operator/accounts/$accountId" params={{ accountId: id }} className={`${linkClass} wrap-anywhere`}>
          {email ?? id}
        </Link>
        {name !== null && name !== email && (
          <span className="block text-xs font-normal wrap-anywhere text-muted">{name}</span>
        )}
      </>
    ),
  },
  { title: 'State', cell: (account) => <AccountState account={account} /> },
  usdColumn('Balance', ({ balance_usd }) => balance_usd),
  usdColumn('Used this month', ({ used_this_month_usd }) => used_this_month_usd),
  usdColumn('Paid this month', ({ spent_this_month_usd }) => spent_this_month_usd),
  { title: 'Last used', cell: ({ last_used_on }) => (last_used_on === null ? 'Never' : formatDay(last_used_on)) },
];

const stateWords = { active: 'Active', disabled: 'Disabled', deleted: 'Deleted' } as const;

/** Whether an account works, and whether its person is an operator. */
export function AccountState({ account: { state, is_operator } }: { account: AccountAnswer }) {
  return (
    <span className="inline-flex flex-wrap gap-2">
      <Badge tone={state === 'active' ? 'good' : 'danger'}>{stateWords[state]}</Badge>
      {is_operator && <Badge tone="accent">Operator</Badge>}
    </span>
  );
}

/** `/operator/accounts`: all accounts, without their requests, models and keys. */
export function AccountsPage() {
  const [typed, setTyped] = useState('');
  const [search, setSearch] = useState('');
  const searched = { search: search === '' ? undefined : search };
  const accounts = useInfiniteQuery(accountsQuery(search));
  return (
    <Page
      title="Accounts"
      lead="Operators see balances and spend: what a person’s keys used, in any workspace, and what the account paid. They see no content, and no model or key of a request."
      actions={
        <DownloadLink href={addressOf('GET /v1/operator/accounts', { query: { ...searched, format: 'csv' } })}>
          Export
        </DownloadLink>
      }
    >
      <Card>
        <div className="space-y-5">
          <Form form={{ submit: () => setSearch(typed.trim()) }} action="Search" look="plain">
            <TextField
              label="Part of the address, or an account id"
              autoComplete="off"
              maxLength={254}
              value={typed}
              onChange={({ target }) => setTyped(target.value)}
            />
          </Form>
          <PagedTable
            caption="Accounts, newest first"
            columns={columns}
            rowKey={({ id }) => id}
            query={accounts}
            empty={{
              title: 'No accounts',
              text: 'No account matches.',
              action: (
                <Button
                  onClick={() => {
                    setTyped('');
                    setSearch('');
                  }}
                >
                  Show all accounts
                </Button>
              ),
            }}
          />
        </div>
      </Card>
    </Page>
  );
}
