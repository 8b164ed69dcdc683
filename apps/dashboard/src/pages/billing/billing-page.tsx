import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useSearch } from '@tanstack/react-router';
import { balanceQuery, billingCatalogQuery } from '../../api/queries.ts';
import { formatBalance, formatDay, formatUsd } from '../../format/format.ts';
import { Card, ErrorState, Loaded, Page, PagePending } from '../../ui/surface.tsx';
import { Facts, Usd } from '../../ui/text.tsx';
import { monthlyGrantQuery } from './billing.ts';
import { CreditsCard } from './credits-card.tsx';
import { OrderProgress, OrdersCard, ReceiptsCard } from './orders.tsx';
import { ReceiptDetailsCard, SettingsCard } from './settings-card.tsx';
import { TopUpCard } from './top-up-card.tsx';

/** `/billing`: of the user's account, whichever workspace is chosen. */
export function BillingPage() {
  const { data: catalog, error, refetch } = useQuery(billingCatalogQuery);
  if (error !== null && catalog === undefined) {
    return (
      <Page title="Billing">
        <ErrorState error={error} onRetry={() => void refetch()} />
      </Page>
    );
  }
  if (catalog === undefined) return <PagePending />;
  return catalog.mode === 'none' ? <GrantPage /> : <PrepaidPage />;
}

/** Nothing is for sale: accounts get a monthly grant. */
function GrantPage() {
  return (
    <Page title="Billing" lead="Your balance and your monthly grant.">
      <div className="grid items-start gap-6 xl:grid-cols-2">
        <BalanceCard
          lead="It pays for every key of the workspaces that you own."
          empty="Your balance is empty, so requests that cost something are rejected. Ask your operator for more."
        />
        <GrantCard />
      </div>
    </Page>
  );
}

/** Balance is bought. `order` names the order to follow. */
function PrepaidPage() {
  const { order, checkout } = useSearch({ from: '/session/billing' });
  const client = useQueryClient();
  const { error } = useQuery(balanceQuery);
  const isAway = error !== null;
  return (
    <Page title="Billing" lead="Your balance, top-ups and receipts.">
      {isAway && <ErrorState error={error} onRetry={() => void client.refetchQueries({ type: 'active' })} />}
      {/* One error for the page. The cards keep what was typed. */}
      <div hidden={isAway} className="space-y-6">
        {order !== undefined && <OrderProgress key={order} orderId={order} isBackUnpaid={checkout === 'left'} />}
        <div className="grid items-start gap-6 xl:grid-cols-2">
          <div className="min-w-0 space-y-6">
            <BalanceCard
              lead="Requests are prepaid from this balance. It pays for every key of the workspaces that you own."
              empty="Your balance is empty, so requests are rejected. Top up to continue."
            />
            <TopUpCard />
          </div>
          <div className="min-w-0 space-y-6">
            <SettingsCard />
            <ReceiptDetailsCard />
            <CreditsCard />
          </div>
        </div>
        <OrdersCard />
        <ReceiptsCard />
      </div>
    </Page>
  );
}

/** The amount to spend now, and the amount that running requests hold. */
function BalanceCard({ lead, empty }: { lead: string; empty: string }) {
  return (
    <Loaded query={useQuery(balanceQuery)} label="The balance is loading" lines={2}>
      {(balance) => (
        <Card title="Balance" lead={lead}>
          <dl className="flex flex-wrap gap-x-10 gap-y-3">
            <div>
              <dt className="text-sm text-muted">Available</dt>
              <dd className="text-3xl font-semibold tabular-nums" data-testid="available">
                {formatBalance(balance.available)}
              </dd>
            </div>
            <div>
              <dt className="text-sm text-muted">Held for running requests</dt>
              <dd className="text-3xl text-muted tabular-nums">{formatUsd(balance.reserved)}</dd>
            </div>
          </dl>
          {balance.available <= 0 && <p className="mt-3 text-warn">{empty}</p>}
        </Card>
      )}
    </Loaded>
  );
}

/** This month's grant: how much, how much of it is used, and when the next one comes. */
function GrantCard() {
  return (
    <Loaded query={useQuery(monthlyGrantQuery)} label="The monthly grant is loading">
      {(grant) => (
        <Card
          title="Monthly grant"
          lead="The operator of this service pays. The rest of a grant expires with its month."
        >
          <Facts
            facts={[
              { name: 'This month', value: <Usd usd={grant.amount} /> },
              { name: 'Used', value: <Usd usd={grant.spent} /> },
              { name: 'Next month', value: <Usd usd={grant.next_amount} /> },
              { name: 'Renews', value: `${formatDay(grant.renews_at.slice(0, 10))}, UTC` },
            ]}
          />
          {grant.next_amount === 0 && (
            <p className="mt-3 text-warn">You get no grant next month. Ask your operator for one.</p>
          )}
        </Card>
      )}
    </Loaded>
  );
}
