import type { AccountAnswer } from '@sotto/contract/control/operator';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { call } from '../../api/call.ts';
import { errorAt } from '../../api/errors.ts';
import { formatDay, formatInstant, readUsd, typedUsd, usdMistake } from '../../format/format.ts';
import { ActsTable } from '../../ui/acts-table.tsx';
import { Button } from '../../ui/button.tsx';
import { Form } from '../../ui/change-form.tsx';
import { ConfirmDialog } from '../../ui/dialog.tsx';
import { TextField } from '../../ui/field.tsx';
import { Card, ErrorLine, Loaded, Page } from '../../ui/surface.tsx';
import { Facts, Usd } from '../../ui/text.tsx';
import { AccountState } from './accounts-page.tsx';
import { operatorAccountQuery, operatorActsQuery } from './operator-queries.ts';
import { useAct } from './use-act.tsx';

const refreshes = { queryKey: ['operator'] };

/** `/operator/accounts/<id>`: one account, with the acts of operators on it. */
export function AccountDetailPage() {
  const { accountId } = useParams({ from: '/session/operator/accounts/$accountId' });
  const query = useQuery(operatorAccountQuery(accountId));
  const acts = useInfiniteQuery(operatorActsQuery(accountId));
  return (
    <Page title={query.data?.email ?? 'Account'} lead={accountId}>
      <Loaded query={query} label="The account is loading">
        {(account) => (
          <>
            <Card title="Account">
              <Facts
                facts={[
                  { name: 'State', value: <AccountState account={account} /> },
                  { name: 'Balance', value: <Usd usd={account.balance_usd} /> },
                  ...(account.monthly_grant === null
                    ? []
                    : [{ name: 'Monthly grant', value: <GrantOf grant={account.monthly_grant} /> }]),
                  { name: 'Spent this month', value: <Usd usd={account.spent_this_month_usd} /> },
                  {
                    name: 'Last used',
                    value: account.last_used_on === null ? 'Never' : formatDay(account.last_used_on),
                  },
                  { name: 'Created', value: formatInstant(account.created_at) },
                ]}
              />
            </Card>
            {account.state !== 'deleted' && (
              <div className="grid items-start gap-6 lg:grid-cols-2">
                <CreditCard account={account} />
                {account.monthly_grant !== null && <GrantCard account={account} />}
                <StateCard account={account} />
              </div>
            )}
          </>
        )}
      </Loaded>
      <Card title="Audit log">
        <ActsTable caption="Acts that concern this account, newest first" query={acts} />
      </Card>
    </Page>
  );
}

function CreditCard({ account: { id } }: { account: AccountAnswer }) {
  const [problem, setProblem] = useState<string>();
  const { act, proof } = useAct({
    mutationFn: (credit: { amount_usd: number; reference: string }) =>
      call('POST /v1/operator/accounts/{id}/credit', { params: { id }, body: credit }),
    refreshes,
    says: 'The account is credited.',
  });
  return (
    <Card title="Credit" lead="The reference, such as an invoice number, credits the account once.">
      <Form
        change={act}
        errors={['amount_usd', 'reference']}
        action="Credit"
        onSubmit={(field) => {
          const amount = readUsd(field('amount')) ?? 0;
          setProblem(amount === 0 ? 'Enter an amount above 0, such as 12.50, at most 1,000,000.' : undefined);
          if (amount > 0) act.mutate({ amount_usd: amount, reference: field('reference') });
        }}
      >
        <TextField
          label="Amount in USD"
          name="amount"
          inputMode="decimal"
          autoComplete="off"
          required
          error={problem ?? errorAt(act.error, 'amount_usd')}
        />
        <TextField
          label="Reference"
          name="reference"
          autoComplete="off"
          maxLength={200}
          required
          error={errorAt(act.error, 'reference')}
        />
      </Form>
      {proof}
    </Card>
  );
}

const GrantOf = ({ grant }: { grant: NonNullable<AccountAnswer['monthly_grant']> }) => (
  <>
    <Usd usd={grant.amount_usd} />
    {grant.is_default && ', as every account'}
  </>
);

function GrantCard({ account: { id, monthly_grant } }: { account: AccountAnswer }) {
  const [problem, setProblem] = useState<string>();
  const { act, proof } = useAct({
    mutationFn: (amount: number | null) =>
      call('PUT /v1/operator/accounts/{id}/monthly-grant', { params: { id }, body: { amount_usd: amount } }),
    refreshes,
    says: 'The monthly grant is changed.',
  });
  return (
    <Card title="Monthly grant" lead="A higher amount counts at once, a lower one from the next month.">
      <Form
        change={act}
        errors={['amount_usd']}
        action="Change"
        onSubmit={(field) => {
          const amount = readUsd(field('amount'));
          setProblem(amount === undefined ? usdMistake : undefined);
          if (amount !== undefined) act.mutate(amount);
        }}
      >
        <TextField
          label="USD a month"
          name="amount"
          inputMode="decimal"
          autoComplete="off"
          hint="Leave it empty for the amount that every account gets."
          defaultValue={typedUsd(monthly_grant?.is_default === false ? monthly_grant.amount_usd : null)}
          error={problem ?? errorAt(act.error, 'amount_usd')}
        />
      </Form>
      {proof}
    </Card>
  );
}

function StateCard({ account: { id, email, state } }: { account: AccountAnswer }) {
  const [isAsking, setAsking] = useState(false);
  const disabling = useAct({
    mutationFn: () => call('POST /v1/operator/accounts/{id}/disable', { params: { id } }),
    refreshes,
    says: 'The account is disabled.',
  });
  const enabling = useAct({
    mutationFn: () => call('POST /v1/operator/accounts/{id}/enable', { params: { id } }),
    refreshes,
    says: 'The account is enabled.',
  });
  const isActive = state === 'active';
  return (
    <Card
      title={isActive ? 'Disable the account' : 'Enable the account'}
      lead={
        isActive
          ? 'Its keys stop and its sessions end at once. Its money stays.'
          : 'Its person can sign in again, and its keys work again.'
      }
    >
      <div className="space-y-3">
        {isActive ? (
          <Button look="danger" busy={disabling.act.isPending} onClick={() => setAsking(true)}>
            Disable…
          </Button>
        ) : (
          <Button look="primary" busy={enabling.act.isPending} onClick={() => enabling.act.mutate()}>
            Enable
          </Button>
        )}
        <ErrorLine error={disabling.act.error ?? enabling.act.error} className="text-sm" />
      </div>
      <ConfirmDialog
        open={isAsking}
        onClose={() => setAsking(false)}
        title={`Disable ${email ?? 'this account'}?`}
        consequence="Its keys stop now, and its person cannot sign in. You can enable it again."
        action="Disable"
        onConfirm={() => {
          setAsking(false);
          disabling.act.mutate();
        }}
      />
      {disabling.proof}
      {enabling.proof}
    </Card>
  );
}
