import type { AccountAnswer } from '@sotto/contract/control/operator';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { call } from '../../api/call.ts';
import { useChange } from '../../api/use-change.ts';
import { useForm } from '../../api/use-form.ts';
import { formatDay, formatInstant } from '../../format/format.ts';
import { ActsTable } from '../../ui/acts-table.tsx';
import { Button } from '../../ui/button.tsx';
import { asking, DialogButton } from '../../ui/dialog.tsx';
import { TextField } from '../../ui/field.tsx';
import { Form, FormDialog } from '../../ui/form.tsx';
import { Card, ErrorLine, Loaded, Page } from '../../ui/surface.tsx';
import { Facts, Usd } from '../../ui/text.tsx';
import { CheckField } from '../../ui/toggle-fields.tsx';
import { AccountState } from './accounts-page.tsx';
import { operatorAccountQuery, operatorActsQuery } from './operator-queries.ts';
import { Proof } from './proof.tsx';
import { lastMonths, SpendTable } from './spend-table.tsx';

const refreshes = { queryKey: ['operator'] };

/** `/operator/accounts/<id>`: one account, with the acts of operators on it. */
export function AccountDetailPage() {
  const { accountId } = useParams({ from: '/session/operator/accounts/$accountId' });
  // A form must never send to one account an amount that was typed for another.
  return <AccountDetail key={accountId} accountId={accountId} />;
}

function AccountDetail({ accountId }: { accountId: string }) {
  const query = useQuery(operatorAccountQuery(accountId));
  const acts = useInfiniteQuery(operatorActsQuery({ account_id: accountId }));
  return (
    <Page title={query.data?.email ?? 'Account'} lead={accountId}>
      <Loaded query={query} label="The account is loading">
        {(account) => (
          <>
            <Card title="Account">
              <Facts
                facts={[
                  ...(account.name === null ? [] : [{ name: 'Name', value: account.name }]),
                  { name: 'State', value: <AccountState account={account} /> },
                  { name: 'Balance', value: <Usd usd={account.balance_usd} /> },
                  ...(account.monthly_grant === null
                    ? []
                    : [{ name: 'Monthly grant', value: <GrantOf grant={account.monthly_grant} /> }]),
                  { name: 'Used this month', value: <Usd usd={account.used_this_month_usd} /> },
                  { name: 'Paid this month', value: <Usd usd={account.spent_this_month_usd} /> },
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
                {account.email !== null && !account.is_operator && <DeleteCard id={account.id} email={account.email} />}
              </div>
            )}
          </>
        )}
      </Loaded>
      <Card title="Spend" lead="What this account used or paid in the last twelve months (UTC).">
        <SpendTable filters={{ ...lastMonths(12), account_id: accountId }} />
      </Card>
      <Card title="Audit log">
        <ActsTable caption="Events that concern this account, newest first" query={acts} />
      </Card>
    </Page>
  );
}

function CreditCard({ account: { id } }: { account: AccountAnswer }) {
  const form = useForm('POST /v1/operator/accounts/{id}/credit', {
    params: { id },
    refreshes,
    says: 'The account is credited.',
  });
  return (
    <Card title="Credit" lead="The reference, such as an invoice number, credits the account once.">
      <Form form={form} action="Credit">
        <TextField
          {...form.text('amount_usd', { mistake: 'Enter an amount above 0, such as 12.50, at most 1,000,000.' })}
          label="Amount ($)"
        />
        <TextField {...form.text('reference')} label="Reference" />
      </Form>
      <Proof change={form.change} />
    </Card>
  );
}

const GrantOf = ({ grant }: { grant: NonNullable<AccountAnswer['monthly_grant']> }) => (
  <>
    <Usd usd={grant.amount_usd} />
    {grant.is_default && ', as every account'}
  </>
);

function GrantCard({ account: { id, monthly_grant: grant } }: { account: AccountAnswer }) {
  const form = useForm('PUT /v1/operator/accounts/{id}/monthly-grant', {
    params: { id },
    start: { amount_usd: grant?.is_default === false ? grant.amount_usd : null },
    refreshes,
    says: 'The monthly grant is changed.',
  });
  return (
    <Card title="Monthly grant" lead="A higher amount counts at once, a lower one from the next month.">
      <Form form={form} action="Change">
        <TextField
          {...form.text('amount_usd')}
          label="$ a month"
          hint="Leave it empty for the amount that every account gets."
        />
      </Form>
      <Proof change={form.change} />
    </Card>
  );
}

function StateCard({ account: { id, email, state } }: { account: AccountAnswer }) {
  const enabling = useChange({
    mutationFn: () => call('POST /v1/operator/accounts/{id}/enable', { params: { id } }),
    refreshes,
    says: 'The account is enabled.',
  });
  if (state === 'active') {
    return (
      <Card title="Disable the account" lead="Its keys stop and its sessions end at once. Its money stays.">
        <DialogButton
          look="danger"
          {...asking({
            title: `Disable ${email ?? 'this account'}?`,
            consequence: 'Its keys stop now, and its person cannot sign in. You can enable it again.',
            action: 'Disable',
            change: {
              mutationFn: () => call('POST /v1/operator/accounts/{id}/disable', { params: { id } }),
              refreshes,
              says: 'The account is disabled.',
            },
            proof: (change) => <Proof change={change} />,
          })}
        >
          Disable…
        </DialogButton>
      </Card>
    );
  }
  return (
    <Card title="Enable the account" lead="Its person can sign in again, and its keys work again.">
      <div className="space-y-3">
        <Button look="primary" busy={enabling.isPending} onClick={() => enabling.mutate()}>
          Enable
        </Button>
        <ErrorLine error={enabling.error} className="text-sm" />
      </div>
      <Proof change={enabling} />
    </Card>
  );
}

function DeleteCard({ id, email }: { id: string; email: string }) {
  return (
    <Card title="Delete the person" lead="On their request. It cannot be undone.">
      <DialogButton look="danger" dialog={(onClose) => <Deletion id={id} email={email} onClose={onClose} />}>
        Delete…
      </DialogButton>
    </Card>
  );
}

/** Says what is lost, and asks for the address of the person, so that no other is deleted. */
function Deletion({ id, email, onClose }: { id: string; email: string; onClose: () => void }) {
  const form = useForm('POST /v1/operator/accounts/{id}/delete', {
    params: { id },
    start: { with_workspaces: false },
    refreshes,
    says: `${email} is deleted.`,
    onSuccess: onClose,
  });
  return (
    <>
      <FormDialog form={form} title={`Delete ${email}?`} action="Delete person" look="danger" onClose={onClose}>
        <ul className="list-disc space-y-1 pl-5">
          <li>Their ways to sign in, address, names, keys, workspaces and apps are deleted now.</li>
          <li>Requests that are under way end and are charged. Then the balance is forfeited: refund it first.</li>
          <li>Receipts, the ledger and totals of usage stay, without their name.</li>
        </ul>
        <CheckField
          {...form.toggle('with_workspaces')}
          label="Also delete workspaces that other people use"
          hint="Their keys there stop. Without this, such a workspace prevents the deletion."
        />
        <TextField
          {...form.text('email', {
            accepts: (typed) => typed.toLowerCase() === email.toLowerCase(),
            mistake: 'This is not the address of the account.',
            keeps: false,
          })}
          label={`The address, ${email}`}
        />
      </FormDialog>
      <Proof change={form.change} />
    </>
  );
}
